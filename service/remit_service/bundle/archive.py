"""The archive of a bundle, a tar.gz as OPA reads it: the same bundle always gives the same bytes.

Packing fixes everything that varies: names are sorted, times are zero, owners and modes the same. Unpacking trusts
nothing: every byte out of the decompressor is counted against the limits before it is kept, headers included, so that
neither a large file nor a large header can fill the memory (F052). Only plain files are taken, and only names that stay
below the root.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from typing import TYPE_CHECKING, Final

from remit_service.bundle.build import build_bundle
from remit_service.bundle.digest import GENERATED, REVISION_FILE, SIGNATURES
from remit_service.bundle.errors import BundleRefused, Problem
from remit_service.bundle.limits import STANDARD, Limits
from remit_service.bundle.sign import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remit_service.bundle.model import Bundle
    from remit_service.bundle.sign import Verifier

_ARCHIVE: Final = "bundle.tar.gz"
_MODE: Final = 0o644
_COMPRESSION: Final = 9


def pack(bundle: Bundle, *, signatures: bytes | None = None) -> bytes:
    """Return the archive of `bundle`, with the content of `.signatures.json` if it is signed."""
    files = bundle.all_files
    if signatures is not None:
        files[SIGNATURES] = signatures
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(files):
            member = tarfile.TarInfo(path)
            member.size = len(files[path])
            member.mode = _MODE
            tar.addfile(member, io.BytesIO(files[path]))
    # gzip writes the time into its header; zero keeps equal bundles equal.
    return gzip.compress(raw.getvalue(), compresslevel=_COMPRESSION, mtime=0)


def unpack(archive: bytes, *, verifier: Verifier | None = None, limits: Limits = STANDARD) -> Bundle:
    """Return the bundle in `archive`, built and checked anew, as if it came from a folder.

    Raises:
        BundleRefused: it is no archive, too large, names another revision than its content has, is signed while no
            `verifier` is given or the reverse, or the policy in it is refused.
    """
    files = read_archive(archive, limits)
    verify(files, verifier)
    bundle = build_bundle(files)
    for path in GENERATED - {SIGNATURES}:
        if path in files and files[path] != bundle.all_files[path]:
            raise BundleRefused(Problem(path, 0, f"does not fit the content, whose revision is `{bundle.revision}`"))
    if REVISION_FILE not in files:
        raise BundleRefused(Problem(_ARCHIVE, 0, f"holds no `{REVISION_FILE}`: build it with `remit policy build`"))
    return bundle


def read_archive(archive: bytes, limits: Limits = STANDARD) -> dict[str, bytes]:
    """Return path and content of every file in `archive`.

    Raises:
        BundleRefused: it is no archive, breaks a limit, or holds something that is no plain file.
    """
    if len(archive) > limits.archive_bytes:
        raise BundleRefused(Problem(_ARCHIVE, 0, f"has more than {limits.archive_bytes} bytes"))
    files: dict[str, bytes] = {}
    try:
        with (
            gzip.GzipFile(fileobj=io.BytesIO(archive)) as unzipped,
            tarfile.open(fileobj=_Counted(unzipped, limits), mode="r|") as tar,
        ):
            for path, content in _members(tar, limits):
                limits.refuse_more_files(path, len(files) + 1)
                if path in files:
                    raise BundleRefused(Problem(path, 0, "is in the archive twice"))
                files[path] = content
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise BundleRefused(Problem(_ARCHIVE, 0, f"is no tar.gz archive: {error}")) from error
    return files


def _members(tar: tarfile.TarFile, limits: Limits) -> Iterator[tuple[str, bytes]]:
    total = 0
    for member in tar:
        path = member.name.removeprefix("/")
        if member.isdir():
            continue
        if not member.isreg() or not _is_safe(path, limits):
            raise BundleRefused(Problem(path[: limits.path_characters], 0, "is no plain file below the root"))
        # The size that the header claims is checked before anything is read.
        total += member.size
        limits.refuse_more_bytes(path, total)
        reader = tar.extractfile(member)
        yield path, reader.read() if reader else b""


def _is_safe(path: str, limits: Limits) -> bool:
    parts = path.split("/")
    return len(path) <= limits.path_characters and "\\" not in path and not {"", ".", ".."} & set(parts)


class _Counted(io.BytesIO):
    """A stream that refuses to give out more than the limits allow, tar headers and padding included."""

    def __init__(self, source: gzip.GzipFile, limits: Limits) -> None:
        super().__init__()
        self._source = source
        self._limits = limits
        # What a tar adds around its files: a header and padding for each, and the end of the archive.
        self._left = limits.unpacked_bytes + 1024 * limits.files + 20 * 512

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most `size` bytes; tarfile asks for its block size."""
        most = self._left + 1
        data = self._source.read(most if size is None or size < 0 else min(size, most))
        self._left -= len(data)
        if self._left < 0:
            self._limits.refuse_more_bytes(_ARCHIVE, self._limits.unpacked_bytes + 1)
        return data
