"""Policy bundles: read, check, build, sign, archive and compare what both engines evaluate."""
