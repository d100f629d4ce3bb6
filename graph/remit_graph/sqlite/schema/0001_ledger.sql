-- 0001_ledger
-- The log, the answers to request ids, the edges that must be unique, and images of the whole state.
-- INVARIANT: rows are only ever added; a revision's rows, its answer, its edges and the head change in one transaction.

-- 'RMIT': how a ledger is told from any other SQLite file.
PRAGMA application_id = 1380796756;

CREATE TABLE head (
    singleton   INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    store_id    TEXT    NOT NULL CHECK (store_id <> ''),
    realm       TEXT    NOT NULL CHECK (realm <> ''),
    incarnation INTEGER NOT NULL CHECK (incarnation >= 1),
    revision    INTEGER NOT NULL CHECK (revision >= 0),
    hash        TEXT    NOT NULL CHECK (length(hash) = 64),
    at          INTEGER NOT NULL CHECK (at >= 0),
    schema      INTEGER NOT NULL CHECK (schema >= 1)
) STRICT;

CREATE TABLE rows (
    revision INTEGER NOT NULL CHECK (revision >= 1),
    seq      INTEGER NOT NULL CHECK (seq >= 0),
    body     TEXT    NOT NULL,
    hash     TEXT    NOT NULL CHECK (length(hash) = 64),
    CONSTRAINT row_has_one_place PRIMARY KEY (revision, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER rows_are_never_changed BEFORE UPDATE ON rows
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;

CREATE TRIGGER rows_are_never_removed BEFORE DELETE ON rows
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;

CREATE TABLE result (
    request_id  TEXT    NOT NULL CONSTRAINT request_is_answered_once PRIMARY KEY,
    fingerprint TEXT,
    revision    INTEGER NOT NULL,
    result      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- Only what makes edges unique; the edges themselves are in the log.
CREATE TABLE edge (
    edge_id       TEXT    NOT NULL,
    version       INTEGER NOT NULL,
    revision_from INTEGER NOT NULL,
    revision_to   INTEGER,
    CONSTRAINT edge_version_is_made_once PRIMARY KEY (edge_id, version)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX edge_is_current_once ON edge (edge_id) WHERE revision_to IS NULL;

CREATE TABLE checkpoint (
    revision INTEGER NOT NULL PRIMARY KEY CHECK (revision >= 1),
    hash     TEXT    NOT NULL CHECK (length(hash) = 64),
    digest   TEXT    NOT NULL CHECK (length(digest) = 64),
    parts    INTEGER NOT NULL CHECK (parts >= 0)
) STRICT;

-- An image is kept in parts, each written in a short transaction of its own, and counts from the row above on.
CREATE TABLE checkpoint_part (
    digest TEXT    NOT NULL,
    part   INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    CONSTRAINT checkpoint_part_is_kept_once PRIMARY KEY (digest, part)
) STRICT;

PRAGMA user_version = 1;
