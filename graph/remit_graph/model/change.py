"""Changes: the rows of the ledger, their one spelling and the hash chain over it (evidence.md 3, rules.md 11).

A *revision* is one applied command. Its rows are ordered by `seq`; row 0 is always the `command` itself (who, what
for, under which request id), and the rows after it are what the command changed. A row is written once, as canonical
JSON, and every digest runs over these very bytes: nobody has to encode it again to verify it.

Canonical here is RFC 8785 for the values that may occur: objects with sorted keys, strings, whole numbers, booleans,
null and lists. Floats are refused, as their notation differs between languages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from remit_graph.errors import ChainBroken, ModelError

if TYPE_CHECKING:
    from remit_graph.model.instant import Instant

SCHEMA: Final = 1
"""The newest row schema this program writes and understands."""

GENESIS: Final = "0" * 64
"""The hash before the first row."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing a command changed: `kind` is `<noun>.<verb>`, `body` its members."""

    kind: str
    body: Mapping[str, Any]

    @property
    def edges_ended(self) -> int:
        """How many edges it ends; none where it does not list them, which is refused wherever it is applied."""
        listed = self.body.get("edges") if self.kind == "edges.end" else None
        return len(listed) if isinstance(listed, list | tuple) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One decided command, ready to be appended as one revision.

    Attributes:
        action: What was asked: `GRAPH_APPLY`, `GRANT`, `ACQUIRE` …
        actor: The principal that asked, or `system`.
        at: The instant it was decided at, microseconds UTC.
        changes: What it changes, in order; may be empty only for a recorded refusal.
        request_id: Digest of (caller, Idempotency-Key); None where the command is idempotent by content.
        fingerprint: Digest of the request's body, compared when the request id is repeated.
        result: What a repeat of the request id is answered with, canonical JSON.
        reason: Free text of the actor.
    """

    action: str
    actor: str
    at: Instant
    changes: tuple[Change, ...]
    request_id: str | None = None
    fingerprint: str | None = None
    result: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A stored row.

    Attributes:
        revision: Of the command.
        seq: Place within the revision, 0 is the command.
        body: The canonical JSON text, as written.
        hash: SHA-256 over the previous row's hash and this body, lower-case hex.
    """

    revision: int
    seq: int
    body: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One revision as read back.

    Attributes:
        revision: Its number.
        at: Instant of the command, never before the last entry's.
        action: What was asked.
        actor: Who asked.
        changes: Without the command's own row.
        hash: Hash of its last row.
        schema: Highest schema among its rows.
        request_id: Digest, or None.
        reason: Free text, or None.
    """

    revision: int
    at: Instant
    action: str
    actor: str
    changes: tuple[Change, ...]
    hash: str
    schema: int = SCHEMA
    request_id: str | None = None
    reason: str | None = None


def canonical(value: object) -> str:
    """Write `value` as canonical JSON.

    Raises:
        ModelError: it holds a float, a lone surrogate, a key that is no string, or what JSON has no form for.
    """
    quick = _read_back(value)
    return _spelled_with_care(value) if quick is None else quick[0]


def _read_back(value: object) -> tuple[str, Any] | None:
    """Return the canonical JSON of `value` and what is read in it; None where that is not the same, or is none.

    The encoder takes more than JSON has, bytes, instants, not-a-number; none of them is read back as it was.
    """
    try:
        data = _QUICK.encode(value)
        read = _READER.decode(data)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None
    return (data.decode(), read) if read == value else None


def _spelled_with_care(value: object) -> str:
    """Spell what is not read back as it was: what holds tuples, or is to be refused with its reason."""
    try:
        _refuse_floats(value)
        text = _ENCODER.encode(value)
        text.encode()
    except UnicodeEncodeError as error:
        raise ModelError("a text holds a lone surrogate") from error
    except (TypeError, RecursionError) as error:
        raise ModelError(f"a value has no form in the ledger: {error}") from error
    return text


def _no_float(text: str) -> NoReturn:
    raise ValueError(f"`{text}` is not a whole number")


_QUICK: Final = msgspec.json.Encoder(order="deterministic")
_READER: Final = msgspec.json.Decoder(float_hook=_no_float)
_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
)
_PLAIN: Final = frozenset({str, int, bool, type(None)})


def _refuse_floats(value: object) -> None:
    if type(value) in _PLAIN:
        return
    if isinstance(value, float):
        raise ModelError(f"`{value}` is not a whole number: the ledger holds none other")
    if isinstance(value, Mapping):
        for key, each in value.items():
            if not isinstance(key, str):
                raise ModelError(f"`{key}` is a key but no string")
            _refuse_floats(each)
    elif isinstance(value, list | tuple):
        for each in value:
            _refuse_floats(each)


def digest(text: str) -> str:
    """SHA-256 of a text, lower-case hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_parts(parts: Iterable[str]) -> str:
    """Digest of several parts, each preceded by its length, so that no two lists of parts collide."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode()
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()


def link(previous: str, body: str) -> str:
    """Return the hash of a row whose predecessor's is `previous`."""
    return hashlib.sha256(bytes.fromhex(previous) + body.encode()).hexdigest()


