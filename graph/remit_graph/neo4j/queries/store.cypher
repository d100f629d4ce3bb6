// server
// Name, version and edition of the server.
CALL dbms.components() YIELD name, versions, edition
WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version, edition

// heads
// The ledgers that are in this database.
MATCH (head:Head)
RETURN head.realm AS realm, head.schema AS schema, coalesce(head.needs, '') AS needs
ORDER BY realm

// any_node
// Whether the database holds anything at all.
RETURN EXISTS { MATCH () } AS occupied

// found
// Found a ledger, unless there is one of this realm.
MERGE (head:Head {realm: $realm})
ON CREATE SET head.store_id = $store_id, head.incarnation = $incarnation, head.revision = 0, head.hash = $hash,
              head.at = 0, head.schema = $schema, head.state = $state, head.note = $note, head.needs = $needs,
              head.rows = 0, head.materialised_revision = 0, head.materialised_place = 0
RETURN head.store_id = $store_id AS founded

// constraints
// The uniqueness constraints of the database.
SHOW CONSTRAINTS YIELD type, labelsOrTypes, properties
RETURN type, labelsOrTypes AS names, properties

// indexes
// The range indexes of the database and whether they can be used.
SHOW INDEXES YIELD name, type, state, labelsOrTypes, properties
WHERE type = 'RANGE'
RETURN name, state, labelsOrTypes AS names, properties

// wait_for_indexes
// Return when all indexes can be used.
CALL db.awaitIndexes(60)

// may_write
// Whether the database $name takes writes on the member that answers.
SHOW DATABASES YIELD name, access, writer, currentStatus, home
WHERE name = $name
RETURN access, writer, currentStatus AS status
