"""What an interleaving is about: one area of the product each, so that none costs more for the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from reconcile.confirm.confirm import Hint

from . import firmware, instancetypes, marks, people, revisions, saving, scenarios
from .people import Act
from .platform import Platform
from .strangers import OF_CLAIMS
from .world import World

__all__ = ["AREAS", "Area", "drawn"]


@dataclass(frozen=True)
class Area:
    """`begin` makes what there is, `acts` are what people and others do with it; `hint` is a remediation with what may
    have been found by then, None where there is nothing of the kind.
    """

    name: str
    share: float  # of the interleavings
    begin: Callable[[World, Platform, Random], None]
    acts: tuple[Act, ...]
    hint: Callable[[World, Random], tuple[str, Hint] | None]


_SAVING = (saving.snapshot, saving.restore, saving.restored_from_outside, saving.clone, saving.backup)
AREAS = (
    Area("claims", 0.45, scenarios.begin, (*people.ACTS, *OF_CLAIMS, *_SAVING), scenarios.claim_hint),
    Area("firmware", 0.2, firmware.begin, (*firmware.ACTS, *_SAVING), firmware.hint),
    Area("marks", 0.1, marks.begin, (*marks.ACTS, *_SAVING), marks.hint),
    Area("instancetypes", 0.15, instancetypes.begin, instancetypes.ACTS, instancetypes.hint),
    Area("revisions", 0.1, revisions.begin, revisions.ACTS, revisions.hint),
)


def drawn(rng: Random, name: str = "") -> Area:
    """One of them, or that of the name."""
    if name:
        return next(each for each in AREAS if each.name == name)
    return rng.choices(AREAS, [each.share for each in AREAS])[0]
