"""Which member of a group should keep the UUID.

Whether anything outside identifies a VM by its UUID can't be seen, and does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from math import inf
from typing import Any, NamedTuple

from ....domain.identity.firmware import legacy
from .members import Member

_TPM = "persistent TPM"


class KeeperChoice(NamedTuple):
    """Which one should keep the UUID, and why; without a keeper, why none is proposed."""

    keeper: Member | None
    why: str


def keeps_state(member: Member) -> bool:
    """Whether a new UUID loses what it keeps under the old one. EFI variables are kept under the VM's name."""
    return _TPM in (member.vm.sealed if member.vm else "", member.vmi.sealed if member.vmi else "")


def brought_from_elsewhere(member: Member) -> bool:
    """Whether it was restored from a snapshot or a backup, most likely with its UUID."""
    return member.vm is not None and member.vm.origin in ("restore", "backup")


def _critical(member: Member) -> bool:
    return member.vm is not None and member.vm.critical


# In their order: what speaks for a member (the least value wins), and how that is said.
_ORDER: tuple[tuple[Callable[[Member, str], Any], str], ...] = (
    (lambda one, _: not keeps_state(one), "a new UUID empties its persistent TPM"),
    (lambda one, _: not _critical(one), "its priority class is critical"),
    (lambda one, _: not one.runs, "it runs"),
    (lambda one, _: brought_from_elsewhere(one), "it was not restored from a snapshot or a backup"),
    (lambda one, uuid: legacy(one.record.name) != uuid, "the UUID is derived from its own name"),
    (lambda one, _: one.record.created or inf, "it is the oldest"),
    (lambda one, _: one.place, "it is the first by name"),
)


def keeper(members: Sequence[Member], uuid: str) -> Generator[None, None, KeeperChoice]:
    """Returns the proposal for those that share a UUID, with pauses; none where two of them would lose something with
    a new one.
    """
    if sum(map(keeps_state, members)) > 1:
        return KeeperChoice(None, "more than one has a persistent TPM, which a new UUID empties")
    if sum(map(_critical, members)) > 1:
        return KeeperChoice(None, "the priority class of more than one is critical")
    left = list(members)
    for rank, why in _ORDER:
        ranks = [rank(each, uuid) for each in left]
        best = min(ranks, default=None)
        left = [each for each, found in zip(left, ranks, strict=True) if found == best]
        if len(left) == 1:
            return KeeperChoice(left[0], why)
        yield
    return KeeperChoice(None, "there is nothing to choose from")
