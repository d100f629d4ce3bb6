"""The ledger in Neo4j: the system of record of production, with the graph as nodes and relationships."""

from remit_graph.drift import Finding, Slip
from remit_graph.neo4j.ledger import Neo4jLedger
from remit_graph.neo4j.options import Neo4jOptions

__all__ = ["Finding", "Neo4jLedger", "Neo4jOptions", "Slip"]
