"""`steward version`: which steward this is."""

from __future__ import annotations

import argparse

from ...version import installed
from ..output.text.terminal import say


def run(_: argparse.Namespace) -> int:
    say(f"steward {installed()}\n")
    return 0
