"""The boards, a module each. A module here that defines `BOARD` is one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..model import Board

__all__ = ["all_boards"]


def all_boards() -> tuple[Board, ...]:
    """Every board, in the order in which they are looked at."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    boards = (module.BOARD for module in modules if isinstance(getattr(module, "BOARD", None), Board))
    return tuple(sorted(boards, key=lambda board: (board.place, board.id)))
