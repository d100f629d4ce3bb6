"""The form of a backup: lines of canonical JSON through gzip, so that `zcat` shows one to a person.

    {"remit_backup":1,"realm":"acme","incarnation":1,"revision":2,"hash":"…", …}     what it is of: `Header`
    ["r",1,"<body>","<hash>"]                                                       a row; `seq` counts from 0
    ["a","<request id>","<fingerprint>","<result>"]                                 the answer to the revision before it
    {"end":true,"revisions":2,"rows":5,"answers":1,"state":"…","digest":"…"}         `End`

A ledger whose history was cut (`remit_graph.history`) has `"remit_backup":2`, and more between first line and rows:

    {…,"base":{"revision":812,"hash":"…","at":…,"digest":"…","anchored_at":…,"first":"…"}}     where its rows begin
    ["i","<base64>"]                                                            a part of the image of the state there
    ["k","<request id>","<fingerprint>",<revision>,"<result>",<keep until>]     an answer that outlived its row
    ["w","<receipt id>",<revision>]                                             a receipt that was removed

`digest` is the SHA-256 of all lines before the last one, as they stand. The rows are the ledger's own bytes: their hash
chain is verified too, so that what fits the digest and was not written by a ledger is found as well.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from remit_graph.errors import ModelError
from remit_graph.history import WHOLE, Base
from remit_graph.model.change import Row, canonical
from remit_graph.stored import Stored, StoredResult, Wrote, request_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from remit_graph.head import Head
    from remit_graph.model.instant import Instant
    from remit_graph.stored import Remains

T = TypeVar("T", "Header", "End", Base)

FORM: Final = 1
CUT_FORM: Final = 2
"""Of a ledger whose history was cut."""

MARK: Final = "remit_backup"
ROW: Final = "r"
ANSWER: Final = "a"
IMAGE: Final = "i"
KEPT: Final = "k"
WROTE: Final = "w"

PART_BYTES: Final = 1 << 20
"""Of an image in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a backup is of.

    Attributes:
        realm, store_id, incarnation, revision, hash, at, schema, needs: Of the ledger's head, as in `ports.Head`.
        made_at: When it was begun, by the store's clock.
        made_by: The version of Remit.
        base: Where its rows begin.
    """

    realm: str
    store_id: str
    incarnation: int
    revision: int
    hash: str
    at: Instant
    schema: int
    needs: str
    made_at: Instant
    made_by: str
    base: Base = WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What was written: counts, the digest of the state that the rows lead to, and that of the lines.

    Attributes:
        revisions, rows, answers: Those after the base.
        state: SHA-256 over the image of the view at the last revision, with the form of images before it: `1:…`.
        digest: SHA-256 of all lines before this one.
    """

    revisions: int
    rows: int
    answers: int
    state: str
    digest: str


def header_of(head: Head, made_by: str, base: Base = WHOLE) -> Header:
    """Return the header of a backup of a ledger that stands at `head` and begins at `base`."""
    return Header(
        realm=head.realm,
        store_id=head.store_id,
        incarnation=head.incarnation,
        revision=head.revision,
        hash=head.hash,
        at=head.at,
        schema=head.schema,
        needs=head.needs,
        made_at=head.now,
        made_by=made_by,
        base=base,
    )


def header_line(header: Header) -> bytes:
    """Spell the first line."""
    members = asdict(header)
    if header.base.is_whole:
        del members["base"]
    return _line({MARK: FORM if header.base.is_whole else CUT_FORM, **members})


def end_line(end: End) -> bytes:
    """Spell the last line."""
    return _line({"end": True, **asdict(end)})


def image_lines(blob: bytes) -> Iterator[bytes]:
    """Spell the lines of the image that a ledger begins with."""
    for start in range(0, len(blob), PART_BYTES):
        yield _line([IMAGE, b64encode(blob[start : start + PART_BYTES]).decode()])


