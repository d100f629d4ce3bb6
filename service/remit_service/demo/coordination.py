"""Chapters on acting at the same time: fields side by side, queues, fencing, humans, templates, jobs, sequences."""

from __future__ import annotations

from typing import Final

from remit_service.demo.act import Act, Beat, Chapter
from remit_service.demo.wording import asks, begins, gives_up, receipt, writes

_SIDE_BY_SIDE: Final = Chapter(
    title="Two agents, one post, at the same time",
    teaches="What is locked is the smallest that is safe: a field where fields are independent, and nothing more.",
    beats=(
        begins("the SEO agent begins on the canonical of post 1024", "seo", "instance:seo-agent-7",
               "UPDATE_CANONICAL", "wp:post:1024", purpose="SEO_UPDATE"),
        begins("meanwhile the content agent begins on its body", "content", "instance:content-agent-1",
               "UPDATE_POST_BODY", "wp:post:1024"),
        *writes("seo", "rev_2"),
        gives_up("the content agent finds nothing to change", "content"),
    ),
)  # fmt: skip

_QUEUE: Final = Chapter(
    title="A conflict is not a failure",
    teaches="The second one is told who is in the way and for how long, may wait, and is granted by the very release.",
    beats=(
        begins("one SEO agent holds the canonical of post 1025", "first", "instance:seo-agent-7",
               "UPDATE_CANONICAL", "wp:post:1025"),
        Act(says="a second one wants the same, now", call="POST /v1/operations", status=409, code="resource_busy",
            outcome="serialize", body=asks("instance:seo-agent-8", "UPDATE_CANONICAL", "wp:post:1025")),
        Act(says="it waits in the queue instead", call="POST /v1/operations", status=202, outcome="serialize",
            body=asks("instance:seo-agent-8", "UPDATE_CANONICAL", "wp:post:1025", wait_seconds=20),
            holds={"position": 1}, keeps={"waiter": "waiter_id"}, shows=("position", "conflict_id")),
        Act(says="anybody who may look sees who waits for whom", call="GET /v1/queues/wp:post:1025",
            holds={"waiters.0.holder": "instance:seo-agent-8", "waiters.0.waits_for.0.holder": "instance:seo-agent-7"},
            shows=("waiters.0.holder", "waiters.0.waits_for.0.holder")),
        gives_up("the first one gives up, which frees the key", "first"),
        Act(says="the second one has it, granted in the same revision", call="GET /v1/waiters/{waiter}?wait=10",
            outcome="execute", holds={"lease.holder": "instance:seo-agent-8"},
            keeps={"second": "coordination_id", "second_token": "lease_epoch"}, shows=("lease.fencing_tokens",)),
        *writes("second", "rev_2"),
        Beat(says="the first one still plans on rev_1: it must read again", subject="instance:seo-agent-7",
             action="UPDATE_CANONICAL", resource="wp:post:1025", context={"risk": "LOW", "expected_version": "rev_1"},
             outcome="rebase", reasons=("stale_resource_version",)),
    ),
)  # fmt: skip

_PAUSED: Final = Chapter(
    title="A paused holder",
    teaches="A lease ends by itself, and whoever wakes up after it is behind the token: it writes nothing.",
    beats=(
        begins("an agent takes post 1026 for one second, and is paused", "paused", "instance:seo-agent-7",
               "UPDATE_CANONICAL", "wp:post:1026", ttl_seconds=1),
        Act(says="another one waits for it", call="POST /v1/operations", status=202,
            body=asks("instance:seo-agent-8", "UPDATE_CANONICAL", "wp:post:1026", wait_seconds=10),
            keeps={"next": "waiter_id"}),
        Act(says="and has it as soon as the lease is over, with a higher token",
            call="GET /v1/waiters/{next}?wait=10", outcome="execute", keeps={"awake": "coordination_id"},
            shows=("lease.fencing_tokens",)),
        Beat(says="the first one wakes up and writes with its old token", subject="instance:seo-agent-7",
             action="UPDATE_CANONICAL", resource="wp:post:1026",
             context={"risk": "LOW", "expected_version": "rev_1",
                      "lease": {"lease_id": "{paused_lease}", "fencing_token": "{paused_token}"}},
             outcome="deny", reasons=("lease_expired", "stale_fencing_token", "resource_busy", "resource_coordinated")),
        Act(says="it cannot record a write either", call="POST /v1/operations/{paused}/executed", status=410,
            code="lease_expired", body={"lease_epoch": "{paused_token}", "result": "applied"}),
        receipt("its operation ended with a receipt all the same", "paused", "EXPIRED"),
        gives_up("the other one is done", "awake"),
    ),
)  # fmt: skip

_HUMAN: Final = Chapter(
    title="A human is editing",
    teaches="Neither the human nor the agent wins by default: what is being edited is held, the rest goes on.",
    beats=(
        Act(says="an editor has title and body of post 1027 open", call="POST /v1/presence",
            body={"resource": {"type": "wp:post", "id": "1027"}, "actor": "human:editor-1",
                  "fields_touched": ["title", "body"], "ttl_seconds": 60}, keeps={"presence": "presence_id"}),
        Act(says="the content agent wants the body", call="POST /v1/operations", status=409, code="human_presence",
            outcome="hold", body=asks("instance:content-agent-1", "UPDATE_POST_BODY", "wp:post:1027")),
        begins("the SEO agent wants the canonical, which nobody edits", "beside", "instance:seo-agent-7",
               "UPDATE_CANONICAL", "wp:post:1027"),
        Act(says="the editor closes the page", call="DELETE /v1/presence/{presence}", status=204),
        begins("now the content agent may", "after", "instance:content-agent-1", "UPDATE_POST_BODY", "wp:post:1027"),
        gives_up("both are done: first the content agent", "after"),
        gives_up("and then the SEO agent", "beside"),
    ),
)  # fmt: skip

_TEMPLATE: Final = Chapter(
    title="One template, 12,842 pages",
    teaches="An edit that reaches thousands of pages locks what they have in common, and nothing beside it.",
    beats=(
        begins("a senior editor begins on the product template", "template", "human:senior-editor",
               "UPDATE_TEMPLATE", "wp:template:product"),
        Act(says="the body of a product page has to wait", call="POST /v1/operations", status=409, code="resource_busy",
            body=asks("instance:content-agent-2", "UPDATE_POST_BODY", "wp:post:1028")),
        begins("a page of another section does not", "page", "instance:seo-agent-8",
               "UPDATE_CANONICAL", "wp:post:2001"),
        gives_up("the editor is done", "template"),
        gives_up("and so is the agent", "page"),
    ),
)  # fmt: skip

_JOB: Final = Chapter(
    title="The job that fires twice",
    teaches="It runs once: one runner holds it, and the others are told to follow.",
    beats=(
        begins("a runner starts the daily job", "job", "instance:runner-a", "RUN_JOB", "job:daily-seo-publish",
               context={}),
        Act(says="the platform fires the job twice", call="POST /v1/operations", status=409, code="follower",
            outcome="wait", body=asks("instance:runner-b", "RUN_JOB", "job:daily-seo-publish", context={})),
        *writes("job", "run_42", read="run_41"),
    ),
)  # fmt: skip

COORDINATION: Final = (_SIDE_BY_SIDE, _QUEUE, _PAUSED, _HUMAN, _TEMPLATE, _JOB)
"""What several do at once, and what comes of it."""
