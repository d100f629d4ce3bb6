-- 0004_state
-- Whether the ledger may be used, which version of Remit its rows need, and which decision points use it.

ALTER TABLE head ADD COLUMN state TEXT NOT NULL DEFAULT 'ready' CHECK (state IN ('ready', 'unfinished', 'moved'));

-- What an unfinished ledger is made from, and where a moved one went.
ALTER TABLE head ADD COLUMN note TEXT NOT NULL DEFAULT '';

-- The version of Remit that switched the store to its row schema; empty for the first schema.
ALTER TABLE head ADD COLUMN needs TEXT NOT NULL DEFAULT '';

CREATE TABLE replica (
    name    TEXT    NOT NULL PRIMARY KEY CHECK (name <> ''),
    version TEXT    NOT NULL,
    schema  INTEGER NOT NULL CHECK (schema >= 1),
    seen_at INTEGER NOT NULL CHECK (seen_at >= 0)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 4;
