-- turn
-- Whose turn it is, until when, who lined up, and where the ledger stands.
SELECT turn_of, turn_until, turn_asked, revision
FROM head

-- set_turn
-- Note whose turn it is from now on, and who is in line.
UPDATE head
SET turn_of = :turn_of,
    turn_until = :turn_until,
    turn_asked = :turn_asked
