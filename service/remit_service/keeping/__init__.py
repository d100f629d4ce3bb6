"""Keeping a ledger: checkpoints, backups and moves between stores, and the watch over edits made past it."""
