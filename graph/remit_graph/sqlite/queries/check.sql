-- integrity
-- What SQLite itself finds wrong with pages, indexes and constraints; `ok` alone if nothing.
PRAGMA integrity_check(10)

-- commands_without_result
-- Request ids in the log whose answer is missing or belongs to another revision.
SELECT json_extract(rows.body, '$.request_id') AS request_id, rows.revision
FROM rows
WHERE rows.seq = 0
  AND rows.revision > (SELECT base FROM head)
  AND json_extract(rows.body, '$.request_id') IS NOT NULL
  AND NOT EXISTS (
      SELECT 1
      FROM result
      WHERE result.request_id = json_extract(rows.body, '$.request_id')
        AND result.revision = rows.revision
        AND result.fingerprint IS json_extract(rows.body, '$.fingerprint')
  )
LIMIT 10

-- results_without_command
-- Answers whose command is not in the log, and was not cut off.
SELECT result.request_id, result.revision
FROM result
WHERE result.revision > (SELECT base FROM head)
  AND NOT EXISTS (
    SELECT 1
    FROM rows
    WHERE rows.revision = result.revision
      AND rows.seq = 0
      AND json_extract(rows.body, '$.request_id') = result.request_id
)
LIMIT 10

-- edges_unlike_the_log
-- Versions of edges whose begin or end after the base is another in the table of edges than in the log.
WITH begun AS (
    SELECT json_extract(body, '$.body.edge_id') AS edge_id,
           json_extract(body, '$.body.version') AS version,
           revision,
           seq
    FROM rows
    WHERE json_extract(body, '$.kind') = 'edge.begin'
      AND revision > (SELECT base FROM head)
    UNION ALL
    SELECT edge_id, version, revision_from, -1
    FROM edge
    WHERE revision_from <= (SELECT base FROM head)
      AND coalesce(revision_to > (SELECT base FROM head), TRUE)
),
ended AS (
    SELECT json_extract(each.value, '$[0]') AS edge_id,
           json_extract(each.value, '$[1]') AS version,
           rows.revision,
           rows.seq
    FROM rows, json_each(rows.body, '$.body.edges') AS each
    WHERE json_extract(rows.body, '$.kind') = 'edges.end'
      AND rows.revision > (SELECT base FROM head)
),
logged AS (
    SELECT begun.edge_id, begun.version, begun.revision AS revision_from, min(ended.revision) AS revision_to
    FROM begun
    LEFT JOIN ended
           ON ended.edge_id = begun.edge_id
          AND ended.version = begun.version
          AND (ended.revision, ended.seq) > (begun.revision, begun.seq)
    GROUP BY begun.edge_id, begun.version
),
tabled AS (
    SELECT edge_id, version, revision_from, revision_to
    FROM edge
    WHERE revision_from > (SELECT base FROM head)
       OR coalesce(revision_to > (SELECT base FROM head), TRUE)
)
SELECT edge_id, version
FROM (SELECT * FROM logged EXCEPT SELECT edge_id, version, revision_from, revision_to FROM tabled)
UNION
SELECT edge_id, version
FROM (SELECT edge_id, version, revision_from, revision_to FROM tabled EXCEPT SELECT * FROM logged)
ORDER BY edge_id, version
LIMIT 10

-- edges_at_the_base
-- Versions of edges that had begun at $base, and when they ended by then.
SELECT edge_id, version, revision_from, CASE WHEN revision_to <= :base THEN revision_to END
FROM edge
WHERE revision_from <= :base

-- receipts_unlike_the_log
-- Receipts whose last revision is another in the table of receipts than in the log.
WITH logged AS (
    SELECT json_extract(body, '$.body.id') AS receipt_id, max(revision) AS revision
    FROM rows
    WHERE json_extract(body, '$.kind') = 'receipt.put'
      AND revision > (SELECT base FROM head)
    GROUP BY json_extract(body, '$.body.id')
)
SELECT receipt_id
FROM (SELECT * FROM logged EXCEPT SELECT receipt_id, revision FROM receipt)
UNION
SELECT receipt_id
FROM (
    SELECT receipt_id, revision
    FROM receipt
    WHERE revision > (SELECT base FROM head)
    EXCEPT
    SELECT *
    FROM logged
)
ORDER BY receipt_id
LIMIT 10
