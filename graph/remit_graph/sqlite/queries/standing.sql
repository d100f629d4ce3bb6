-- finish
-- Let an unfinished ledger be used, if it stands where its filler left it.
UPDATE head
SET state = 'ready',
    note = ''
WHERE state = 'unfinished'
  AND store_id = :store_id
  AND revision = :revision
  AND hash = :hash

-- move_away
-- Close the ledger, which goes on at $note.
UPDATE head
SET state = 'moved',
    note = :note
WHERE state = 'ready'
   OR (state = 'moved' AND note = :note)

-- enable_schema
-- Let rows be written in a later schema.
UPDATE head
SET schema = :schema,
    needs = :version
WHERE schema < :schema
  AND state = 'ready'

-- announce
-- Note that a decision point uses the ledger.
INSERT INTO replica (name, version, schema, seen_at)
VALUES (:name, :version, :schema, :now)
ON CONFLICT (name) DO UPDATE
SET version = excluded.version,
    schema = excluded.schema,
    seen_at = excluded.seen_at

-- forget_replicas
-- Forget decision points that were last seen before $before.
DELETE FROM replica
WHERE seen_at < :before

-- depart
-- Forget a decision point that stops.
DELETE FROM replica
WHERE name = :name

-- seen
-- The decision points that were seen at $after or later.
SELECT name, version, schema, seen_at
FROM replica
WHERE seen_at >= :after
ORDER BY name
