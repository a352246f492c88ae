"""In which order repairs get their turn: namespace by namespace, so that who has most of them does not get all writes.

A namespace's turn is how many writes it had within the last day, and how many of its repairs come before. Of one turn
the worst finding comes first, then the oldest. So a namespace that always has something to repair waits for one that
has something for the first time, however bad its findings are. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .context import Candidate

_RANK = {"critical": 0, "warning": 1, "info": 2}


def in_turn(
    candidates: Iterable[Candidate], writable: Callable[[Candidate], bool], written: Mapping[str, int]
) -> list[Candidate]:
    """What can't be written takes nobody's turn; `written` has the writes of the last day by namespace."""
    turns: Counter[str] = Counter(written)
    found = []
    for candidate in sorted(candidates, key=_urgency):
        namespace = candidate.found.namespace
        found.append((turns[namespace], candidate))
        turns[namespace] += writable(candidate)
    found.sort(key=lambda each: each[0])
    return [candidate for _, candidate in found]


def _urgency(candidate: Candidate) -> tuple[Any, ...]:
    found = candidate.found
    since = found.since if found.since is not None else float("inf")
    return _RANK.get(found.severity, 3), since, found.hint.subject, candidate.remediation.id
