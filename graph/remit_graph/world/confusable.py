"""Names that look alike and are not the same (faults F038).

Such a name is another thing by every rule of the model, and nothing merges it; a person who reads it may be deceived.
The table holds the Cyrillic and Greek letters that look like Latin ones in common fonts (Unicode TS 39, confusables).
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LOOKS_LIKE: Final = str.maketrans(
    # Cyrillic, then Greek, small letters before capital ones.
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u0406\u0408\u0405"
    "\u03bf\u03b1\u03bd\u03c1\u03c5\u03b9\u03ba"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "aeopcyxijshdqw"
    "ABEKMHOPCTXYIJS"
    "oavpuik"
    "ABEZHIKMNOPTYX",
)  # fmt: skip


def skeleton(name: str) -> str:
    """Return what a name looks like: equal skeletons are easily taken for each other."""
    return unicodedata.normalize("NFKC", name).translate(_LOOKS_LIKE)


def confusable(names: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Iterate names that look like others of `names` or like plain ASCII, each with what it looks like."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        alike[skeleton(name)].append(name)
    for look, group in alike.items():
        for name in group:
            others = tuple(each for each in group if each != name)
            if not name.isascii() and (others or look.isascii()):
                yield name, others or (look,)
