"""Which findings are new: a rise, and not what has been there for long.

A finding is new for `storm.window` from when it was first seen, and for as long as a storm lasts in which it is. One
that comes back within the window is the same. What the first look of all finds was there before: a backlog, which is
worked off within the budgets.

A restart, another leader, or an exporter that begins anew must not make everything look new, nor hide what came
meanwhile. So the numbers of what is known travel with the Lease, by namespace and check: as many findings as were known
are known again, and what there is beyond is new. Which ones does not matter, since only their number does.

Not seen: new findings that came while nobody looked and as many known ones went; of namespaces that the Lease has no
room for, a rise that is smaller than `Carried.most`, unless the fleet's sum shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import msgspec

from .storm import Storm, StormState

__all__ = ["KNOWN", "STORM", "Inherited", "Key", "decoded", "encoded"]

# What the next leader has to know of storms, as annotations of the Lease: bounded, whatever the fleet has.
#
# One annotation is the storm of the fleet, in words. The other is JSON: how many findings are known by namespace and
# check, and the storms of namespaces. Where that is too long the namespaces with the fewest findings are left out: of
# them the sums are kept, and how many one of them has at most.

STORM, KNOWN = "storm", "storm-known"
"""Annotations of the Lease, without their prefix."""

_LONGEST = 16_384  # bytes; the Lease is written every few seconds, and may have 256 KiB of annotations
_FOR_STORMS = _LONGEST // 2

Key: TypeAlias = tuple[str, str]
"""A namespace, and a check."""


class Inherited(msgspec.Struct, frozen=True, omit_defaults=True):
    """`totals` are of all namespaces, by check; `most` is what a namespace that is not listed has at most of a check.
    `storms` are as `Storm.encode` has them.
    """

    checks: tuple[str, ...]
    totals: dict[str, int] = {}
    most: int = 0
    namespaces: dict[str, dict[str, int]] = {}
    storms: dict[str, str] = {}


_DECODER = msgspec.json.Decoder(Inherited)


def encoded(checks: frozenset[str], known: Counter[Key], storms: Mapping[str, Storm]) -> str:
    totals: Counter[str] = Counter()
    namespaces: dict[str, dict[str, int]] = {}
    for (namespace, check), number in sorted(known.items()):
        totals[check] += number
        namespaces.setdefault(namespace, {})[check] = number
    kept: dict[str, str] = {}
    room = _LONGEST - 1024 - 16 * len(totals)
    for namespace in sorted(storms, key=lambda each: (storms[each].state is not StormState.STORM, each)):
        text = storms[namespace].encode()
        if (room := room - len(namespace) - len(text) - 6) < _LONGEST - _FOR_STORMS:
            break
        kept[namespace] = text
    listed: dict[str, dict[str, int]] = {}
    most = 0
    for namespace in sorted(namespaces, key=lambda each: (-max(namespaces[each].values()), each)):
        numbers = namespaces[namespace]
        if (room := room - len(namespace) - len(msgspec.json.encode(numbers)) - 6) < 0:
            most = max(numbers.values())  # all that follow have at most as many
            break
        listed[namespace] = numbers
    inherited = Inherited(tuple(sorted(checks)), dict(totals), most, listed, kept)
    return msgspec.json.encode(inherited, order="sorted").decode()


def decoded(text: str | None) -> Inherited | None:
    """None where there is none. Raises ValueError for what can't be read."""
    if not text:
        return None
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from error


class Open(NamedTuple):
    """An open finding that there is a remediation for. Findings of one check count as having one cause."""

    fingerprint: str
    namespace: str
    check: str

    @property
    def key(self) -> Key:
        return self.namespace, self.check


@dataclass
class _Seen:
    key: Key
    first: float
    last: float
    new: bool


class Rises:
    """What was seen so far. Times are in seconds since 1970."""

    def __init__(self, inherited: Inherited | None = None) -> None:
        """`inherited` is what the last leader knew; None where there was none."""
        self._seen: dict[str, _Seen] = {}
        self._counted = set(inherited.checks) if inherited is not None else set()
        self._allowance = _Allowance(inherited) if inherited is not None else None
        self._allowed_until: float | None = None

    def take(
        self,
        findings: Iterable[Open],
        checks: Collection[str],
        now: float,
        *,
        window: float,
        held: Callable[[str], bool],
    ) -> None:
        """What is open now, of the `checks` that have an answer: of others nothing changes.

        `held` says whether a storm is on in a namespace: what is new there stays new.
        """
        if self._allowed_until is None:
            self._allowed_until = now + window
        if now >= self._allowed_until:
            self._allowance = None
        for each in findings:
            if each.check in checks:
                self._note(each, now)
        self._counted |= set(checks)
        for fingerprint, seen in list(self._seen.items()):
            if seen.key[1] not in checks:
                seen.last = now  # nobody knows whether it is still there
            seen.first, seen.last = min(seen.first, now), min(seen.last, now)  # whatever the clock did
            if now - seen.last >= window:
                del self._seen[fingerprint]
            elif seen.new and now - seen.first >= window and not held(seen.key[0]):
                seen.new = False

    def _note(self, each: Open, now: float) -> None:
        seen = self._seen.get(each.fingerprint)
        if seen is not None:
            seen.last = now
            return
        known = each.check not in self._counted or (self._allowance is not None and self._allowance.take(each.key))
        self._seen[each.fingerprint] = _Seen(each.key, now, now, not known)

    def settle(self, namespace: str | None) -> None:
        """What is new in a namespace, anywhere where it is None, counts as known from now on."""
        for seen in self._seen.values():
            if namespace in (None, seen.key[0]):
                seen.new = False

    def new(self, of: Collection[str]) -> Counter[Key]:
        """How many of these findings are new, by namespace and check."""
        found = (self._seen.get(fingerprint) for fingerprint in of)
        return Counter(seen.key for seen in found if seen is not None and seen.new)

    def known(self) -> tuple[frozenset[str], Counter[Key]]:
        """The checks that were counted, and how many findings are not new."""
        return frozenset(self._counted), Counter(seen.key for seen in self._seen.values() if not seen.new)


class _Allowance:
    """How many findings the last leader knew that were not seen yet."""

    def __init__(self, inherited: Inherited) -> None:
        self._most, self._listed = inherited.most, frozenset(inherited.namespaces)
        self._named = {
            (namespace, check): number
            for namespace, numbers in inherited.namespaces.items()
            for check, number in numbers.items()
        }
        self._others: dict[Key, int] = {}  # taken, of namespaces without numbers of their own
        self._rest = dict(inherited.totals)
        for (_, check), number in self._named.items():
            self._rest[check] = self._rest.get(check, 0) - number

    def take(self, key: Key) -> bool:
        """Whether one of this namespace and check is left; it is taken then."""
        namespace, check = key
        if namespace in self._listed:
            left = self._named.get(key, 0)
            self._named[key] = left - 1
            return left > 0
        taken = self._others.get(key, 0)
        if taken >= self._most or self._rest.get(check, 0) <= 0:
            return False
        self._others[key], self._rest[check] = taken + 1, self._rest[check] - 1
        return True
