"""Values and laws of the authority graph; pure, standard library only."""
