// totals_kept
// How many elements of each kind there must be, and the sum of their digests.
MATCH (part:Part)
RETURN part.name AS name, part.count AS count, part.digest AS digest
UNION ALL
MATCH (head:Head)
RETURN 'Change' AS name, head.rows AS count, 0 AS digest

// totals_of_edges
// How many relationships of each type there are, and the sum of the digests they carry.
MATCH ()-[edge:PASSES_TO|ACTS_AS|AFFECTS|DELEGATES|MAY_APPROVE|MAY_DELEGATE|MAY_PREEMPT|MAY_READ|MAY_RECONCILE|MAY_REVOKE
               |MAY_WRITE|MEMBER_OF|MUST_COORDINATE_WITH|OWNS|PART_OF|REPORTS_TO
              |WAS_ACTS_AS|WAS_AFFECTS|WAS_DELEGATES|WAS_MAY_APPROVE|WAS_MAY_DELEGATE|WAS_MAY_PREEMPT|WAS_MAY_READ
               |WAS_MAY_RECONCILE|WAS_MAY_REVOKE|WAS_MAY_WRITE|WAS_MEMBER_OF|WAS_MUST_COORDINATE_WITH|WAS_OWNS
               |WAS_PART_OF|WAS_REPORTS_TO]->()
RETURN type(edge) AS name, count(*) AS count,
       sum(CASE WHEN edge.row_digest IS :: INTEGER AND 0 <= edge.row_digest < $modulus THEN edge.row_digest ELSE 0 END)
         AS digest

// totals_of_entities
// How many current and ended nodes of each label there are, and the sum of the digests they carry.
MATCH (node:Entity|Ended)
WHERE NOT node:Mentioned AND NOT node:Selector
RETURN [label IN labels(node) WHERE NOT label IN ['Entity', 'Ended']][0] AS name, count(*) AS count,
       sum(CASE WHEN node.row_digest IS :: INTEGER AND 0 <= node.row_digest < $modulus THEN node.row_digest ELSE 0 END)
         AS digest

// totals_of_log
// How many rows the log has; answered from the database's own counts.
RETURN 'Change' AS name, COUNT { (:Change) } AS count, 0 AS digest

// edges_to_judge
// Current relationships of $types with the nodes that the ledger made for them: all, or those that differ at sight.
MATCH (from)-[edge:ACTS_AS|AFFECTS|DELEGATES|MAY_APPROVE|MAY_DELEGATE|MAY_PREEMPT|MAY_READ|MAY_RECONCILE|MAY_REVOKE
                  |MAY_WRITE|MEMBER_OF|MUST_COORDINATE_WITH|OWNS|PART_OF|REPORTS_TO]->(to)
WHERE type(edge) IN $types
OPTIONAL MATCH (node:Edge {live: edge.edge_id})
WITH from, edge, to, node, coalesce(from.id, from.key) AS from_name, coalesce(to.id, to.key) AS to_name
WHERE $all OR node IS NULL OR node.edge <> type(edge) OR from_name <> node.from OR to_name <> node.to
      OR coalesce(edge.row_digest, -1) <> node.row_digest
RETURN type(edge) AS type, from_name AS from, to_name AS to, properties(edge) AS properties,
       properties(node) AS node, elementId(edge) AS handle

// past_edges_to_judge
// Relationships of history with the nodes that the ledger made for them: all, or those that differ at sight.
MATCH (from)-[edge:WAS_ACTS_AS|WAS_AFFECTS|WAS_DELEGATES|WAS_MAY_APPROVE|WAS_MAY_DELEGATE|WAS_MAY_PREEMPT|WAS_MAY_READ
                  |WAS_MAY_RECONCILE|WAS_MAY_REVOKE|WAS_MAY_WRITE|WAS_MEMBER_OF|WAS_MUST_COORDINATE_WITH|WAS_OWNS
                  |WAS_PART_OF|WAS_REPORTS_TO]->(to)
WHERE substring(type(edge), 4) IN $types
OPTIONAL MATCH (node:Edge {position: edge.position})
WITH from, edge, to, node, coalesce(from.id, from.key) AS from_name, coalesce(to.id, to.key) AS to_name
WHERE $all OR node IS NULL OR 'WAS_' + node.edge <> type(edge) OR from_name <> node.from OR to_name <> node.to
      OR coalesce(edge.row_digest, -1) <> node.row_digest
RETURN type(edge) AS type, from_name AS from, to_name AS to, properties(edge) AS properties,
       properties(node) AS node, elementId(edge) AS handle

