-- 0005_base
-- Where history begins, once it was cut, and until when answers are kept whose row was removed.

ALTER TABLE head ADD COLUMN base INTEGER NOT NULL DEFAULT 0 CHECK (base >= 0);

-- What the first row that is left follows; the default is the hash before the first row.
ALTER TABLE head ADD COLUMN base_hash TEXT NOT NULL
    DEFAULT '0000000000000000000000000000000000000000000000000000000000000000' CHECK (length(base_hash) = 64);

ALTER TABLE head ADD COLUMN base_at INTEGER NOT NULL DEFAULT 0 CHECK (base_at >= 0);

ALTER TABLE head ADD COLUMN base_digest TEXT NOT NULL DEFAULT '';

ALTER TABLE head ADD COLUMN base_anchored_at INTEGER NOT NULL DEFAULT 0 CHECK (base_anchored_at >= 0);

-- Of the first row that the ledger ever had.
ALTER TABLE head ADD COLUMN base_first TEXT NOT NULL DEFAULT '';

DROP TRIGGER rows_are_never_removed;

CREATE TRIGGER rows_are_removed_below_the_base_alone BEFORE DELETE ON rows
WHEN OLD.revision > (SELECT base FROM head)
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;

ALTER TABLE result ADD COLUMN keep_until INTEGER;

CREATE INDEX result_goes ON result (keep_until) WHERE keep_until IS NOT NULL;

PRAGMA user_version = 5;
