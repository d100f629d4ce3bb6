"""What an enforcement point imports: it speaks the wire and checks numbers; neither graph nor engine is needed."""

from remit_enforce.again import write_anew
from remit_enforce.asking import Permit
from remit_enforce.client import Answer, AsyncClient
from remit_enforce.errors import (
    CallbackFailed,
    Denied,
    EnforceError,
    MarginTooShort,
    NeedsPerson,
    NotRecorded,
    NotVerified,
    StalePlan,
    StaleToken,
)
from remit_enforce.guard import Guard, MemoryGuard
from remit_enforce.guard_sqlite import SqliteGuard
from remit_enforce.plan import GoalMet, Plan, Seen, Turn, Verified
from remit_enforce.protocol import write
from remit_enforce.receipt import STEPS, Receipt
from remit_enforce.refusal import Refusal
from remit_enforce.settings import Settings

__all__ = (
    "STEPS",
    "Answer",
    "AsyncClient",
    "CallbackFailed",
    "Denied",
    "EnforceError",
    "GoalMet",
    "Guard",
    "MarginTooShort",
    "MemoryGuard",
    "NeedsPerson",
    "NotRecorded",
    "NotVerified",
    "Permit",
    "Plan",
    "Receipt",
    "Refusal",
    "Seen",
    "Settings",
    "SqliteGuard",
    "StalePlan",
    "StaleToken",
    "Turn",
    "Verified",
    "write",
    "write_anew",
)
