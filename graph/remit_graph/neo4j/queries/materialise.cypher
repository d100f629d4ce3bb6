// entities_end
// Turn current nodes into history: their labels become `Was...`, their ref is free for another.
UNWIND $rows AS row
MATCH (node:Entity {ref: row.ref})
WHERE NOT node:Mentioned
SET node.was_ref = node.ref, node += row.ended
SET node.row_digest = (node.row_digest + row.digest) % $modulus
SET node:Ended:$(row.was_label)
REMOVE node.ref, node:Entity:$(row.label)
WITH row, node.row_digest AS after, row.digest AS added
WITH row.label AS label, row.was_label AS was_label, count(*) AS nodes, sum(after) AS after,
     sum((after - added + $modulus) % $modulus) AS before
UNWIND [{name: label, nodes: -nodes, digest: -before}, {name: was_label, nodes: nodes, digest: after}] AS delta
MERGE (part:Part {name: delta.name})
SET part.count = coalesce(part.count, 0) + delta.nodes, part.digest = coalesce(part.digest, 0) + delta.digest

// entities_put
// Make nodes what the ledger says they are now; return those whose references are other ones than before.
UNWIND $rows AS row
MERGE (node:Entity {ref: row.ref})
WITH row, node, node.row_digest AS before, node.references AS references,
     coalesce(node.revision_from, row.revision) AS revision_from
SET node = row.properties, node.revision_from = revision_from
SET node:$(row.label)
REMOVE node:Mentioned
WITH row.label AS label, sum(CASE WHEN before IS NULL THEN 1 ELSE 0 END) AS nodes,
     sum(row.properties.row_digest - coalesce(before, 0)) AS digest,
     collect(CASE WHEN coalesce(references, '') <> row.properties.references THEN row.ref END) AS changed
MERGE (part:Part {name: label})
SET part.count = coalesce(part.count, 0) + nodes, part.digest = coalesce(part.digest, 0) + digest
RETURN changed

// entities_mention
// Make nodes for principals and resources that are named somewhere, though nobody declared them.
UNWIND $rows AS row
OPTIONAL MATCH (current:Entity {ref: row.ref})
OPTIONAL MATCH (ended:Ended {was_ref: row.ref})
WITH row, current, count(ended) AS ended
WHERE current IS NULL AND ended = 0
MERGE (node:Entity {ref: row.ref})
ON CREATE SET node:Mentioned:$(row.label), node += row.properties

// entities_refer
// Replace what nodes refer to: the current node of that name, else the last ended one.
UNWIND $rows AS row
MATCH (node:Entity {ref: row.ref})
CALL (node) {
  MATCH (node)-[old]->()
  WHERE old.member IS NOT NULL
  DELETE old
}
UNWIND row.references AS reference
OPTIONAL MATCH (current:Entity {ref: reference.ref})
OPTIONAL CALL (reference, current) {
  WITH *
  WHERE current IS NULL
  MATCH (ended:Ended {was_ref: reference.ref})
  RETURN ended
  ORDER BY ended.revision_to DESC
  LIMIT 1
}
WITH node, reference, coalesce(current, ended) AS target
WHERE target IS NOT NULL
CREATE (node)-[:$(reference.type) {member: reference.member}]->(target)

// entities_rest
// Join nodes to the edges that their authority rests on, in the versions of then.
UNWIND $rows AS row
MATCH (node:Entity {ref: row.ref})
UNWIND row.rests_on AS hop
MATCH (edge:Edge {position: hop.position})
CREATE (node)-[:RESTS_ON {position: hop.position, ordinal: hop.ordinal, member: hop.member}]->(edge)

// edges_begin
// Begin versions of edges: the relationship that Cypher walks, and the node that evidence points at.
UNWIND $rows AS row
MERGE (from:Entity {ref: row.from_ref})
ON CREATE SET from:$(row.from_labels), from += row.from_properties
MERGE (to:Entity {ref: row.to_ref})
ON CREATE SET to:$(row.to_labels), to += row.to_properties
CREATE (from)-[edge:$(row.edge)]->(to)
CREATE (from)<-[:FROM]-(node:Edge:$(row.label))-[:TO]->(to)
WITH edge, node, row.properties AS facts
SET edge = facts
SET node = facts {.edge_id, .version, .position, .edge, .from, .to, .scope, .valid_from, .valid_until, .epoch, .issuer,
                  .under, .max_depth, .ownership_epoch, .revision_from, .row_digest, live: facts.edge_id}
