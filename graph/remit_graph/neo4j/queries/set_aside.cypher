// keep_foreign
// Keep what was found past the ledger, before it is taken out of the graph.
UNWIND $rows AS row
CREATE (:Foreign {slip: row.slip, kind: row.kind, name: row.name, properties: row.properties, record: row.record,
                  set_aside_at: datetime.realtime().epochMillis * 1000})

// foreign_kept
// What was taken out of the graph, oldest first.
MATCH (foreign:Foreign)
WHERE foreign.slip IS NOT NULL
RETURN foreign.slip AS slip, foreign.kind AS kind, foreign.name AS name, foreign.properties AS properties,
       foreign.record AS record
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
MATCH (node:Edge {position: row.position})
OPTIONAL MATCH (node)-[wrong:FROM|TO]->()
DELETE wrong
WITH DISTINCT row, node
MERGE (from:Entity {ref: row.from_ref})
ON CREATE SET from:$(row.from_labels), from += row.from_properties
MERGE (to:Entity {ref: row.to_ref})
ON CREATE SET to:$(row.to_labels), to += row.to_properties
CREATE (from)-[edge:$(row.type)]->(to)
CREATE (from)<-[:FROM]-(node)
CREATE (to)<-[:TO]-(node)
SET edge = row.properties

// entities_restore
// Make current nodes again what the ledger says.
UNWIND $rows AS row
MERGE (node:Entity {ref: row.ref})
WITH row, node, coalesce(node.revision_from, row.revision) AS revision_from
SET node = row.properties, node.revision_from = revision_from
SET node:$(row.label)
REMOVE node:Mentioned
