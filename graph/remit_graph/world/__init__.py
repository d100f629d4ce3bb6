"""World files: read, judged as a whole, compared with the graph, and written back."""

from remit_graph.world.changes import changes_of
from remit_graph.world.load import load_world, load_world_file
from remit_graph.world.source import Problem, WorldRefused
from remit_graph.world.value import Epochs, World

__all__ = ["Epochs", "Problem", "World", "WorldRefused", "changes_of", "load_world", "load_world_file"]
