"""What depends on the case of a departure: the commands, which `domain/drains` has, and what a finding forbids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...domain.acts import NOTHING_FORBIDDEN, Act, Forbids
from ...domain.drains.departure import REMEDIES, Departure
from ...domain.drains.failures import CLASSES
from ...findings.check import Reason

_OF_ANOTHER = {
    **dict.fromkeys(
        ("NotMigratableAfterRequest", "NotMigratableIfDrained", "NotMigratableWhileCordoned"), "NotMigratable"
    ),
    **dict.fromkeys(("PDBIfDrained", "PDBWhileCordoned"), "UserPDB"),
}


_FAILS_AGAIN = Forbids((Act.MIGRATE,), "its next migrations will fail too")
_LASTING = frozenset(each.id for each in CLASSES if each.lasting)


def fails_again(found: Departure) -> bool:
    """Whether each migration of the guest fails in the same way."""
    return found.reason == "MigrationFailing" and found.evidence.get("cause") in _LASTING


def forbidden_by(found: Departure) -> Forbids | None:
    """None where it is what the reason declares."""
    if fails_again(found):
        return _FAILS_AGAIN
    # The controller that manages a VMI with strategy External decides what becomes of its guest.
    return NOTHING_FORBIDDEN if found.remedy.of == ("LegacyTaintIgnored", "External") else None


def remedied(reasons: Mapping[str, Reason]) -> dict[str, Reason]:
    """Each reason whose page has no commands with those of its remedy."""
    return {name: each if each.commands else _remedied(name, each) for name, each in reasons.items()}


def _remedied(name: str, reason: Reason) -> Reason:
    remedy = REMEDIES[_OF_ANOTHER.get(name, name)]
    return replace(reason, commands=remedy.commands, does=remedy.does)
