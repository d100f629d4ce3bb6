"""One decision point's copy of the graph: loaded from the ledger, kept up by its tail, never ahead of it."""
