"""Evidence: what was decided and done, kept so that nobody has to be believed about it later."""
