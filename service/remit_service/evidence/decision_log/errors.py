"""Errors of the decision log.

```
DecisionLogError
├── RecordingFailed    a record that must exist was not stored in time; the decision becomes a deny
├── SinkUnavailable    the place records go to takes none now; they wait and are sent again
└── StreamBroken       a stream does not verify; `facts` name the first broken link
```
"""

from __future__ import annotations

from remit_service import recording


class DecisionLogError(Exception):
    """The root of what a decision log may raise."""

    def __init__(self, message: str, **facts: object) -> None:
        """Keep the sentence and the values it names."""
        super().__init__(message)
        self.message = message
        self.facts = facts


class RecordingFailed(DecisionLogError, recording.RecordingFailed):
    """The record could not be stored in time, and its action class demands one; the decision point catches it."""


class SinkUnavailable(DecisionLogError):
    """The disk is full, the service down: nothing of this batch was stored."""


class StreamBroken(DecisionLogError):
    """A record does not follow the one before it."""
