"""Who stands behind a root grant: a root, the owner of what is touched, or one who owned it once."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from remit_graph.view.ownership import issuer_standing
from tests.support.graphs import NOW, OWNER, graph

GRANT: dict[str, Any] = {
    "edge_id": "g", "version": 1, "edge": "MAY_WRITE", "from": "instance:a", "to": "doc:1", "issuer": OWNER, "epoch": 1,
    "rests_on": [{"edge_id": "own-body", "ownership_epoch": 1}],
}  # fmt: skip


def owns(name: str, fields: list[str] | None, **more: Any) -> dict[str, Any]:
    """Return an OWNS edge of the owner over every document."""
    scope = {} if fields is None else {"fields": fields}
    return {
        "edge_id": name, "version": 1, "edge": "OWNS", "from": OWNER, "to": "doc:*", "issuer": "organization:root",
        "epoch": 1, "ownership_epoch": 1, "scope": scope, **more,
    }  # fmt: skip


WHOLE = owns("own-whole", None)
BODY = owns("own-body", ["body"])
TITLE = owns("own-title", ["title"])
GIVEN = owns("own-given", None, **{"except": ["doc:1"]})


@pytest.mark.parametrize(
    ("edges", "fields", "standing"),
    [
        ([WHOLE, BODY, TITLE], None, "owner"),
        ([WHOLE, BODY, TITLE], ["body", "title"], "owner"),
        ([BODY, TITLE], ["body", "title"], "owner"),
        ([BODY, TITLE, GIVEN], ["body", "title"], "owner"),
        ([BODY, TITLE], None, "none"),
        ([BODY, GIVEN], ["body", "title"], "none"),
        ([BODY | {"revoked": True, "to": "doc:2"}, TITLE], ["body"], "none"),
        ([GIVEN], ["body"], "none"),
        ([BODY | {"revoked": True}, TITLE], ["body"], "former"),
        ([BODY | {"from": "role:r"}, TITLE], ["body"], "none"),
    ],
)
def test_what_an_issuer_owns_counts_together_in_any_order(
    edges: list[dict[str, Any]], fields: list[str] | None, standing: str
) -> None:
    """The standing follows from what is owned, not from which edge is looked at first."""
    grant = GRANT if fields is None else {**GRANT, "scope": {"fields": fields}}
    found = set()
    for order in permutations([*edges, grant]):
        view = graph(order)
        found.add(issuer_standing(view, view.edges["g"], NOW))

    assert found == {standing}
