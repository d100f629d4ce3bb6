-- advance_head
-- The compare-and-set: move the head from where the writer decided; no row changed means that it is elsewhere.
UPDATE head
SET revision = :revision,
    hash = :hash,
    at = :at
WHERE store_id = :store_id
  AND incarnation = :incarnation
  AND schema = :schema
  AND state = :state
  AND revision = :expected_revision
  AND hash = :expected_hash
  AND at <= :first_at

-- insert_row
-- Add one row to the log.
INSERT INTO rows (revision, seq, body, hash)
VALUES (:revision, :seq, :body, :hash)

-- insert_result
-- Keep what a request id is answered with, once for ever.
INSERT INTO result (request_id, fingerprint, revision, result)
VALUES (:request_id, :fingerprint, :revision, :result)

-- begin_edge
-- Note that a version of an edge is current; refused if it ever was made, or while another version is current.
INSERT INTO edge (edge_id, version, revision_from, revision_to)
VALUES (:edge_id, :version, :revision, NULL)

-- end_edge
-- Note that a version of an edge is current no longer; one that is not is left as it is.
UPDATE edge
SET revision_to = :revision
WHERE edge_id = :edge_id
  AND version = :version
  AND revision_to IS NULL

-- note_receipt
-- Note which revision last wrote a receipt.
INSERT INTO receipt (receipt_id, revision)
VALUES (:receipt_id, :revision)
ON CONFLICT (receipt_id) DO UPDATE SET revision = excluded.revision

-- begin_incarnation
-- Give the store a new identity, so that nothing issued before is taken for something issued after.
UPDATE head
SET store_id = :store_id,
    incarnation = max(incarnation, :after) + 1,
    state = 'ready',
    note = ''
WHERE state <> 'unfinished'
