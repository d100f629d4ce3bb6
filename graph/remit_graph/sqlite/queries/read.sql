-- head
-- Where the ledger stands.
SELECT store_id, realm, incarnation, revision, hash, at, schema, state, note, needs, base
FROM head

-- revision
-- How far the ledger is.
SELECT revision
FROM head

-- rows_of_revisions
-- The rows of the revisions after $after up to $last, in order.
SELECT revision, seq, body, hash
FROM rows
WHERE revision > :after
  AND revision <= :last
ORDER BY revision, seq

-- rows_after
-- A page of rows after one place up to revision $last, in order.
SELECT revision, seq, body, hash
FROM rows
WHERE (revision, seq) > (:revision, :seq)
  AND revision <= :last
ORDER BY revision, seq
LIMIT :limit

-- last_row
-- The last row of the log up to revision $last.
SELECT revision, seq, body, hash
FROM rows
WHERE revision <= :last
ORDER BY revision DESC, seq DESC
LIMIT 1

-- result
-- What a request id was answered with.
SELECT request_id, fingerprint, revision, result
FROM result
WHERE request_id = :request_id

-- receipt
-- The newest revision that wrote the receipt $receipt_id.
SELECT revision
FROM receipt
WHERE receipt_id = :receipt_id
