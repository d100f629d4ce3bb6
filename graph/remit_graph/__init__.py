"""The authority graph: values and laws, the ledger and its stores, the view, world files."""
