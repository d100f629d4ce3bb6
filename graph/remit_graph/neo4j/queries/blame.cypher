// results_there
// Which of $request_ids were appended before.
UNWIND $request_ids AS request_id
MATCH (op:Op {request_id: request_id})
RETURN op.request_id AS request_id

// edges_there
// Which of $positions were made before, and which versions of $edge_ids are current.
CALL () {
  UNWIND $positions AS position
  MATCH (edge:Edge {position: position})
  RETURN edge
  UNION
  UNWIND $edge_ids AS edge_id
  MATCH (edge:Edge {live: edge_id})
  RETURN edge
}
RETURN edge.edge_id AS edge_id, edge.version AS version, edge.live IS NOT NULL AS current

// foreign_named
// Relationships and nodes beside the ledger that bear the names of $edge_ids, $principals, $resources or $selectors.
CALL () {
  MATCH ()-[edge:ACTS_AS|AFFECTS|DELEGATES|MAY_APPROVE|MAY_DELEGATE|MAY_PREEMPT|MAY_READ|MAY_RECONCILE|MAY_REVOKE|MAY_WRITE|MEMBER_OF|MUST_COORDINATE_WITH|OWNS|PART_OF|REPORTS_TO]->()
  WHERE edge.edge_id IN $edge_ids AND NOT EXISTS { (:Edge {live: edge.edge_id}) }
  RETURN edge.edge_id AS name
  UNION
  MATCH (node:Principal)
  WHERE node.id IN $principals AND node.ref IS NULL
  RETURN node.id AS name
  UNION
  MATCH (node:Resource)
  WHERE node.key IN $resources AND node.ref IS NULL
  RETURN node.key AS name
  UNION
  MATCH (node:Selector)
  WHERE node.key IN $selectors AND node.ref IS NULL
  RETURN node.key AS name
}
RETURN name
