"""The digest of a policy, its `policy_revision`: equal for equal files, and for nothing else.

It runs over every file of the bundle but the ones that the build writes itself, which name it. Path and content each go
in with their length before them, so that no two sets of files can run into the same bytes. A changed comment is a
changed policy (F002): the digest is about identity, not about meaning.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MANIFEST: Final = ".manifest"
SIGNATURES: Final = ".signatures.json"
REVISION_FILE: Final = "remit/revision/data.json"
GENERATED: Final = frozenset({MANIFEST, SIGNATURES, REVISION_FILE})

_FORM: Final = re.compile(r"sha256:[0-9a-f]{64}\Z", re.ASCII)


def policy_revision(files: Mapping[str, bytes]) -> str:
    """Return the digest of `files`, as `sha256:` and 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for path, content in sorted(files.items()):
        if path not in GENERATED:
            for part in (path.encode(), content):
                digest.update(len(part).to_bytes(8, "big"))
                digest.update(part)
    return f"sha256:{digest.hexdigest()}"


def is_policy_revision(text: str) -> bool:
    """Whether `text` has the form of a policy revision; it may name a file then."""
    return _FORM.match(text) is not None
