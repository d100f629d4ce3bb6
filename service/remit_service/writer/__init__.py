"""The single way to change: commands in, changes appended, in batches that one commit pays for."""
