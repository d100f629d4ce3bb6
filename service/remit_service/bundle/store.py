"""Bundles kept by content, so that a decision can be replayed with the policy it was made with, years later.

One archive a revision, in a folder, named by the digest. Writing is atomic and idempotent; reading builds the bundle
anew and compares its digest with the name, so a file that was damaged or swapped is refused, never evaluated.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from remit_service.bundle.archive import pack, unpack
from remit_service.bundle.digest import is_policy_revision
from remit_service.bundle.errors import BundleNotFound, BundleRefused, Problem

if TYPE_CHECKING:
    from remit_service.bundle.model import Bundle

_SUFFIX: Final = ".tar.gz"


class BundleStore:
    """A folder of archives."""

    def __init__(self, folder: Path) -> None:
        """Keep bundles in `folder`, which is made when the first one is saved."""
        self._folder = folder

    def save(self, bundle: Bundle) -> Path:
        """Keep `bundle`, and return its file; one that is kept already is left alone."""
        path = self._path(bundle.revision)
        if path.exists():
            return path
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=".saving-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(pack(bundle))
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path

    def load(self, revision: str) -> Bundle:
        """Return the bundle `revision`.

        Raises:
            BundleNotFound: it is not kept here.
            BundleRefused: the file does not hold it.
        """
        path = self._path(revision)
        try:
            archive = path.read_bytes()
        except FileNotFoundError as error:
            raise BundleNotFound(f"the bundle `{revision}` is not archived here") from error
        bundle = unpack(archive)
        if bundle.revision != revision:
            raise BundleRefused(Problem(path.name, 0, f"holds the bundle `{bundle.revision}`"))
        return bundle

    def revisions(self) -> list[str]:
        """Return the revisions that are kept, sorted."""
        names = (path.name.removesuffix(_SUFFIX) for path in self._folder.glob(f"*{_SUFFIX}"))
        return sorted(revision for name in names if is_policy_revision(revision := f"sha256:{name}"))

    def _path(self, revision: str) -> Path:
        if not is_policy_revision(revision):
            raise BundleNotFound(f"`{revision}` is no policy revision")
        return self._folder / f"{revision.removeprefix('sha256:')}{_SUFFIX}"
