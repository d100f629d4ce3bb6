"""The web face: parses, calls one use case, renders. It decides nothing."""
