"""Completions of the whole command line for the shells that people have, made of its parser."""

from __future__ import annotations

import argparse

from .bash import bash
from .fish import fish
from .tree import tree
from .zsh import zsh

__all__ = ["SHELLS", "completion"]

SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def completion(shell: str, parser: argparse.ArgumentParser) -> str:
    """A script for one of SHELLS."""
    return SHELLS[shell](tuple(tree(parser)))
