"""What the machine can be told to do. Ids are chosen by whoever sends a command, so that a repeat means the same."""

from __future__ import annotations

from remit_service.coordination.command_leases import (
    Acquire,
    EndLease,
    KeepWaiting,
    LeaveQueue,
    Release,
    Renew,
    Sweep,
)
from remit_service.coordination.command_operations import (
    Abort,
    Complete,
    Executed,
    FollowUp,
    Precondition,
    Verified,
)
from remit_service.coordination.command_signals import (
    BeginIncarnation,
    DeclareIncident,
    DeclareWorkSet,
    EndPresence,
    EndWorkSet,
    Observe,
    ProposeTransfer,
    SignalPresence,
    StepTransfer,
)

Command = (
    Acquire | Renew | Release | EndLease | KeepWaiting | LeaveQueue | Sweep | Precondition | Executed | Verified
    | Complete | Abort | FollowUp | SignalPresence | EndPresence | DeclareIncident | Observe | DeclareWorkSet
    | EndWorkSet | ProposeTransfer | StepTransfer | BeginIncarnation
)  # fmt: skip

__all__ = [
    "Abort",
    "Acquire",
    "BeginIncarnation",
    "Command",
    "Complete",
    "DeclareIncident",
    "DeclareWorkSet",
    "EndLease",
    "EndPresence",
    "EndWorkSet",
    "Executed",
    "FollowUp",
    "KeepWaiting",
    "LeaveQueue",
    "Observe",
    "Precondition",
    "ProposeTransfer",
    "Release",
    "Renew",
    "SignalPresence",
    "StepTransfer",
    "Sweep",
    "Verified",
]
