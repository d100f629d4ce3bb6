"""A policy by its path, whatever form it has there: a folder of sources, or an archive that was built from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit_service.bundle.archive import unpack
from remit_service.bundle.build import build_bundle
from remit_service.bundle.errors import BundleRefused, Problem
from remit_service.bundle.folder import read_folder, shipped_policy
from remit_service.bundle.limits import STANDARD, Limits

if TYPE_CHECKING:
    from pathlib import Path

    from remit_service.bundle.model import Bundle
    from remit_service.bundle.sign import Verifier


def load_bundle(path: Path | None = None, *, verifier: Verifier | None = None, limits: Limits = STANDARD) -> Bundle:
    """Return the bundle at `path`, or the shipped one.

    Args:
        path: A policy folder, or a tar.gz that `remit policy build` or `GET /bundles/remit.tar.gz` gave.
        verifier: The key that an archive must be signed with; a folder is trusted as the file system is.
        limits: How much the policy may hold.

    Raises:
        BundleRefused: it cannot be read, or is not taken.
    """
    if path is None or path.is_dir():
        return build_bundle(read_folder(path or shipped_policy(), limits))
    try:
        with path.open("rb") as file:
            archive = file.read(limits.archive_bytes + 1)
    except OSError as error:
        raise BundleRefused(Problem(str(path), 0, f"cannot be read: {error.strerror}")) from error
    return unpack(archive, verifier=verifier, limits=limits)
