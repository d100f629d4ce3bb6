"""Scenario files: a world, steps and expected verdicts with their reasons, played on every store, engine and wire."""
