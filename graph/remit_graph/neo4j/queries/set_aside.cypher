// keep_foreign
// Keep what was found past the ledger, before it is taken out of the graph.
UNWIND $rows AS row
CREATE (:Foreign {slip: row.slip, kind: row.kind, name: row.name, properties: row.properties, record: row.record,
                  edit_id: row.edit_id, set_aside_by: row.by, reason: row.reason,
                  set_aside_at: datetime.realtime().epochMillis * 1000})

// foreign_kept
// What was taken out of the graph, oldest first.
MATCH (foreign:Foreign)
WHERE foreign.slip IS NOT NULL
RETURN foreign.slip AS slip, foreign.kind AS kind, foreign.name AS name, foreign.properties AS properties,
       foreign.record AS record, foreign.edit_id AS edit_id, foreign.set_aside_by AS set_aside_by,
       foreign.reason AS reason, foreign.set_aside_at AS set_aside_at
ORDER BY foreign.set_aside_at, kind, name

// take_edges_out
// Delete relationships by the handles under which they were found just now.
UNWIND $handles AS handle
MATCH ()-[edge]->()
WHERE elementId(edge) = handle
DELETE edge

// claim_nodes
// Make nodes that were put in by hand nodes that something merely names: what they said of themselves is dropped.
UNWIND $rows AS row
MATCH (node)
WHERE elementId(node) = row.handle
SET node = row.properties
SET node.ref = row.ref
SET node:Entity:$(row.labels)

// disown_nodes
// Take the labels of the graph from nodes that were put in by hand.
UNWIND $rows AS row
MATCH (node)
WHERE elementId(node) = row.handle
SET node:Foreign
REMOVE node:$(row.label)

// edges_to_restore
// The nodes of edges at $positions.
UNWIND $positions AS position
MATCH (node:Edge {position: position})
RETURN position, properties(node) AS node

// edges_restore
// Put relationships of edges back between the ends that the ledger gave them.
UNWIND $rows AS row
WITH row[0] AS type, row[1] AS facts
MATCH (from)<-[:FROM]-(:Edge {position: facts.position})-[:TO]->(to)
CREATE (from)-[edge:$(type)]->(to)
SET edge = facts

// passes_restore
// Put PASSES_TO back along delegations and memberships at $positions.
UNWIND $positions AS position
MATCH (from)<-[:FROM]-(node:Edge {position: position})-[:TO]->(to)
WITH node, CASE node.edge WHEN 'DELEGATES' THEN [from, to] ELSE [to, from] END AS ends
WITH node, ends[0] AS upper, ends[1] AS lower
CREATE (upper)-[pass:PASSES_TO]->(lower)
SET pass = node {.position, .edge, .valid_from, .valid_until, .row_digest}

// entities_restore
// Make current nodes again what the ledger says.
UNWIND $rows AS row
WITH row[0] AS label, row[1] AS facts
MERGE (node:Entity {ref: facts.ref})
WITH label, facts, node, coalesce(node.revision_from, facts.as_of) AS revision_from
SET node = facts, node.revision_from = revision_from
SET node:$(label)
REMOVE node:Mentioned
