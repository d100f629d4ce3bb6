"""Drives the machine of `coordination` through the writer: commands in, answers out, sweeps and waits in between."""
