"""Commands that change the authority graph itself; each is decided, and refused with what it would have widened."""
