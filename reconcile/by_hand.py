"""The ledger of what people did in the sidecar's pod, beside the sidecar's own, which only the sidecar writes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from .ledger import Event, Ledger, LedgerError

__all__ = ["ByHand", "folder"]


def folder(directory: Path) -> Path:
    """Where it is, by the directory of the sidecar's ledger."""
    return directory / "by-hand"


class ByHand:
    """How many repairs were taken back, by remediation; read again once something was written."""

    def __init__(self, directory: Path) -> None:
        self._folder = folder(directory)
        self._size = 0
        self._undone: Counter[str] = Counter()

    def undone(self) -> Counter[str]:
        try:
            size = sum(each.stat().st_size for each in self._folder.glob("*.jsonl"))
            if size != self._size:
                self._undone, self._size = self._counted(), size
        except (OSError, LedgerError):
            return self._undone  # it is for the metric alone; `ledger --verify` says what is wrong with it
        return self._undone

    def _counted(self) -> Counter[str]:
        remediations: dict[str, str] = {}
        found: Counter[str] = Counter()
        for entry in Ledger.read(self._folder):
            if entry.event is Event.INTENDED and entry.undoes and entry.plan is not None:
                remediations[entry.attempt] = entry.plan.remediation
            elif entry.event is Event.DONE and entry.attempt in remediations:
                found[remediations[entry.attempt]] += 1
        return found
