"""The counters of freshness, each a type of its own so that they are never merged (model.md 7)."""

from __future__ import annotations

from typing import NewType

PolicyEpoch = NewType("PolicyEpoch", int)
"""Which rules are current: grows when another bundle digest becomes active."""

AuthorityEpoch = NewType("AuthorityEpoch", int)
"""Which authority structure is current: grows with a high-risk governance change."""

OwnershipEpoch = NewType("OwnershipEpoch", int)
"""Which owner is current, of a resource and field: grows when ownership is transferred."""

FencingToken = NewType("FencingToken", int)
"""Who holds control now: the revision at which control of a fence key was last raised."""

Revision = NewType("Revision", int)
"""The number of one applied command."""
