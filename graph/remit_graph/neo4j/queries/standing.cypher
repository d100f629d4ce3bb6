// finish
// Let an unfinished ledger be used, if it stands where its filler left it.
MATCH (head:Head {realm: $realm})
SET head.lock = $lock
WITH head, head.state = 'unfinished' AND head.store_id = $store_id AND head.revision = $revision
           AND head.hash = $hash AS fits
FOREACH (_ IN CASE WHEN fits THEN [1] ELSE [] END |
  SET head.state = 'ready', head.note = ''
)
RETURN fits AS done

// move_away
// Close the ledger, which goes on at $note.
MATCH (head:Head {realm: $realm})
SET head.lock = $lock
WITH head, coalesce(head.state, 'ready') AS state
WITH head, state = 'ready' OR (state = 'moved' AND head.note = $note) AS fits
FOREACH (_ IN CASE WHEN fits THEN [1] ELSE [] END |
  SET head.state = 'moved', head.note = $note
)
RETURN fits AS done

// enable_schema
// Let rows be written in a later schema.
MATCH (head:Head {realm: $realm})
SET head.lock = $lock
WITH head, head.schema < $schema AND coalesce(head.state, 'ready') = 'ready' AS fits
FOREACH (_ IN CASE WHEN fits THEN [1] ELSE [] END |
  SET head.schema = $schema, head.needs = $version
)
RETURN fits AS done

// announce
// Note that a decision point uses the ledger, and forget those that were not seen for $forgotten_after microseconds.
MERGE (replica:Replica {name: $name})
WITH replica, datetime.realtime() AS clock
WITH replica, clock.epochSeconds * 1000000 + clock.microsecond AS now
SET replica.version = $version, replica.schema = $schema, replica.seen_at = now
WITH now
MATCH (old:Replica)
WHERE old.seen_at < now - $forgotten_after
DELETE old

// depart
// Forget a decision point that stops.
MATCH (replica:Replica {name: $name})
DELETE replica

// seen
// The decision points that were seen in the last $within microseconds.
MATCH (replica:Replica)
WITH replica, datetime.realtime() AS clock
WHERE replica.seen_at >= clock.epochSeconds * 1000000 + clock.microsecond - $within
RETURN replica.name AS name, replica.version AS version, replica.schema AS schema, replica.seen_at AS seen_at
ORDER BY name
