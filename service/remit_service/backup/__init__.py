"""Backups of a ledger, putting them back, and moving a ledger into another store."""
