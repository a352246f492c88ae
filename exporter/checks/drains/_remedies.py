"""The commands of reasons that depend on the case: `domain/drains` has them, and the reason has the usual ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...domain.drains.departure import REMEDIES
from ...findings.check import Reason

_OF_ANOTHER = {
    **dict.fromkeys(
        ("NotMigratableAfterRequest", "NotMigratableIfDrained", "NotMigratableWhileCordoned"), "NotMigratable"
    ),
    **dict.fromkeys(("PDBIfDrained", "PDBWhileCordoned"), "UserPDB"),
}


def remedied(reasons: Mapping[str, Reason]) -> dict[str, Reason]:
    """Each reason whose page has no commands with those of its remedy."""
    return {name: each if each.commands else _remedied(name, each) for name, each in reasons.items()}


def _remedied(name: str, reason: Reason) -> Reason:
    remedy = REMEDIES[_OF_ANOTHER.get(name, name)]
    return replace(reason, commands=remedy.commands, does=remedy.does)
