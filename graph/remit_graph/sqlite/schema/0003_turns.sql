-- 0003_turns
-- Whose turn it is to append, until when, and who lined up for the next one (rules.md 11, "Several replicas, fairly").

ALTER TABLE head ADD COLUMN turn_of TEXT;

ALTER TABLE head ADD COLUMN turn_until INTEGER NOT NULL DEFAULT 0 CHECK (turn_until >= 0);

-- Ids of writers in their order, a list in JSON.
ALTER TABLE head ADD COLUMN turn_asked TEXT NOT NULL DEFAULT '[]' CHECK (turn_asked <> '');

PRAGMA user_version = 3;
