"""The story: chapters of questions about one content platform, each with the verdict it must get.

The world is `fixtures/worlds/seo.yaml`. A verdict that differs ends the demo with a failure: what is printed is what
was answered, and what was answered is what is promised.
"""

from __future__ import annotations

from typing import Final

from remit_service.demo.act import Beat, Chapter
from remit_service.demo.coordination import COORDINATION
from remit_service.demo.incidents import INCIDENTS
from remit_service.demo.migrations import MIGRATIONS
from remit_service.demo.owners import OWNERS

_READ: Final = {"expected_version": "rev_331", "resource_version": "rev_331", "risk": "LOW"}

QUESTIONS: Final = (
    Chapter(
        title="A crowded post",
        teaches="Everyone is authorized for something; a permit names the fields it is for, and nothing else.",
        beats=(
            Beat(
                says="the SEO agent sets the canonical of post 1024",
                subject="spiffe://acme.test/agents/seo-agent-7",
                action="UPDATE_CANONICAL",
                resource="wp:post:1024",
                context=_READ,
                outcome="execute",
            ),
            Beat(
                says="the content agent edits its body",
                subject="instance:content-agent-1",
                action="UPDATE_POST_BODY",
                resource="wp:post:1024",
                context=_READ,
                outcome="execute",
            ),
            Beat(
                says="a human editor changes the title",
                subject="human:editor-1",
                action="UPDATE_TITLE",
                resource="wp:post:1024",
                context=_READ,
                outcome="execute",
            ),
            Beat(
                says="the same editor tries the canonical, which the SEO control plane owns",
                subject="human:editor-1",
                action="UPDATE_CANONICAL",
                resource="wp:post:1024",
                context=_READ,
                outcome="deny",
                reasons=("scope_not_covered", "not_owner"),
            ),
        ),
    ),
    Chapter(
        title="One thing, one key",
        teaches="Every spelling of a resource meets in one canonical key, and an invented one is refused.",
        beats=(
            Beat(
                says="the agent calls it wordpress:article:1024",
                subject="instance:seo-agent-7",
                action="UPDATE_CANONICAL",
                resource="wordpress:article:1024",
                context=_READ,
                outcome="execute",
            ),
            Beat(
                says="somebody calls it wp:post:1024:..:7",
                subject="instance:seo-agent-7",
                action="UPDATE_CANONICAL",
                resource="wp:post:1024:..:7",
                context=_READ,
                outcome="deny",
                reasons=("malformed_resource_key", "no_authority"),
            ),
        ),
    ),
    Chapter(
        title="Delegated authority never exceeds its parent",
        teaches="The agent's delegation is for one site, in production, at two fields; beside it there is nothing.",
        beats=(
            Beat(
                says="the same agent on another site",
                subject="instance:seo-agent-7",
                action="UPDATE_CANONICAL",
                resource="wp:post:3001",
                context=_READ,
                outcome="deny",
                reasons=("scope_not_covered",),
            ),
            Beat(
                says="the linking agent, told to link, tries the body",
                subject="instance:linking-agent-1",
                action="UPDATE_POST_BODY",
                resource="wp:post:1024",
                context=_READ,
                outcome="deny",
                reasons=("scope_not_covered",),
            ),
            Beat(
                says="an agent that nobody knows",
                subject="instance:seo-agent-99",
                action="UPDATE_CANONICAL",
                resource="wp:post:1024",
                context=_READ,
                outcome="deny",
                reasons=("unknown_subject", "no_authority"),
            ),
        ),
    ),
    Chapter(
        title="No blind overwrite",
        teaches="A plan made on an older version is sent back to read again; resending it as it is will not help.",
        beats=(
            Beat(
                says="the post moved on to rev_332 since the agent read rev_331",
                subject="instance:seo-agent-7",
                action="UPDATE_CANONICAL",
                resource="wp:post:1024",
                context={"expected_version": "rev_331", "resource_version": "rev_332", "risk": "LOW"},
                outcome="rebase",
                reasons=("stale_resource_version",),
            ),
            Beat(
                says="it names no version at all",
                subject="instance:seo-agent-7",
                action="UPDATE_CANONICAL",
                resource="wp:post:1024",
                context={"risk": "LOW"},
                outcome="rebase",
                reasons=("version_required",),
            ),
        ),
    ),
    Chapter(
        title="A human is not a superuser",
        teaches="Authority, scope and state are compared, never human against machine.",
        beats=(
            Beat(
                says="an editor tries to change the site's security policy",
                subject="human:editor-1",
                action="UPDATE_SECURITY_POLICY",
                resource="site:example.com:security-policy",
                context=_READ,
                outcome="deny",
                reasons=("no_authority", "capability_required", "lease_required"),
            ),
            Beat(
                says="the scheduled reconciler restores the metadata, under its own grant",
                subject="instance:drift-reconciler-1",
                action="RECONCILE_METADATA",
                resource="wp:post:1024",
                context=_READ,
                outcome="execute",
            ),
        ),
    ),
    Chapter(
        title="Exclusive state needs a lease",
        teaches="Authorized is not enough where two must not write at once: begin an operation first.",
        beats=(
            Beat(
                says="a cron runner starts the daily job",
                subject="instance:runner-a",
                action="RUN_JOB",
                resource="job:daily-seo-publish",
                outcome="acquire",
                reasons=("lease_required",),
            ),
        ),
    ),
)
"""What is decided without anybody holding anything."""

STORY: Final = (*QUESTIONS, *COORDINATION, *MIGRATIONS, *INCIDENTS, *OWNERS)
"""The whole story, in the order it is told."""
