"""How the calls of the story are worded, so that a chapter reads as what happens and not as JSON."""

from __future__ import annotations

from typing import Any

from remit_service.demo.act import Act


def asks(subject: str, action: str, resource: str, **options: Any) -> dict[str, Any]:
    """Return the body that begins an operation; `context` and the options of `/v1/operations` come by name."""
    kind, _, name = subject.partition(":")
    return {
        "subject": {"type": kind, "id": name},
        "action": {"name": action},
        "resource": {"type": "key", "id": resource},
        "context": options.pop("context", {"risk": "LOW", "expected_version": "rev_1", "resource_version": "rev_1"}),
        **options,
    }


def begins(says: str, name: str, subject: str, action: str, resource: str, **options: Any) -> Act:
    """Return the call that begins an operation and gets it; it is called `name` from then on."""
    return Act(
        says=says,
        call="POST /v1/operations",
        body=asks(subject, action, resource, **options),
        status=201,
        outcome="execute",
        keeps={name: "coordination_id", f"{name}_token": "lease_epoch", f"{name}_lease": "lease.lease_id"},
        shows=("lease.fencing_tokens",),
    )


def writes(name: str, final_version: str, *, read: str = "rev_1") -> tuple[Act, ...]:
    """Return the rest of the write protocol: read and check, execute, verify, receipt and release."""
    step = f"POST /v1/operations/{{{name}}}"
    token = {"lease_epoch": f"{{{name}_token}}"}
    return (
        Act(says="it reads the version, which is the planned one", call=f"{step}/precondition",
            body={"current_version": read}),
        Act(says="it writes with the token, and says so", call=f"{step}/executed",
            body={**token, "result": "applied"}),
        Act(says="it looks whether the page is as it should be", call=f"{step}/verified",
            body={**token, "passed": True}),
        Act(says="receipt and release are one revision", call=f"{step}/complete",
            body={**token, "final_version": final_version}, holds={"receipt.status": "COMPLETED"},
            shows=("receipt.receipt_id", "receipt.status", "receipt.authority_origin")),
    )  # fmt: skip


def gives_up(says: str, name: str) -> Act:
    """Return the call that gives an operation up; it leaves its receipt all the same."""
    return Act(
        says=says,
        call=f"POST /v1/operations/{{{name}}}/abort",
        body={"reason": "nothing to do after all"},
        holds={"receipt.status": "ABORTED"},
        shows=("receipt.receipt_id", "receipt.status"),
    )


def receipt(says: str, name: str, status: str) -> Act:
    """Return the look at how an operation ended."""
    return Act(
        says=says,
        call=f"GET /v1/receipts/{{{name}}}",
        holds={"status": status},
        shows=("receipt_id", "status", "cause", "by"),
    )
