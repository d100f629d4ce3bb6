"""The decision log: every decision, recorded before it is given out, in hash-chained streams."""
