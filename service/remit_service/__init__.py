"""The decision point: decide, coordinate, govern, and give evidence."""
