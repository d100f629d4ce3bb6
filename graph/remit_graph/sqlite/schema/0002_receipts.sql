-- 0002_receipts
-- Which revision last wrote a receipt: they are asked for long after they were written. The receipts are in the log.

CREATE TABLE receipt (
    receipt_id TEXT    NOT NULL PRIMARY KEY,
    revision   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO receipt (receipt_id, revision)
SELECT json_extract(body, '$.body.id'), max(revision)
FROM rows
WHERE json_extract(body, '$.kind') = 'receipt.put'
GROUP BY json_extract(body, '$.body.id');

PRAGMA user_version = 2;
