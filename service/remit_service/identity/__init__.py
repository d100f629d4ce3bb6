"""Who is calling: verifiers of credentials, and the enforcement point a verified identity belongs to."""
