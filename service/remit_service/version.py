"""The version of this program, as its package says."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def program_version() -> str:
    """Return the version; `0` where the code runs without having been installed."""
    try:
        return version("remit")
    except PackageNotFoundError:
        return "0"
