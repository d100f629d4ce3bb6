"""Fixtures of the contract suites."""

from tests.contract.ledgers import store

__all__ = ["store"]
