"""Differences of findings on their way to those who listen: a partition may find thousands at once, and each of them
costs every listener a little.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TypeAlias

from ..findings.finding import Finding

_Slice: TypeAlias = tuple[tuple[Finding, ...], tuple[Finding, ...]]
"""What is gone and what has come; a changed finding is in both."""

_MOST = 250  # fingerprints between two looks at the event loop: a few milliseconds of all listeners


class Outgoing:
    def __init__(self) -> None:
        self._slices: deque[_Slice] = deque()

    def __bool__(self) -> bool:
        """Whether there is a slice that was not taken."""
        return bool(self._slices)

    def add(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        """Takes in a batch. What there is of one fingerprint stays in one slice: else what has changed would be closed
        in one and opened in another.
        """
        gone, come = tuple(gone), tuple(come)
        if len(gone) + len(come) <= _MOST:
            if gone or come:
                self._slices.append((gone, come))
            return
        slice_of: dict[str, int] = {}
        for finding in (*gone, *come):
            slice_of.setdefault(finding.fingerprint, len(slice_of) // _MOST)
        slices: list[tuple[list[Finding], list[Finding]]] = [([], []) for _ in range(-(-len(slice_of) // _MOST))]
        for side, findings in enumerate((gone, come)):
            for finding in findings:
                slices[slice_of[finding.fingerprint]][side].append(finding)
        self._slices += ((tuple(gone), tuple(come)) for gone, come in slices)

    def take(self) -> _Slice:
        """The next slice, in the order in which they came; empty where there is none."""
        return self._slices.popleft() if self._slices else ((), ())
