"""`python -m bench [--json] [--only NAME] [--quick] [--edges N]`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from typing import TYPE_CHECKING

from bench import appends, fairness, http, inprocess, last_permit, leases, load_graph, many_edges, revoke, search, turns
from bench.report import Row, document, remember, table
from bench.world import NOW, base, chain, view_of
from remit_service.decision.decide import prepare
from remit_service.decision.request import parse_evaluation
from remit_service.point import NO_COORDINATION

if TYPE_CHECKING:
    from collections.abc import Callable


def policy_input() -> bytes:
    """Return the policy input of the three-hop question, for OPA."""
    prepared = prepare(
        parse_evaluation(inprocess.BODY), inprocess.CALLER, view_of(base(), chain(2)), NOW,
        rules=inprocess.shipped(), coordination=NO_COORDINATION,
    )  # fmt: skip
    return prepared.encoded


def cases(*, quick: bool, million: int = 1_000_000) -> dict[str, Callable[[], list[Row]]]:
    """Return the cases by name."""
    count, seconds, edges = (200, 0.5, 2_000) if quick else (5_000, 5.0, 200_000)
    return {
        "inprocess": lambda: inprocess.three_hops(count),
        "shapes": lambda: inprocess.shapes(count // 4),
        "large": lambda: inprocess.large(edges, count),
        "leases": lambda: leases.rows(*((64, 32) if quick else (8_000, 4_000)), with_neo4j=not quick),
        "fairness": lambda: fairness.rows(*((20, 1) if quick else (500, 5))),
        "load": lambda: load_graph.rows(edges if quick else million),
        "appends": lambda: appends.rows(seconds, with_neo4j=not quick),
        "last_permit": lambda: last_permit.rows(3 if quick else 200, with_neo4j=not quick),
        "many_edges": lambda: [] if quick else many_edges.rows(million),
        "turns": lambda: turns.rows(2.0 if quick else 10.0, with_neo4j=not quick),
        "search": lambda: search.rows(2_000 if quick else 100_000),
        "revoke": lambda: revoke.rows(2_000 if quick else 100_000),
        "http": lambda: http.remit(seconds),
        "opa": lambda: http.opa(seconds, policy_input()),
    }


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(prog="./run bench", description="measure; prints a table")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead")
    parser.add_argument("--only", action="append", metavar="NAME", help="run this case; may be given again")
    parser.add_argument("--quick", action="store_true", help="small and short, to see that it runs")
    parser.add_argument(
        "--edges",
        type=int,
        default=1_000_000,
        metavar="N",
        help="of the cases `load` and `many_edges`; default a million",
    )
    options = parser.parse_args()
    # Whoever ends a run that takes too long must not be left with the servers it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    known = cases(quick=options.quick, million=options.edges)
    names = options.only or list(known)
    for name in names:
        if name not in known:
            parser.error(f"there is no case `{name}`; known are {', '.join(known)}")
    rows = [row for name in names for row in known[name]()]
    print(json.dumps(document(rows), indent=2) if options.json else table(rows))
    if not options.quick and not options.only:
        remember(rows)


if __name__ == "__main__":
    main()
