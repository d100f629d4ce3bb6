"""Policy engines: the port through which Rego is asked, and its two adapters."""
