"""Refusals for one object that can't be read, with the object and what to do about it: it may be in the way of many."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from exporter.facts.record import Ref
from exporter.store.source import Undecodable

from .plan import Refused


def undecodable(record: Undecodable, why: str = "") -> Refused:
    """For an object that can't be decoded; `why` is a sentence, else the record's."""
    return unanswered(why or record.sentence, record.ref, record.resource)


def unanswered(why: str, ref: Ref | None, resource: str = "") -> Refused:
    """For an object of which something can't be read; for any other reason where there is none."""
    if ref is None:
        return Refused("everything_seen", why)
    within = f" -n {ref.namespace}" if ref.namespace else ""
    look = f"kubectl get {resource or ref.kind.lower()}{within} {ref.name} -o yaml"
    return Refused("everything_seen", why, str(ref), f"correct what could not be read, or delete it: {look}")


class Unseen(msgspec.Struct, frozen=True):
    """One object that can't be read, as in "Pod shop/db", and how many repairs it is in the way of."""

    object: str
    repairs: int
    why: str
    remedy: str


def gathered(refusals: Iterable[Refused | None]) -> list[Unseen]:
    """The causes of refusals that are one object each, the worst first."""
    found: dict[str, list[Refused]] = {}
    for each in refusals:
        if each is not None and each.unseen:
            found.setdefault(each.unseen, []).append(each)
    causes = [Unseen(name, len(each), each[0].why, each[0].remedy) for name, each in found.items()]
    return sorted(causes, key=lambda each: (-each.repairs, each.object))
