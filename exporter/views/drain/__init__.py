"""Draining nodes: what becomes of each VM on them, what is in the way, and where the others could go.

Pure: it reads the cluster and evaluates; nothing is evicted and nothing is written.
"""

from __future__ import annotations

from ...model.reader import Reading
from .filters import NoSuchNodeError, chosen, selector
from .probing import probed, unsafe, unsettled
from .report import STAYS, TITLES, Drain, NodeReport, Outcome, Reason, VMReport, exit_code
from .view import CHECK, INDEXES, KINDS, draining, steps, take

__all__ = [
    "CHECK",
    "INDEXES",
    "KINDS",
    "READER",
    "STAYS",
    "TITLES",
    "Drain",
    "NoSuchNodeError",
    "NodeReport",
    "Outcome",
    "Reason",
    "VMReport",
    "chosen",
    "draining",
    "exit_code",
    "probed",
    "selector",
    "steps",
    "take",
    "unsafe",
    "unsettled",
]

READER = Reading("drain", KINDS, INDEXES)
