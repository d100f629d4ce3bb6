"""Key templates: how a resource type names its resources, one to one (rules.md 1).

`site:{id}:{section}` has a literal first segment and two placeholders. A placeholder stands for one segment;
`{path}` at the end stands for one or more. The AuthZEN id of a resource is its placeholders' segments joined by `:`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from remit_graph.errors import ModelError
from remit_graph.model.key import Segments, parse_key

_PLACEHOLDER: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}\Z")
_OPEN_ENDED: Final = "path"


@dataclass(frozen=True)
class Template:
    """A parsed key template.

    Attributes:
        text: As written.
        parts: A string for a literal segment, a one-tuple with its name for a placeholder.
    """

    text: str
    parts: tuple[str | tuple[str], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The placeholders' names, in order."""
        return tuple(part[0] for part in self.parts if isinstance(part, tuple))

    @cached_property
    def open_ended(self) -> bool:
        """Whether the last placeholder stands for one or more segments."""
        return bool(self.parts) and self.parts[-1] == (_OPEN_ENDED,)

    @property
    def literals(self) -> int:
        """How many segments are literal: of two templates that match a key, the one with more of them wins."""
        return sum(isinstance(part, str) for part in self.parts)

    def match(self, segments: Segments) -> Segments | None:
        """Return the placeholders' segments if the key is of this template, else None."""
        fits = len(segments) >= len(self.parts) if self.open_ended else len(segments) == len(self.parts)
        if not fits:
            return None
        values: list[str] = []
        for index, part in enumerate(self.parts):
            if isinstance(part, tuple):
                values.extend(
                    segments[index:] if self.open_ended and index == len(self.parts) - 1 else [segments[index]]
                )
            elif part != segments[index]:
                return None
        return tuple(values)

    def key(self, identifier: str) -> str | None:
        """Return the key of an AuthZEN id, or None if the number of segments does not fit."""
        values = parse_key(identifier) if identifier or self.names else ()
        enough = len(values) >= len(self.names) if self.open_ended else len(values) == len(self.names)
        if not enough:
            return None
        return ":".join(self._fill(values))

    def _fill(self, values: Segments) -> list[str]:
        segments: list[str] = []
        taken = 0
        for index, part in enumerate(self.parts):
            if isinstance(part, str):
                segments.append(part)
            elif self.open_ended and index == len(self.parts) - 1:
                segments.extend(values[taken:])
            else:
                segments.append(values[taken])
                taken += 1
        return segments

    def ties_with(self, other: Template) -> bool:
        """Whether some key matches both with equally many literals, so that its type would be a matter of luck."""
        if self.literals != other.literals:
            return False
        if not self.open_ended and not other.open_ended and len(self.parts) != len(other.parts):
            return False
        shorter, longer = sorted((self, other), key=lambda each: len(each.parts))
        if len(shorter.parts) < len(longer.parts) and not shorter.open_ended:
            return False
        pairs = zip(self.parts, other.parts, strict=False)
        return all(isinstance(a, tuple) or isinstance(b, tuple) or a == b for a, b in pairs)


def parse_template(text: object) -> Template:
    """Read a template.

    Raises:
        ModelError: a malformed literal, a repeated placeholder, or `{path}` elsewhere than at the end.
    """
    if not isinstance(text, str) or not text:
        raise ModelError(f"`{text}` is not a key template: write site:{{id}}:robots")
    parts: list[str | tuple[str]] = []
    for segment in text.split(":"):
        match = _PLACEHOLDER.match(segment)
        if match is None:
            parse_key(segment)
            if "{" in segment or "}" in segment:
                raise ModelError(f"template `{text}`: a placeholder is a whole segment, {{id}}")
            parts.append(segment)
        else:
            parts.append((match.group(1),))
    template = Template(text=text, parts=tuple(parts))
    if len(set(template.names)) != len(template.names):
        raise ModelError(f"template `{text}` repeats a placeholder")
    if (_OPEN_ENDED,) in parts[:-1]:
        raise ModelError(f"template `{text}`: {{path}} stands for one or more segments and comes last")
    if not parts or isinstance(parts[0], tuple):
        raise ModelError(f"template `{text}` begins with a literal segment")
    return template
