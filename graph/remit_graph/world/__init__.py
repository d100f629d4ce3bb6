"""World files: read, judged as a whole, compared with the graph, and written back."""

from remit_graph.world.changes import changes_of, iter_changes
from remit_graph.world.check import Finding, check_world
from remit_graph.world.diff import Difference, diff_worlds, summary
from remit_graph.world.dump import dump_world
from remit_graph.world.load import load_world, load_world_file
from remit_graph.world.plan import MAX_DIFFERENCES, Plan, plan_world
from remit_graph.world.rebase import History
from remit_graph.world.schema import world_schema
from remit_graph.world.source import Problem, WorldRefused
from remit_graph.world.value import Epochs, World

__all__ = [
    "MAX_DIFFERENCES",
    "Difference",
    "Epochs",
    "Finding",
    "History",
    "Plan",
    "Problem",
    "World",
    "WorldRefused",
    "changes_of",
    "check_world",
    "diff_worlds",
    "dump_world",
    "iter_changes",
    "load_world",
    "load_world_file",
    "plan_world",
    "summary",
    "world_schema",
]
