// see_turn
// Whose turn it is to append, until when, and how many others lined up; nobody waits for this, and it waits for nobody.
MATCH (head:Head {realm: $realm})
WITH head, datetime.realtime() AS clock
WITH head, clock.epochSeconds * 1000000 + clock.microsecond AS now
WITH head, now, coalesce(now < head.turn_until, false) AS runs
RETURN runs AND head.turn_of = $writer AS mine, CASE WHEN runs THEN head.turn_until ELSE 0 END AS until, now,
       size([each IN coalesce(head.turn_asked, []) WHERE each <> $writer]) AS waiting, head.revision AS revision

// take_turn
// Line up for the turn, and prolong one's own; where it is nobody's, the first in line has it. One's own that lapsed is over.
// INVARIANT: the lock is taken before anything is read, and the clock is read after the lock was granted.
MATCH (head:Head {realm: $realm})
SET head.lock = $lock
WITH head, datetime.realtime() AS clock
WITH head, clock.epochSeconds * 1000000 + clock.microsecond AS now, coalesce(head.turn_of, '') AS of,
     coalesce(head.turn_asked, []) AS asked
WITH *, coalesce(now < head.turn_until, false) AS runs
WITH *, CASE WHEN runs AND of = $writer THEN [$writer] + [each IN asked WHERE each <> $writer]
             WHEN of <> $writer AND $writer IN asked THEN asked
             ELSE [each IN asked WHERE each <> $writer] + $writer END AS line
FOREACH (_ IN CASE WHEN runs AND of <> $writer THEN [] ELSE [1] END |
  SET head.turn_of = line[0], head.turn_until = now + $turn, head.turn_asked = tail(line)
)
FOREACH (_ IN CASE WHEN runs AND of <> $writer THEN [1] ELSE [] END |
  SET head.turn_asked = line
)
RETURN head.turn_of = $writer AS mine, head.turn_until AS until, now,
       size([each IN coalesce(head.turn_asked, []) WHERE each <> $writer]) AS waiting, head.revision AS revision

// pass_turn
// Give up the turn to the next in line, or only the place in the line.
MATCH (head:Head {realm: $realm})
SET head.lock = $lock
WITH head, datetime.realtime() AS clock
WITH head, clock.epochSeconds * 1000000 + clock.microsecond AS now,
     [each IN coalesce(head.turn_asked, []) WHERE each <> $writer] AS others
WITH *, coalesce(now < head.turn_until AND head.turn_of <> $writer, false) AS taken
FOREACH (_ IN CASE WHEN taken THEN [1] ELSE [] END |
  SET head.turn_asked = others
)
FOREACH (_ IN CASE WHEN taken THEN [] ELSE [1] END |
  SET head.turn_of = others[0], head.turn_until = CASE WHEN others = [] THEN null ELSE now + $turn END,
      head.turn_asked = CASE WHEN others = [] THEN null ELSE tail(others) END
)
RETURN taken
