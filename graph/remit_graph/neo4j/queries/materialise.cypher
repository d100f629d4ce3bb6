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
WITH row[0] AS label, row[1] AS facts
MERGE (node:Entity {ref: facts.ref})
WITH label, facts, node, node.row_digest AS before, node.references AS references,
     coalesce(node.revision_from, facts.as_of) AS revision_from
SET node = facts, node.revision_from = revision_from
SET node:$(label)
REMOVE node:Mentioned
WITH label, sum(CASE WHEN before IS NULL THEN 1 ELSE 0 END) AS nodes,
     sum(facts.row_digest - coalesce(before, 0)) AS digest,
     collect(CASE WHEN coalesce(references, '') <> coalesce(facts.references, '') THEN facts.ref END) AS changed
MERGE (part:Part {name: label})
SET part.count = coalesce(part.count, 0) + nodes, part.digest = coalesce(part.digest, 0) + digest
RETURN changed

// entities_refer
// Replace what nodes refer to: edges in the versions of then, and by name the current node or the last one that ended.
// A principal or resource that nobody declared becomes a node that is merely named.
UNWIND $rows AS row
MATCH (node:Entity {ref: row[0]})
CALL (node) {
  MATCH (node)-[old]->()
  WHERE old.member IS NOT NULL
  DELETE old
}
CALL (node, row) {
  UNWIND row[2] AS hop
  MATCH (edge:Edge {position: hop[0]})
  CREATE (node)-[:RESTS_ON {position: hop[0], ordinal: hop[1], member: hop[2]}]->(edge)
}
UNWIND row[1] AS reference
WITH node, reference[0] AS type, reference[1] AS member, reference[2] AS ref, reference[3] AS label,
     reference[4] AS identity
OPTIONAL MATCH (current:Entity {ref: ref})
OPTIONAL CALL (ref, current) {
  WITH *
  WHERE current IS NULL
  MATCH (ended:Ended {was_ref: ref})
  RETURN ended
  ORDER BY ended.revision_to DESC
  LIMIT 1
}
WITH node, type, member, ref, label, identity, coalesce(current, ended) AS known
OPTIONAL CALL (ref, label, identity, known) {
  WITH *
  WHERE known IS NULL AND label IS NOT NULL
  MERGE (made:Entity {ref: ref})
  ON CREATE SET made:Mentioned:$(label), made += identity
  RETURN made
}
WITH node, type, member, coalesce(known, made) AS target
WHERE target IS NOT NULL
CREATE (node)-[:$(type) {member: member}]->(target)

// edges_begin_to_selectors
// Begin versions of root grants: the relationship that Cypher walks, and the node that evidence points at.
UNWIND $rows AS row
WITH row[0] AS label, row[1] AS facts
MERGE (from:Entity {ref: 'principal/' + facts.from})
ON CREATE SET from:Principal:Mentioned, from.id = facts.from, from.kind = split(facts.from, ':')[0]
MERGE (to:Entity {ref: 'selector/' + facts.to})
ON CREATE SET to:Selector, to.key = facts.to, to.wildcard = '*' IN split(facts.to, ':')
CREATE (from)-[edge:$(facts.edge)]->(to)
CREATE (from)<-[:FROM]-(node:Edge:$(label))-[:TO]->(to)
SET edge = facts
SET node = facts {.edge_id, .version, .position, .edge, .from, .to, .scope, .valid_from, .valid_until, .epoch, .issuer,
                  .under, .max_depth, .ownership_epoch, .revision_from, .row_digest, live: facts.edge_id}
WITH facts.edge AS name, count(*) AS edges, sum(facts.row_digest) AS digest
MERGE (part:Part {name: name})
SET part.count = coalesce(part.count, 0) + edges, part.digest = coalesce(part.digest, 0) + digest

// edges_begin_between_principals
// Begin versions of edges between principals.
// What an upper principal holds PASSES_TO a lower one: along a delegation, and against a membership. It is one relationship
// in one direction, because a path that turns at every edge cannot be searched in bounded time.
UNWIND $rows AS row
WITH row[0] AS label, row[1] AS facts
MERGE (from:Entity {ref: 'principal/' + facts.from})
ON CREATE SET from:Principal:Mentioned, from.id = facts.from, from.kind = split(facts.from, ':')[0]
MERGE (to:Entity {ref: 'principal/' + facts.to})
ON CREATE SET to:Principal:Mentioned, to.id = facts.to, to.kind = split(facts.to, ':')[0]
CREATE (from)-[edge:$(facts.edge)]->(to)
CREATE (from)<-[:FROM]-(node:Edge:$(label))-[:TO]->(to)
SET edge = facts
SET node = facts {.edge_id, .version, .position, .edge, .from, .to, .scope, .valid_from, .valid_until, .epoch, .issuer,
                  .under, .max_depth, .ownership_epoch, .revision_from, .row_digest, live: facts.edge_id}
