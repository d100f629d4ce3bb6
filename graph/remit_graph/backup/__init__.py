"""A ledger in a file: every revision byte for byte, with what request ids were answered with."""
