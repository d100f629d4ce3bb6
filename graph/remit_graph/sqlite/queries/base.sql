-- base
-- Where history begins.
SELECT base, base_hash, base_at, base_digest, base_anchored_at, base_first
FROM head

-- set_base
-- Let history begin after $revision.
UPDATE head
SET base = :revision,
    base_hash = :hash,
    base_at = :at,
    base_digest = :digest,
    base_anchored_at = :anchored_at,
    base_first = :first
WHERE base < :revision

-- weigh
-- How many rows there are up to $revision, and how many bytes they hold.
SELECT count(*), coalesce(sum(length(CAST(body AS BLOB)) + length(hash)), 0)
FROM rows
WHERE revision <= :revision

-- rows_to_sweep
-- Some of the rows that were cut off, in order; of those that are a command the body.
SELECT revision, seq, CASE seq WHEN 0 THEN body END AS body
FROM rows
WHERE revision <= (SELECT base FROM head)
ORDER BY revision, seq
LIMIT :limit

-- drop_rows
-- Take rows out that were cut off.
DELETE FROM rows
WHERE revision <= (SELECT base FROM head)
  AND (revision, seq) <= (:revision, :seq)

-- pages
-- Pages of the file, those of them that hold nothing, and whether such pages can be given back (2).
SELECT pages.page_count, free.freelist_count, vacuum.auto_vacuum
FROM pragma_page_count AS pages, pragma_freelist_count AS free, pragma_auto_vacuum AS vacuum

-- give_back
-- Take one free page out of the file.
PRAGMA incremental_vacuum(1)

-- drop_answer
-- Forget what a request id was answered with in a revision.
DELETE FROM result
WHERE request_id = :request_id
  AND revision = :revision

-- keep_answer_until
-- Note when what a request id was answered with may be forgotten.
UPDATE result
SET keep_until = :until
WHERE request_id = :request_id
  AND revision = :revision

-- drop_answers
-- Forget some answers whose time is over.
DELETE FROM result
WHERE request_id IN (
    SELECT request_id
    FROM result
    WHERE keep_until <= :now
    LIMIT :limit
)

-- remaining_answers
-- Some answers of revisions up to the base, after one of them.
SELECT request_id, fingerprint, revision, result, keep_until
FROM result
WHERE request_id > :after
  AND revision <= (SELECT base FROM head)
ORDER BY request_id
LIMIT :limit

-- remaining_receipts
-- Some receipts that were written last in revisions up to the base, after one of them.
SELECT receipt_id, revision
FROM receipt
WHERE receipt_id > :after
  AND revision <= (SELECT base FROM head)
ORDER BY receipt_id
LIMIT :limit

-- begin_at
-- Let an empty ledger begin after $revision.
UPDATE head
SET revision = :revision,
    hash = :hash,
    at = :at,
    base = :revision,
    base_hash = :hash,
    base_at = :at,
    base_digest = :digest,
    base_anchored_at = :anchored_at,
    base_first = :first
WHERE state = 'unfinished'
  AND store_id = :store_id
  AND revision = 0

-- put_edge
-- Note a version of an edge as the image of the base has it.
INSERT INTO edge (edge_id, version, revision_from, revision_to)
VALUES (:edge_id, :version, :revision_from, :revision_to)

-- put_answer
-- Keep what a request id was answered with in a revision up to the base.
INSERT INTO result (request_id, fingerprint, revision, result, keep_until)
VALUES (:request_id, :fingerprint, :revision, :result, :keep_until)