def remains_line(each: Remains) -> bytes:
    """Spell the line of what is left of a removed revision."""
    if isinstance(each, Wrote):
        return _line([WROTE, each.receipt_id, each.revision])
    return _line([KEPT, each.request_id, each.fingerprint, each.revision, each.result, each.keep_until])


def lines_of(stored: Stored) -> Iterator[bytes]:
    """Spell the lines of one revision."""
    for row in stored.rows:
        yield _line([ROW, row.revision, row.body, row.hash])
    if stored.answer is not None:
        yield _line([ANSWER, stored.answer.request_id, stored.answer.fingerprint, stored.answer.result])


def parse_header(document: Any) -> Header | None:
    """Read the first line; None if it is another program's.

    Raises:
        ModelError: it is of a form that this program does not know.
    """
    if not isinstance(document, dict) or MARK not in document:
        return None
    if document[MARK] not in (FORM, CUT_FORM):
        raise ModelError(f"is of form {document[MARK]}, and this program knows forms up to {CUT_FORM}")
    members = {name: value for name, value in document.items() if name not in (MARK, "base")}
    if document[MARK] == FORM:
        return _made(Header, members)
    if not isinstance(document.get("base"), dict):
        raise ModelError("does not say where its rows begin")
    return _made(Header, members, base=_made(Base, document["base"]))


def parse_end(document: Any) -> End:
    """Read the last line.

    Raises:
        ModelError: it is not well formed.
    """
    return _made(End, {name: value for name, value in document.items() if name != "end"})


def parse_row(document: Sequence[Any], seq: int) -> Row:
    """Read a row.

    Raises:
        ModelError: it is not well formed.
    """
    _, revision, body, digest = _of_types(document, (str, int, str, str))
    return Row(revision=revision, seq=seq, body=body, hash=digest)


def parse_answer(document: Sequence[Any], revision: int) -> StoredResult:
    """Read the answer to a revision.

    Raises:
        ModelError: it is not well formed.
    """
    _, request_id, fingerprint, result = _of_types(document, (str, str, (str, type(None)), str))
    return StoredResult(request_id=request_id, fingerprint=fingerprint, revision=revision, result=result)


def parse_image(document: Sequence[Any]) -> bytes:
    """Read a part of an image.

    Raises:
        ModelError: it is not well formed.
    """
    _, text = _of_types(document, (str, str))
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        # Not base64, or no ASCII at all.
        raise ModelError("holds a line that is not well formed") from error


def parse_remains(document: Sequence[Any]) -> Remains:
    """Read what is left of a removed revision.

    Raises:
        ModelError: it is not well formed.
    """
    if document[:1] == [WROTE]:
        _, receipt_id, revision = _of_types(document, (str, str, int))
        return Wrote(receipt_id=receipt_id, revision=revision)
    types = (str, str, (str, type(None)), int, str, (int, type(None)))
    _, request_id, fingerprint, revision, result, until = _of_types(document, types)
    return StoredResult(
        request_id=request_id, fingerprint=fingerprint, revision=revision, result=result, keep_until=until
    )


def request_of(stored: Stored) -> tuple[str, str | None] | None:
    """Return request id and fingerprint of a revision's command, or None where it has no request id."""
    return request_in(stored.rows[0])


def _of_types(document: Sequence[Any], types: tuple[Any, ...]) -> Sequence[Any]:
    if len(document) != len(types) or not all(map(isinstance, document, types)):
        raise ModelError("holds a line that is not well formed")
    return document


def _made(kind: type[T], members: dict[str, Any], **parsed: Any) -> T:
    types = {"str": str, "int": int, "Instant": int}
    wanted = {each.name: types[str(each.type)] for each in fields(kind) if each.name != "base"}
    if members.keys() != wanted.keys() or any(type(members[name]) is not each for name, each in wanted.items()):
        raise ModelError("begins or ends with a line that is not well formed")
    return kind(**members, **parsed)


def _line(value: Any) -> bytes:
    return f"{canonical(value)}\n".encode()
