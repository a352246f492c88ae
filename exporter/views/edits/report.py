"""The answers to dry-run edits, in the shape that `steward check` and `steward impact` share with their JSON."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import UnsetType

from ...store.record import Ref

_NAMED = 20  # VMs without an answer


class EditProbed(msgspec.Struct, frozen=True, rename="camel"):
    """One VM: what is `expected` of an edit, `taken` or `refused`, and by which features; what the API server `said`,
    taken, refused, forbidden, gone or unclear, and its `answer` in its own words. Where that differs `advice` says what
    to do, and where it `contradicts` one of the two is wrong about a feature.
    """

    vm: Ref
    expected: str
    features: tuple[str, ...]
    said: str
    answer: str
    differs: bool
    contradicts: bool
    advice: str


class EditProbes(msgspec.Struct, frozen=True, rename="camel"):
    """`agree` counts the answers that are as expected, `differences` are the others, and `unanswered` the VMs of which
    nothing was said, the first of them; `unanswered_in_all` counts them. `not_asked` counts the VMs that nobody asked
    for, and `why` says why, or why nobody was asked at all.
    """

    asked: int
    agree: int
    differences: tuple[EditProbed, ...]
    unanswered: tuple[EditProbed, ...]
    unanswered_in_all: int
    not_asked: int
    why: str


_ANSWERS = ("taken", "refused")


def summed(probes: Iterable[EditProbed], not_asked: int, why: str) -> EditProbes:
    every = tuple(probes)
    differences = tuple(each for each in every if each.differs)
    unanswered = tuple(each for each in every if each.said not in _ANSWERS)
    return EditProbes(
        asked=len(every),
        agree=len(every) - len(differences) - len(unanswered),
        differences=tuple(sorted(differences, key=lambda each: (not each.contradicts, each.vm))),
        unanswered=unanswered[:_NAMED],
        unanswered_in_all=len(unanswered),
        not_asked=not_asked,
        why=why,
    )


def unsettled(probes: EditProbes | UnsetType) -> bool:
    """Whether an answer contradicts, or whether there was none where one was wanted."""
    if isinstance(probes, UnsetType):
        return False
    unclear = any(each.said != "gone" for each in probes.unanswered)
    return unclear or any(each.contradicts for each in probes.differences) or (bool(probes.why) and not probes.asked)
