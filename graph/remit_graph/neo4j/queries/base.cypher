// base
// Where history begins.
MATCH (head:Head {realm: $realm})
RETURN coalesce(head.base, 0) AS revision, head.base_hash AS hash, coalesce(head.base_at, 0) AS at,
       coalesce(head.base_digest, '') AS digest, coalesce(head.base_anchored_at, 0) AS anchored_at,
       coalesce(head.base_first, '') AS first

// set_base
// Let history begin after $revision.
MATCH (head:Head {realm: $realm})
WHERE coalesce(head.base, 0) < $revision
SET head.base = $revision, head.base_hash = $hash, head.base_at = $at, head.base_digest = $digest,
    head.base_anchored_at = $anchored_at, head.base_first = $first

// weigh
// How many rows there are up to $last_place, and how many characters they hold.
MATCH (change:Change)
WHERE change.place <= $last_place
RETURN count(*) AS rows, coalesce(sum(size(change.body) + size(change.hash)), 0) AS size

// rows_to_sweep
// Some of the rows up to $last_place, in order.
MATCH (change:Change)
WHERE change.place <= $last_place
RETURN change.place AS place, change.revision AS revision, change.seq AS seq, change.kind AS kind, change.body AS body
ORDER BY change.place
LIMIT $limit

// drop_rows
// Take rows out that were cut off, all but those that say what a thing or an edge of the graph is ($kept: ref by place).
// INVARIANT: the head is locked, and counts the rows that are left.
MATCH (head:Head {realm: $realm})
CALL () {
  UNWIND $superseded AS ref
  MATCH (kept:Kept {ref: ref})
  DELETE kept
}
CALL () {
  UNWIND $kept AS row
  MATCH (change:Change {place: row[0]})
  SET change:Kept, change.ref = row[1]
  REMOVE change:Change
}
CALL () {
  UNWIND $places AS place
  MATCH (change:Change {place: place})
  DELETE change
}
SET head.rows = head.rows - $rows

// things_to_sweep
// Some things that happened once, or ended, in revisions up to $revision.
// INVARIANT: the labels are those of the nouns in `past`; written out, so that nothing else is looked at.
CALL () {
  MATCH (node:Conflict|Notice|Observation|Receipt)
  WHERE node:Entity AND node.as_of <= $revision
  RETURN node
  LIMIT $limit
  UNION ALL
  MATCH (node:WasApproval|WasCapability|WasConflict|WasLease|WasNotice|WasObservation|WasOperation|WasPresence|WasReceipt
              |WasWaiter|WasWorkSet)
  WHERE node.revision_to <= $revision
  RETURN node
  LIMIT $limit
}
RETURN elementId(node) AS handle
LIMIT $limit

// drop_things
// Take things of $labels out with all that joins them, if they are still of revisions up to $revision.
// Of a receipt stays that there was one. INVARIANT: the head is locked; parts say how much of each kind there is.
UNWIND $handles AS handle
MATCH (node)
WHERE elementId(node) = handle
      AND (node:Ended AND node.revision_to <= $revision OR node:Entity AND node.as_of <= $revision)
WITH node, [label IN labels(node) WHERE label IN $labels][0] AS name, node.row_digest AS digest,
     coalesce(node.ref, node.was_ref) AS ref, node.as_of AS as_of
WHERE name IS NOT NULL
FOREACH (_ IN CASE WHEN ref STARTS WITH 'receipt/' THEN [1] ELSE [] END |
  MERGE (kept:Kept {ref: ref})
  ON CREATE SET kept.kind = 'receipt', kept.revision = as_of
)
DETACH DELETE node
WITH name, count(*) AS nodes, sum(digest) AS digest
MATCH (part:Part {name: name})
SET part.count = part.count - nodes, part.digest = part.digest - digest

// drop_answer
// Forget what requests were answered with, each in a revision.
UNWIND $answers AS answer
MATCH (op:Op {request_id: answer[0]})
WHERE op.revision = answer[1]
DELETE op
RETURN count(*) AS dropped

// keep_answers_until
// Note when what requests were answered with may be forgotten.
UNWIND $answers AS answer
MATCH (op:Op {request_id: answer[0]})
WHERE op.revision = answer[1]
SET op.keep_until = answer[2]

// drop_answers
// Forget some answers whose time is over.
MATCH (op:Op)
WHERE op.keep_until <= $now
WITH op
LIMIT $limit
DELETE op
RETURN count(*) AS dropped

// remaining_answers
// The answers of revisions up to $revision.
MATCH (op:Op)
WHERE op.revision <= $revision
RETURN op.request_id AS request_id, op.fingerprint AS fingerprint, op.revision AS revision, op.result AS result,
       op.keep_until AS keep_until

// remaining_receipts
// The receipts that were written last in revisions up to $revision, whether or not the graph has them.
MATCH (receipt:Receipt:Entity)
WHERE receipt.as_of <= $revision
OPTIONAL MATCH (kept:Kept {ref: receipt.ref, kind: 'receipt'})
RETURN receipt.ref AS ref, coalesce(kept.revision, receipt.as_of) AS revision
UNION
MATCH (kept:Kept {kind: 'receipt'})
WHERE NOT EXISTS { MATCH (:Entity {ref: kept.ref}) }
RETURN kept.ref AS ref, kept.revision AS revision

// put_answers
// Keep what requests of removed revisions were answered with.
UNWIND $answers AS answer
CREATE (op:Op {request_id: answer[0], revision: answer[2], result: answer[3]})
SET op.fingerprint = answer[1], op.keep_until = answer[4]

// put_receipts
// Note that receipts were written in removed revisions.
UNWIND $receipts AS receipt
CREATE (:Kept {ref: receipt[0], kind: 'receipt', revision: receipt[1]})

// put_kept
// Keep what removed rows said of things and edges of the graph.
UNWIND $rows AS row
CREATE (kept:Kept)
SET kept = row

// begin_at
// Let an empty ledger begin after $revision, with its graph.
MATCH (head:Head {realm: $realm})
SET head.revision = $revision, head.hash = $hash, head.at = $at, head.base = $revision, head.base_hash = $hash,
    head.base_at = $at, head.base_digest = $digest, head.base_anchored_at = $anchored_at, head.base_first = $first,
    head.materialised_revision = $revision, head.materialised_place = $place