def rows_of(command: Command, *, revision: int, previous: str, schema: int = SCHEMA) -> list[Row]:
    """Spell a command as the rows of `revision`, chained to `previous`."""
    return _written(command, revision, previous, schema)[0]


def revision_of(command: Command, *, revision: int, previous: str, schema: int = SCHEMA) -> tuple[list[Row], Entry]:
    """Return the same rows, and what `entry_of` reads in them: a writer has each of them read once."""
    rows, documents = _written(command, revision, previous, schema)
    return rows, _entry(rows, documents)


def _written(command: Command, revision: int, previous: str, schema: int) -> tuple[list[Row], list[dict[str, Any]]]:
    head: dict[str, Any] = {"kind": "command", "action": command.action, "actor": command.actor}
    for name in ("request_id", "fingerprint", "reason"):
        if getattr(command, name) is not None:
            head[name] = getattr(command, name)
    bodies = [head, *({"kind": change.kind, "body": change.body} for change in command.changes)]
    rows: list[Row] = []
    documents: list[dict[str, Any]] = []
    for seq, members in enumerate(bodies):
        body, document = _row({"revision": revision, "seq": seq, "at": command.at, "schema": schema, **members})
        previous = link(previous, body)
        rows.append(Row(revision=revision, seq=seq, body=body, hash=previous))
        documents.append(document)
    return rows, documents


def _row(members: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text of a row, and what a reader makes of it."""
    quick = _read_back(members)
    if quick is not None:
        return quick
    text = _spelled_with_care(members)
    return text, _decoded(text)


def entry_of(rows: Sequence[Row]) -> Entry:
    """Read the rows of one revision back.

    That its last row is missing cannot be seen here; the next row's hash, or the head's, tells.

    Raises:
        ModelError: they are not the rows of one revision, in order from its command on, where they say they stand.
    """
    try:
        documents = [_decoded(row.body) for row in rows]
        if not documents or [_place(row, each) for row, each in zip(rows, documents, strict=True)] != [
            (rows[0].revision, seq, seq == 0) for seq in range(len(rows))
        ]:
            raise ModelError("these are not the rows of one whole revision")
        return _entry(rows, documents)
    except (ValueError, TypeError, LookupError) as error:
        raise ModelError(f"a row is no change: {error}") from error


def _entry(rows: Sequence[Row], documents: Sequence[Mapping[str, Any]]) -> Entry:
    head = documents[0]
    return Entry(
        revision=rows[0].revision,
        at=head["at"],
        action=head["action"],
        actor=head["actor"],
        changes=tuple(Change(each["kind"], each["body"]) for each in documents[1:]),
        hash=rows[-1].hash,
        schema=max(each["schema"] for each in documents),
        request_id=head.get("request_id"),
        reason=head.get("reason"),
    )


_DECODE: Final = json.JSONDecoder().raw_decode


def _decoded(body: str) -> dict[str, Any]:
    """Read a body; canonical JSON has no white space around it, for which `json.loads` looks twice a row."""
    document, end = _DECODE(body)
    if end != len(body) or not isinstance(document, dict):
        raise ValueError("it is not one JSON object")
    return document


def _place(row: Row, document: Mapping[str, Any]) -> tuple[int, int, bool] | None:
    """Return where a row stands and whether it is a command, or None if it says that it stands elsewhere."""
    if (document["revision"], document["seq"]) != (row.revision, row.seq):
        return None
    return row.revision, row.seq, document["kind"] == "command"


def verify_rows(rows: Iterable[Row], *, previous: str, after: int | None = None) -> str:
    """Check that each row follows the one before it, in hash and in place, and return the last hash.

    Args:
        rows: In order; the first is the `command` of its revision.
        previous: The hash before the first row.
        after: The revision before the first row; None where the rows may begin anywhere.

    Raises:
        ChainBroken: at the first row that does not fit; `facts` hold revision and seq, and for a hash `expected`,
            `stored` and `previous`.
    """
    place = None if after is None else (after, 0)
    for row in rows:
        verify_link(row, previous=previous)
        _check_place(row, place)
        previous, place = row.hash, (row.revision, row.seq)
    return previous


def verify_link(row: Row, *, previous: str) -> None:
    """Check that the hash of `row` follows the one before it.

    Raises:
        ChainBroken: it does not; `facts` hold revision, seq, `expected`, `stored` and `previous`.
    """
    expected = link(previous, row.body)
    if expected != row.hash:
        raise ChainBroken(
            f"the hash chain breaks at revision {row.revision}, row {row.seq}",
            revision=row.revision,
            seq=row.seq,
            expected=expected,
            stored=row.hash,
            previous=previous,
        )


def _check_place(row: Row, last: tuple[int, int] | None) -> None:
    """Check that a row stands where its body says, right after `last`; the hash alone covers only the body."""
    here = (row.revision, row.seq)
    follows = row.seq == 0 if last is None else here in {(last[0], last[1] + 1), (last[0] + 1, 0)}
    if not follows or here != _written_place(row.body):
        raise ChainBroken(
            f"revision {row.revision}, row {row.seq}, does not follow the row before it",
            revision=row.revision,
            seq=row.seq,
        )


def _written_place(body: str) -> tuple[object, object] | None:
    try:
        written = json.loads(body)
        return written["revision"], written["seq"]
    except (ValueError, TypeError, LookupError):
        return None
