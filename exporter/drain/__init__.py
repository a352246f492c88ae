"""Draining nodes: what becomes of each machine on them, what is in the way, and where the others could go.

Pure: it reads the cluster and judges; nothing is evicted and nothing is written.
"""

from __future__ import annotations

from .choice import NoSuchNodeError, chosen, selector
from .probing import probed, unsafe, unsettled
from .report import STAYS, TITLES, Drain, MachineReport, NodeReport, Outcome, Reason, exit_code
from .view import CHECK, INDEXES, KINDS, draining, steps, take

__all__ = [
    "CHECK",
    "INDEXES",
    "KINDS",
    "STAYS",
    "TITLES",
    "Drain",
    "MachineReport",
    "NoSuchNodeError",
    "NodeReport",
    "Outcome",
    "Reason",
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