// passes_to_judge
// Relationships PASSES_TO that are not what the edge of their position makes them.
MATCH (upper)-[pass:PASSES_TO]->(lower)
OPTIONAL MATCH (node:Edge {position: pass.position})
WHERE node.live IS NOT NULL
WITH upper, pass, lower, node,
     CASE node.edge WHEN 'DELEGATES' THEN [node.from, node.to] ELSE [node.to, node.from] END AS ends
WHERE node IS NULL OR NOT node.edge IN ['DELEGATES', 'ACTS_AS', 'MEMBER_OF'] OR [upper.id, lower.id] <> ends
      OR coalesce(pass.edge, '') <> node.edge OR coalesce(pass.row_digest, -1) <> node.row_digest
      OR coalesce(pass.valid_from, -1) <> coalesce(node.valid_from, -1)
      OR coalesce(pass.valid_until, -1) <> coalesce(node.valid_until, -1)
RETURN upper.id AS from, lower.id AS to, properties(pass) AS properties, node.position AS position,
       elementId(pass) AS handle

// passes_gone
// Current delegations and memberships without their PASSES_TO.
MATCH (node:Delegation|Membership)
WHERE node.live IS NOT NULL AND NOT EXISTS { ()-[:PASSES_TO {position: node.position}]->() }
RETURN CASE node.edge WHEN 'DELEGATES' THEN node.from ELSE node.to END AS from,
       CASE node.edge WHEN 'DELEGATES' THEN node.to ELSE node.from END AS to, node.position AS position

// edges_gone
// Versions of edges of $types whose relationship is not there, current or past.
MATCH (node:Edge)
WHERE node.edge IN $types AND NOT node:Unjoined
OPTIONAL MATCH (node)-[:FROM]->(from)
OPTIONAL MATCH (node)-[:TO]->(to)
WITH node, from, to, CASE WHEN node.live IS NULL THEN 'WAS_' + node.edge ELSE node.edge END AS type
WHERE NOT EXISTS {
  MATCH (from)-[edge]->(to)
  WHERE type(edge) = type AND edge.position = node.position
}
RETURN type, node.from AS from, node.to AS to, properties(node) AS node

// entities_to_judge
// Current and ended nodes of $labels, or all of them.
MATCH (node:Entity|Ended)
WHERE NOT node:Mentioned AND NOT node:Selector
      AND ($all OR any(label IN labels(node) WHERE label IN $labels))
RETURN labels(node) AS labels, properties(node) AS properties, elementId(node) AS handle

// nodes_beside
// Nodes that bear a label of the graph and were not made by the ledger.
MATCH (node)
WHERE NOT node:Entity|Ended|Edge|Change|Op|Head|Part|Checkpoint|CheckpointPart|Foreign|Kept|Replica
      AND any(label IN labels(node) WHERE label IN $labels)
RETURN labels(node) AS labels, properties(node) AS properties, elementId(node) AS handle

// count_nodes_beside
// How many nodes the ledger did not make; answered from the database's own counts.
RETURN COUNT { (node) } - COUNT { (node:Entity) } - COUNT { (node:Ended) } - COUNT { (node:Edge) }
       - COUNT { (node:Change) } - COUNT { (node:Op) } - COUNT { (node:Head) } - COUNT { (node:Part) }
       - COUNT { (node:Checkpoint) } - COUNT { (node:CheckpointPart) } - COUNT { (node:Foreign) }
       - COUNT { (node:Kept) } - COUNT { (node:Replica) } AS nodes

// changes_of_kinds
// The rows of the log of $kinds, in order; of those that were cut off, the ones that still say how the graph must be.
CALL () {
  MATCH (change:Kept)
  WHERE change.kind IN $kinds
  RETURN change
  UNION ALL
  MATCH (change:Change)
  WHERE change.kind IN $kinds
  RETURN change
}
RETURN change.place AS place, change.revision AS revision, change.body AS body
ORDER BY place

// beginnings
// The rows of the log that began edges in $revision, also where they were cut off.
CALL () {
  MATCH (change:Kept {kind: 'edge.begin', revision: $revision})
  RETURN change
  UNION ALL
  MATCH (change:Change {kind: 'edge.begin', revision: $revision})
  RETURN change
}
RETURN change.body AS body
ORDER BY change.place

// unknown_types
// The types of relationships that the database knows and the ledger does not make.
CALL db.relationshipTypes() YIELD relationshipType AS type
WHERE NOT type IN $known
RETURN type
ORDER BY type

// unknown_edges
// Relationships of $types between nodes of the ledger.
MATCH (from:Entity)-[edge:$any($types)]->(to:Entity)
RETURN type(edge) AS type, coalesce(from.id, from.key, from.ref) AS from, coalesce(to.id, to.key, to.ref) AS to,
       properties(edge) AS properties, elementId(edge) AS handle