FOREACH (_ IN CASE WHEN facts.edge = 'DELEGATES' THEN [1] ELSE [] END |
  CREATE (from)-[pass:PASSES_TO]->(to)
  SET pass = facts {.position, .edge, .valid_from, .valid_until, .row_digest}
)
FOREACH (_ IN CASE WHEN facts.edge IN ['ACTS_AS', 'MEMBER_OF'] THEN [1] ELSE [] END |
  CREATE (to)-[pass:PASSES_TO]->(from)
  SET pass = facts {.position, .edge, .valid_from, .valid_until, .row_digest}
)
WITH facts,
     CASE WHEN facts.edge IN ['DELEGATES', 'ACTS_AS', 'MEMBER_OF'] THEN [facts.edge, 'PASSES_TO'] ELSE [facts.edge] END
       AS names
UNWIND names AS name
WITH name, count(*) AS edges, sum(facts.row_digest) AS digest
MERGE (part:Part {name: name})
SET part.count = coalesce(part.count, 0) + edges, part.digest = coalesce(part.digest, 0) + digest

// edges_begin_between_resources
// Begin versions of edges between resources.
UNWIND $rows AS row
WITH row[0] AS label, row[1] AS facts
MERGE (from:Entity {ref: 'resource/' + facts.from})
ON CREATE SET from:Resource:Mentioned, from.key = facts.from
MERGE (to:Entity {ref: 'resource/' + facts.to})
ON CREATE SET to:Resource:Mentioned, to.key = facts.to
CREATE (from)-[edge:$(facts.edge)]->(to)
CREATE (from)<-[:FROM]-(node:Edge:$(label))-[:TO]->(to)
SET edge = facts
SET node = facts {.edge_id, .version, .position, .edge, .from, .to, .scope, .valid_from, .valid_until, .epoch, .issuer,
                  .under, .max_depth, .ownership_epoch, .revision_from, .row_digest, live: facts.edge_id}
WITH facts.edge AS name, count(*) AS edges, sum(facts.row_digest) AS digest
MERGE (part:Part {name: name})
SET part.count = coalesce(part.count, 0) + edges, part.digest = coalesce(part.digest, 0) + digest

// edges_begin_unjoined
// Note versions of edges that name no known type or no ends: they are unique like all others and join nothing.
UNWIND $rows AS row
WITH row[0] AS label, row[1] AS facts
CREATE (node:Edge:$(label))
SET node = facts, node.live = facts.edge_id

// edges_under
// Join delegations to the right or delegation they were made under.
UNWIND $rows AS row
MATCH (node:Edge {position: row[0]})
MATCH (right:Edge {position: row[1]})
CREATE (node)-[:UNDER]->(right)

// edges_end
// Move at most $limit of these versions of edges into history; those that are not current are left as they are.
// INVARIANT: one branch for each type of edge, since only a written type is looked up in its index.
UNWIND $rows AS row
WITH row[0] AS ended, row[1] AS added, row[2] AS edges
UNWIND edges AS each
MATCH (node:Edge {live: each[0]})
WHERE node.version = each[1]
WITH node, ended, added
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
OPTIONAL MATCH ()-[pass:PASSES_TO {position: node.position}]->()
WITH node, ended, from, to, edge, pass, node.row_digest AS before, (node.row_digest + added) % $modulus AS after,
     coalesce(properties(edge), node {.*, live: null}) AS facts
FOREACH (_ IN CASE WHEN from IS NULL THEN [] ELSE [1] END |
  CREATE (from)-[was:$('WAS_' + node.edge)]->(to)
  SET was = facts, was += ended, was.row_digest = after
)
SET node += ended, node.row_digest = after
REMOVE node.live
DELETE edge, pass
WITH node.edge AS name, from IS NOT NULL AS joined, count(*) AS edges, sum(before) AS before, sum(after) AS after
CALL (name, joined, edges, before, after) {
  WITH *,
       CASE WHEN name IN ['DELEGATES', 'ACTS_AS', 'MEMBER_OF']
         THEN [{name: 'PASSES_TO', edges: -edges, digest: -before}] ELSE [] END AS passed
  WHERE joined
  UNWIND [{name: name, edges: -edges, digest: -before}, {name: 'WAS_' + name, edges: edges, digest: after}] + passed
    AS delta
  MERGE (part:Part {name: delta.name})
  SET part.count = coalesce(part.count, 0) + delta.edges, part.digest = coalesce(part.digest, 0) + delta.digest
}
RETURN sum(edges) AS ended

// note_materialised
// Note that the graph is where the row at $place left it, and where the whole revision $revision left it.
MATCH (head:Head {realm: $realm})
SET head.materialised_place = $place, head.materialised_revision = $revision
