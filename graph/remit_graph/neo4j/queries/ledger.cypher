// head
// Where the ledger of $realm stands, with the database's own clock.
MATCH (head:Head {realm: $realm})
WITH head, datetime.realtime() AS clock
RETURN head.store_id AS store_id, head.realm AS realm, head.incarnation AS incarnation, head.revision AS revision,
       head.hash AS hash, head.at AS at, head.schema AS schema,
       clock.epochSeconds * 1000000 + clock.microsecond AS now, coalesce(head.state, 'ready') AS state,
       coalesce(head.note, '') AS note, coalesce(head.needs, '') AS needs, coalesce(head.base, 0) AS base

// position
// How far the ledger of $realm has come, and where it begins; what the tail asks all the time.
MATCH (head:Head {realm: $realm})
RETURN head.revision AS revision, head.hash AS hash, coalesce(head.needs, '') AS needs, coalesce(head.base, 0) AS base,
       head.base_hash AS base_hash

// append
// Moves the head by a compare-and-set and adds rows and results, or changes nothing; tells the head as it was.
// INVARIANT: the lock is taken before anything is read, and the clock is read after the lock was granted.
MATCH (head:Head {realm: $realm})
SET head.lock = $lock
WITH head, datetime.realtime() AS clock
WITH head, clock.epochSeconds * 1000000 + clock.microsecond AS now, head.store_id AS store_id,
     head.incarnation AS incarnation, head.revision AS revision, head.hash AS hash, head.at AS at,
     head.schema AS schema, head.materialised_revision AS materialised_revision,
     coalesce(head.state, 'ready') AS state, coalesce(head.note, '') AS note, coalesce(head.needs, '') AS needs,
     coalesce(head.turn_until, 0) AS turn_until, [each IN coalesce(head.turn_asked, []) WHERE each <> $writer] AS asked
WITH *, coalesce(now < turn_until AND head.turn_of <> $writer, false) AS taken
WITH *, store_id = $store_id AND incarnation = $incarnation AND revision = $revision AND hash = $hash
        AND schema = $schema AND state = $state AND at <= $first_at AND $last_at <= now + $max_clock_skew
        AND NOT taken AS fits
WITH *, $inline AND materialised_revision = revision AS caught_up
FOREACH (_ IN CASE WHEN fits THEN [1] ELSE [] END |
  SET head.revision = $last_revision, head.hash = $last_hash, head.at = $last_at, head.rows = head.rows + size($rows),
      head.turn_of = asked[0], head.turn_until = CASE WHEN asked = [] THEN null ELSE now + $turn END,
      head.turn_asked = CASE WHEN size(asked) < 2 THEN null ELSE tail(asked) END
  FOREACH (row IN $rows |
    CREATE (:Change {place: row[0], revision: row[0] / 1048576, seq: row[0] % 1048576, kind: row[1], body: row[2],
                     hash: row[3], rows: row[4]})
  )
  FOREACH (result IN $results |
    CREATE (:Op {request_id: result[0], fingerprint: result[1], revision: result[2], result: result[3]})
  )
)
FOREACH (_ IN CASE WHEN fits AND caught_up THEN [1] ELSE [] END |
  SET head.materialised_revision = $last_revision, head.materialised_place = $last_place
)
RETURN fits, caught_up, store_id, incarnation, revision, hash, at, schema, now, state, note, needs, taken, turn_until,
       coalesce(head.base, 0) AS base

// page_of_rows
// At most $limit rows from $first_place up to $last_place, in order.
MATCH (change:Change)
WHERE $first_place <= change.place <= $last_place
RETURN change.place AS place, change.revision AS revision, change.seq AS seq, change.body AS body, change.hash AS hash
ORDER BY change.place
LIMIT $limit

