"""The laws by which edges are made: pure functions that return refusals, used by world files and by commands."""
