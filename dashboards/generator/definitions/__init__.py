"""The boards, a module each, in the order in which they are looked at."""

from __future__ import annotations

from ..model import Board
from . import clusters, evictions, features, fleet, identity, instancetypes, namespace, networks, repairs, steward, vm

__all__ = ["all_boards"]


def all_boards() -> tuple[Board, ...]:
    modules = (fleet, clusters, identity, networks, evictions, features, instancetypes, repairs, vm, namespace, steward)
    return tuple(module.BOARD for module in modules)
