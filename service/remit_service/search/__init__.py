"""Reverse questions: which subjects, resources or actions would be permitted; equal to the single decisions."""
