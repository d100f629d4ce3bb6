"""The embedded ledger: one SQLite file, several processes."""

from remit_graph.sqlite.ledger import SqliteLedger
from remit_graph.sqlite.options import SqliteOptions

__all__ = ["SqliteLedger", "SqliteOptions"]
