"""Capabilities: that one request was decided and granted, for a short while, as a document anybody can verify."""
