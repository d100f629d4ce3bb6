"""A chapter on taking over: only under a declared incident, by who may, with a notice and a receipt for who lost."""

from __future__ import annotations

from typing import Final

from remit_service.demo.act import Act, Chapter
from remit_service.demo.wording import asks, begins, receipt

_WORKER: Final = "cf:worker:seo-publisher:production"
_TAKES: Final = asks("human:commander", "ROLLBACK_WORKER", _WORKER, preempt=True)

INCIDENTS: Final = (
    Chapter(
        title="SEV1",
        teaches="Taking over needs an edge, a declared incident and a higher governed priority; it is never silent.",
        beats=(
            begins("a release controller deploys a worker", "release", "instance:release-controller-a",
                   "DEPLOY_WORKER", _WORKER),
            Act(says="the incident commander wants to roll back, with no incident declared", call="POST /v1/operations",
                status=403, code="preemption_not_authorized", body=_TAKES),
            Act(says="the commander declares SEV1 on this worker", call="POST /v1/incidents",
                body={"incident_id": "inc_1", "severity": "SEV1", "actor": "human:commander",
                      "resource": {"type": "key", "id": _WORKER}}, holds={"status": "OPEN"},
                shows=("incident_id", "severity", "resource_key")),
            Act(says="now the takeover goes through", call="POST /v1/operations", status=201, outcome="execute",
                body=_TAKES, holds={"lease.holder": "human:commander"}, keeps={"rollback": "coordination_id"},
                shows=("lease.fencing_tokens",)),
            Act(says="the release controller is told what it lost, and what it may have left half done",
                call="GET /v1/notices?subject=instance:release-controller-a&wait=2",
                holds={"notices.0.code": "preempted", "notices.0.dirty_keys": [_WORKER]},
                shows=("notices.0.code", "notices.0.dirty_keys", "notices.0.current_token")),
            Act(says="and records nothing any more", call="POST /v1/operations/{release}/executed", status=410,
                code="preempted", body={"lease_epoch": "{release_token}", "result": "applied"}),
            receipt("its receipt says how it ended", "release", "PREEMPTED"),
        ),
    ),
)  # fmt: skip
"""What an incident changes."""
