"""Preview of a drain: the departure of each VM on the nodes, and which other nodes have room for it.

Pure: nothing is evicted and nothing is written. Whether a VM leaves is evaluated by `model/departure` alone.
"""

from __future__ import annotations

from .probing import probed, unsafe, unsettled
from .report import LEAVES, STAYS, TITLES, Drain, NodeReport, VMReport, exit_code
from .view import CHECK, INDEXES, KINDS, READER, NoSuchNodeError, chosen_nodes, draining, node_names, steps, take

__all__ = [
    "CHECK",
    "INDEXES",
    "KINDS",
    "LEAVES",
    "READER",
    "STAYS",
    "TITLES",
    "Drain",
    "NoSuchNodeError",
    "NodeReport",
    "VMReport",
    "chosen_nodes",
    "draining",
    "exit_code",
    "node_names",
    "probed",
    "steps",
    "take",
    "unsafe",
    "unsettled",
]
