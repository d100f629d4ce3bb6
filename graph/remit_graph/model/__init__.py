"""Values and laws of the authority graph; pure: the standard library, and msgspec to spell rows."""
