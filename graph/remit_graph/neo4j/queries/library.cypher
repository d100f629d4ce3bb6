// chains_to
// A shortest chain to $principal_id from each holder of a root grant, live at $at: the grant, then edges from root to leaf.
// INVARIANT: the literal 16 is MAX_CHAIN_HOPS; Cypher takes no parameter in a length bound.
MATCH (subject:Principal {id: $principal_id})
CALL (subject) {
  MATCH (holder:Principal)-[passes:PASSES_TO*0..16]->(subject)
  WHERE all(pass IN passes
            WHERE coalesce(pass.valid_from <= $at, true) AND coalesce($at < pass.valid_until, true))
  RETURN DISTINCT holder
}
WITH subject, holder
WHERE EXISTS { (holder)-[:OWNS|MAY_READ|MAY_WRITE|MAY_APPROVE|MAY_RECONCILE]->() }
MATCH path = SHORTEST 1 (holder)
  ((upper)-[hands:PASSES_TO WHERE hands.edge <> 'MEMBER_OF' AND coalesce(hands.valid_from <= $at, true)
    AND coalesce($at < hands.valid_until, true)]->(lower)){0,16}
  (user:Principal)
  ((group)-[joins:PASSES_TO WHERE joins.edge <> 'DELEGATES' AND coalesce(joins.valid_from <= $at, true)
    AND coalesce($at < joins.valid_until, true)]->(member)){0,16}
  (subject)
WITH holder, [pass IN relationships(path) | pass.position] AS hops
WHERE size(hops) < 16
MATCH (holder)-[grant:OWNS|MAY_READ|MAY_WRITE|MAY_APPROVE|MAY_RECONCILE]->(selector:Selector)
WHERE coalesce(grant.valid_from <= $at, true) AND coalesce($at < grant.valid_until, true)
RETURN grant.position AS grant, type(grant) AS type, selector.key AS selector, hops
ORDER BY size(hops), grant

// live_delegations
// Delegations that $principal_id made or received, live at $at, with the right that each was made under.
MATCH (principal:Principal {id: $principal_id})-[delegation:DELEGATES]-()
WHERE coalesce(delegation.valid_from <= $at, true) AND coalesce($at < delegation.valid_until, true)
RETURN delegation.position AS position, delegation.from AS from, delegation.to AS to, delegation.under AS under,
       delegation.max_depth AS max_depth, delegation.scope AS scope
ORDER BY position

// grants_on
// Root grants whose selector covers the resource key $key by its segments, live at $at.
WITH split($key, ':') AS segments
CALL (segments) {
  UNWIND range(1, size(segments)) AS length
  WITH reduce(text = segments[0], place IN range(1, length - 1) | text + ':' + segments[place]) AS prefix
  MATCH (selector:Selector {key: prefix})
  RETURN selector
  UNION
  MATCH (selector:Selector {wildcard: true})
  WITH segments, selector, split(selector.key, ':') AS parts
  WHERE size(parts) <= size(segments)
        AND all(place IN range(0, size(parts) - 1) WHERE parts[place] IN ['*', segments[place]])
  RETURN selector
}
MATCH (holder:Principal)-[grant:OWNS|MAY_READ|MAY_WRITE|MAY_APPROVE|MAY_RECONCILE]->(selector)
WHERE coalesce(grant.valid_from <= $at, true) AND coalesce($at < grant.valid_until, true)
RETURN grant.position AS position, type(grant) AS type, holder.id AS holder, selector.key AS selector,
       grant.scope_actions AS actions, grant.scope_fields AS fields
ORDER BY position

// reach_of
// Every principal that can use what $principal_id holds or was delegated, live at $at.
// INVARIANT: the literal 16 is MAX_CHAIN_HOPS; Cypher takes no parameter in a length bound.
MATCH (holder:Principal {id: $principal_id})
CALL (holder) {
  MATCH (holder)-[hands:PASSES_TO*0..16]->(user:Principal)
  WHERE all(pass IN hands
            WHERE pass.edge <> 'MEMBER_OF' AND coalesce(pass.valid_from <= $at, true)
                  AND coalesce($at < pass.valid_until, true))
  RETURN DISTINCT user
}
CALL (user) {
  MATCH (user)-[joins:PASSES_TO*0..16]->(subject:Principal)
  WHERE all(pass IN joins
            WHERE pass.edge <> 'DELEGATES' AND coalesce(pass.valid_from <= $at, true)
                  AND coalesce($at < pass.valid_until, true))
  RETURN DISTINCT subject
}
RETURN DISTINCT subject.id AS principal
ORDER BY principal

// made_under
// What was made under the right or delegation $position, directly or further down, current and ended.
MATCH (right:Edge {position: $position})
MATCH (right)<-[:UNDER*1..16]-(delegation:Edge)
RETURN DISTINCT delegation.position AS position, delegation.from AS from, delegation.to AS to,
       delegation.revision_from AS revision_from, delegation.revision_to AS revision_to
ORDER BY position

// rests_on_edge
// What rested on any version of the edge $edge_id, or on what was made under it: leases, capabilities, receipts.
MATCH (edge:Edge {edge_id: $edge_id})
MATCH (edge)<-[:UNDER*0..16]-(below:Edge)<-[rests:RESTS_ON]-(evidence)
RETURN coalesce(evidence.ref, evidence.was_ref) AS evidence, rests.position AS position
ORDER BY evidence, position

// origin_of
// The edges that $ref (`lease/l-1`, `receipt/r-1`) rests on, root first, in the versions of then.
MATCH (evidence:Entity|Ended)
WHERE evidence.ref = $ref OR evidence.was_ref = $ref
MATCH (evidence)-[rests:RESTS_ON]->(edge:Edge)
RETURN edge.position AS position, edge.edge AS type, edge.from AS from, edge.to AS to, edge.scope AS scope,
       edge.revision_from AS revision_from, edge.revision_to AS revision_to, edge.ended_by AS ended_by
ORDER BY rests.member, rests.ordinal

// history_of_edge
// Every version of the edge $edge_id, when it began and how it ended.
MATCH (edge:Edge {edge_id: $edge_id})
RETURN edge.position AS position, edge.edge AS type, edge.from AS from, edge.to AS to, edge.scope AS scope,
       edge.revision_from AS revision_from, edge.revision_to AS revision_to, edge.ended_by AS ended_by,
       edge.ended_at AS ended_at
ORDER BY edge.version

// edges_at
// The versions of edges that were current at $revision.
MATCH (edge:Edge)
WHERE edge.revision_from <= $revision AND coalesce($revision < edge.revision_to, true)
RETURN edge.position AS position, edge.edge AS type, edge.from AS from, edge.to AS to
ORDER BY position

// edges_changed
// The versions of edges that began or ended after $after up to $until.
MATCH (edge:Edge)
WHERE $after < edge.revision_from <= $until OR $after < edge.revision_to <= $until
RETURN edge.position AS position, edge.edge AS type, edge.from AS from, edge.to AS to,
       edge.revision_from AS revision_from, edge.revision_to AS revision_to
ORDER BY position

// leases_on
// Leases that were given on the resource key $key, current and ended, oldest first.
MATCH (lease:Lease|WasLease)-[:RESOURCE]->(resource:Resource|WasResource)
WHERE resource.key = $key
RETURN lease.id AS lease_id, lease.holder AS holder, lease.revision_from AS revision_from,
       lease.revision_to AS revision_to, lease.ended_status AS status
ORDER BY lease.revision_from, lease_id