// tail
// Where the ledger of $realm stands; if that is beyond $after, the last row up to there and at most $limit rows after it.
// The rows come as one list: the driver takes as long for a record of its own as for ten rows in a list.
MATCH (head:Head {realm: $realm})
WITH head.revision AS revision, head.hash AS hash, coalesce(head.needs, '') AS needs, coalesce(head.base, 0) AS base,
     head.base_hash AS base_hash
CALL (revision) {
  WITH revision
  WHERE revision > $after
  CALL () {
    MATCH (change:Change)
    WHERE change.place < $first_place
    RETURN change
    ORDER BY change.place DESC
    LIMIT 1
    UNION ALL
    MATCH (change:Change)
    WHERE $first_place <= change.place <= $last_place
    RETURN change
    ORDER BY change.place
    LIMIT $limit
  }
  RETURN collect([change.place, change.body, change.hash, change.rows]) AS rows
}
RETURN revision, hash, needs, base, base_hash, rows

// rows_to_read
// The row before $first_place, and at most $limit rows from there up to $last_place.
CALL () {
  MATCH (change:Change)
  WHERE change.place < $first_place
  RETURN change
  ORDER BY change.place DESC
  LIMIT 1
  UNION ALL
  MATCH (change:Change)
  WHERE $first_place <= change.place <= $last_place
  RETURN change
  ORDER BY change.place
  LIMIT $limit
}
RETURN change.place AS place, change.revision AS revision, change.seq AS seq, change.body AS body, change.hash AS hash,
       change.rows AS rows

// last_row
// The last row up to $last_place.
MATCH (change:Change)
WHERE change.place <= $last_place
RETURN change.revision AS revision, change.hash AS hash
ORDER BY change.place DESC
LIMIT 1

// lock_head
// Wait for whatever append is under way, keep others waiting, and tell where the ledger then stands.
MATCH (head:Head {realm: $realm})
SET head.lock = $lock
WITH head
RETURN head.revision AS revision, head.hash AS hash, head.materialised_revision AS materialised_revision,
       head.materialised_place AS materialised_place, coalesce(head.needs, '') AS needs,
       coalesce(head.base, 0) AS base, head.base_hash AS base_hash

// result
// What $request_id was answered with.
MATCH (op:Op {request_id: $request_id})
RETURN op.request_id AS request_id, op.fingerprint AS fingerprint, op.revision AS revision, op.result AS result

// receipt
// The revision that last wrote the receipt $ref; the graph only says where to look, the log has it.
MATCH (receipt:Entity {ref: $ref})
RETURN receipt.as_of AS revision
UNION ALL
MATCH (kept:Kept {ref: $ref})
RETURN kept.revision AS revision

// begin_incarnation
// Give the store a new identity, so that nothing issued before is taken for something issued after.
MATCH (head:Head {realm: $realm})
SET head.lock = $store_id
WITH head, CASE WHEN head.incarnation < $after THEN $after ELSE head.incarnation END AS before
WHERE coalesce(head.state, 'ready') <> 'unfinished'
SET head.store_id = $store_id, head.incarnation = before + 1, head.state = 'ready', head.note = ''
RETURN head.incarnation AS incarnation

// results_of
// The answers to $request_ids.
UNWIND $request_ids AS request_id
MATCH (op:Op {request_id: request_id})
RETURN op.request_id AS request_id, op.revision AS revision, op.fingerprint AS fingerprint, op.result AS result

// results_without_command
// Some answers whose command is not in the log, and was not cut off.
MATCH (head:Head)
MATCH (op:Op)
WHERE op.revision > coalesce(head.base, 0) AND NOT EXISTS {
  MATCH (change:Change {place: op.revision * 1048576})
  WHERE change.body CONTAINS op.request_id
}
RETURN op.request_id AS request_id, op.revision AS revision
ORDER BY revision
LIMIT 10

// behind
// How far the graph of $realm is behind its ledger; no row if it is not.
MATCH (head:Head {realm: $realm})
WHERE head.materialised_revision <> head.revision
RETURN head.materialised_revision AS materialised, head.revision AS revision
