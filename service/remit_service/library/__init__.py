"""Remit from Python: the commands of governance, on a running service or on the store itself; see `remit.py`."""

from remit_service.library.remit import Remit, connected, opened
from remit_service.library.reply import CallFailed, Reply

__all__ = ["CallFailed", "Remit", "Reply", "connected", "opened"]
