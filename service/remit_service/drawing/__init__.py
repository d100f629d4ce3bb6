"""Drawings of chains: what an explanation says, as a picture (evidence.md 5)."""
