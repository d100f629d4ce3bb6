// remove_nodes
// Remove some nodes with all their relationships, and tell how many.
MATCH (node)
WITH node
LIMIT 5000
DETACH DELETE node
RETURN count(*) AS removed
