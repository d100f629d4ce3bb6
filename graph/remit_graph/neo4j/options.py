"""Where a ledger in Neo4j is, and how its adapter behaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from remit_graph.sharing import TURN


@dataclass(frozen=True, slots=True, kw_only=True)
class Neo4jOptions:
    """How to reach a database, and the bounds of this process on it; the database itself knows nothing of them.

    Attributes:
        url: `neo4j://host:7687`, `bolt://…` for one server, `…+s` with TLS and a certificate of a known authority,
            `…+ssc` with one that is not checked.
        user: Who logs in.
        password: Never part of a message or of `repr`.
        database: One database holds one ledger.
        max_clock_skew: How far ahead of the database's clock an `at` may be.
        connect_within: How long opening one connection may take.
        retry_for: How long a read, or an append that certainly did nothing, is tried again before it fails.
        hold_at_most: After this the database itself ends a transaction of ours, so that a process that was stopped
            cannot keep the head locked.
        poll_fast: Pause between two looks at the head while something happens.
        poll_slow: The longest pause between two looks; the most that `watch` adds to the latency of other processes.
        turn: How long a turn to append lasts at least that this process takes or hands on; longer where its own appends
            take long.
        connections: Size of the pool.
    """

    url: str
    user: str = "neo4j"
    password: str = field(repr=False)
    database: str = "neo4j"
    max_clock_skew: timedelta = timedelta(seconds=2)
    connect_within: timedelta = timedelta(seconds=3)
    retry_for: timedelta = timedelta(seconds=3)
    hold_at_most: timedelta = timedelta(seconds=10)
    poll_fast: timedelta = timedelta(milliseconds=4)
    poll_slow: timedelta = timedelta(milliseconds=20)
    turn: timedelta = TURN
    connections: int = 24