WITH facts.edge AS name, count(*) AS edges, sum(facts.row_digest) AS digest
MERGE (part:Part {name: name})
SET part.count = coalesce(part.count, 0) + edges, part.digest = coalesce(part.digest, 0) + digest

// edges_begin_unjoined
// Note versions of edges that name no known type or no ends: they are unique like all others and join nothing.
UNWIND $rows AS row
CREATE (node:Edge:Unjoined)
SET node = row.properties, node.live = row.properties.edge_id

// edges_under
// Join delegations to the right or delegation they were made under.
UNWIND $rows AS row
MATCH (node:Edge {position: row.position})
MATCH (right:Edge {position: row.under})
CREATE (node)-[:UNDER]->(right)

// edges_end
// Move at most $limit of these versions of edges into history; those that are not current are left as they are.
// INVARIANT: one branch for each type of edge, since only a written type is looked up in its index.
UNWIND $rows AS row
MATCH (node:Edge {live: row.edge_id})
WHERE node.version = row.version
WITH row, node
LIMIT $limit
OPTIONAL MATCH (from)<-[:FROM]-(node)-[:TO]->(to)
OPTIONAL CALL (node) {
  WITH node
  WHERE node.edge = 'ACTS_AS'
  MATCH ()-[edge:ACTS_AS {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'AFFECTS'
  MATCH ()-[edge:AFFECTS {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'DELEGATES'
  MATCH ()-[edge:DELEGATES {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'MAY_APPROVE'
  MATCH ()-[edge:MAY_APPROVE {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'MAY_DELEGATE'
  MATCH ()-[edge:MAY_DELEGATE {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'MAY_PREEMPT'
  MATCH ()-[edge:MAY_PREEMPT {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'MAY_READ'
  MATCH ()-[edge:MAY_READ {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'MAY_RECONCILE'
  MATCH ()-[edge:MAY_RECONCILE {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'MAY_REVOKE'
  MATCH ()-[edge:MAY_REVOKE {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'MAY_WRITE'
  MATCH ()-[edge:MAY_WRITE {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'MEMBER_OF'
  MATCH ()-[edge:MEMBER_OF {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'MUST_COORDINATE_WITH'
  MATCH ()-[edge:MUST_COORDINATE_WITH {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'OWNS'
  MATCH ()-[edge:OWNS {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'PART_OF'
  MATCH ()-[edge:PART_OF {edge_id: node.edge_id}]->()
  RETURN edge
  UNION ALL
  WITH node
  WHERE node.edge = 'REPORTS_TO'
  MATCH ()-[edge:REPORTS_TO {edge_id: node.edge_id}]->()
  RETURN edge
}
WITH row, node, from, to, edge, node.row_digest AS before, (node.row_digest + row.digest) % $modulus AS after,
     coalesce(properties(edge), node {.*, live: null}) AS facts
FOREACH (_ IN CASE WHEN from IS NULL THEN [] ELSE [1] END |
  CREATE (from)-[was:$('WAS_' + node.edge)]->(to)
  SET was = facts, was += row.ended, was.row_digest = after
)
SET node += row.ended, node.row_digest = after
REMOVE node.live
DELETE edge
WITH node.edge AS name, from IS NOT NULL AS joined, count(*) AS edges, sum(before) AS before, sum(after) AS after
CALL (name, joined, edges, before, after) {
  WITH *
  WHERE joined
  UNWIND [{name: name, edges: -edges, digest: -before}, {name: 'WAS_' + name, edges: edges, digest: after}] AS delta
  MERGE (part:Part {name: delta.name})
  SET part.count = coalesce(part.count, 0) + delta.edges, part.digest = coalesce(part.digest, 0) + delta.digest
}
RETURN sum(edges) AS ended

// note_materialised
// Note that the graph is where the row at $place left it, and where the whole revision $revision left it.
MATCH (head:Head {realm: $realm})
SET head.materialised_place = $place, head.materialised_revision = $revision
