"""The storms of the fleet and of its namespaces, by what is new and could be written now.

A namespace has a storm by the new findings of one check there, in proportion to its VMs; it stops that namespace. The
fleet has one by those of one check in all namespaces, in proportion to all VMs. Of one namespace only a part counts
there, so that it takes `storm.namespaces` of them at least: none alone stops the others. What remains is whoever has so
many namespaces.

Pure: who reads what it needs, and carries it from leader to leader, is `StormLooks` of `carry_out/sidecar.py`.

A storm is so many new findings at once that their cause is not in the objects, and repairing them would spread it.

    normal ─(many)─> storm ─(few)─> cooldown ─(time)─> normal

A namespace has one, and so has the fleet. One that lasts for `storm.longest`, or that a person takes for what it is,
ends without a cooldown: what is left of it is a backlog then.

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

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import msgspec

from exporter.config.forms import write_duration

from ..config.settings import StormSettings


class StormState(StrEnum):
    NORMAL = "normal"
    STORM = "storm"
    COOLDOWN = "cooldown"


class Rise(NamedTuple):
    """How many findings are new, how many are a storm, and a clause that names both."""

    findings: int
    least: int
    what: str


_NUMBER = r"([0-9]{1,12})"
_CODED = re.compile(rf"normal|storm from {_NUMBER}|cooldown from {_NUMBER} until {_NUMBER}")


class Storm(msgspec.Struct, frozen=True):
    """The state, and from when and until when in seconds since 1970, as far as it says. `why` names the numbers."""

    state: StormState = StormState.NORMAL
    since: float = 0.0
    until: float | None = None
    why: str = ""

    def next(self, rise: Rise | None, now: float, settings: StormSettings) -> Storm:
        """The state after a look. None is what could not be seen: a storm lasts, and a cooldown begins anew."""
        cooldown = settings.cooldown.total_seconds()
        if rise is None:
            if self.state is StormState.COOLDOWN:
                return msgspec.structs.replace(self, until=now + cooldown)
            return self
        if rise.findings >= rise.least:
            since = min(self.since or now, now) if self.state is StormState.STORM else now
            return Storm(StormState.STORM, since, None, f"{rise.what}; {rise.least} are a storm")
        if self.state is StormState.STORM:
            return Storm(
                StormState.COOLDOWN, now, now + cooldown, f"a storm ended: {rise.what}; {rise.least} would be one"
            )
        if self.state is StormState.COOLDOWN:
            until = min(self.until if self.until is not None else now, now + cooldown)  # whatever the clock did
            return msgspec.structs.replace(self, until=until) if until > now else Storm()
        return self

    def encode(self) -> str:
        """For the Lease: what the next holder goes on with."""
        if self.state is StormState.STORM:
            return f"storm from {max(0, int(self.since))}"
        if self.state is StormState.COOLDOWN:
            return f"cooldown from {max(0, int(self.since))} until {max(0, math.ceil(self.until or 0))}"
        return "normal"

    @classmethod
    def decode(cls, text: str | None) -> Storm:
        """Without any text it is normal; what can't be read counts as a storm, which ends with the next look."""
        if not text:
            return cls()
        found = _CODED.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            return cls(StormState.STORM, 0.0, None, "the storm that the last holder left in the Lease can't be read")
        if found[1]:
            return cls(StormState.STORM, float(found[1]), None, "a storm was active when the Lease changed hands")
        if found[2]:
            return cls(
                StormState.COOLDOWN, float(found[2]), float(found[3]), "a storm ended before the Lease changed hands"
            )
        return cls()


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


_UNREADABLE = "the state that the last holder left in the Lease can't be read"


@dataclass(frozen=True)
class Sizes:
    """Numbers of VMs; None, or no entry, is what could not be counted. `resumed` is when a person resumed what, in
    seconds since 1970: a namespace, or everything by the empty one.
    """

    fleet: int | None = None
    namespaces: Mapping[str, int | None] = field(default_factory=dict)
    resumed: Mapping[str, float] = field(default_factory=dict)


class Storms:
    """What is on, and what is known. `namespaces` has those with a storm or a cooldown."""

    def __init__(self, carried: Mapping[str, str] | None = None) -> None:
        """`carried` are the Lease's annotations, without their prefix."""
        state = carried or {}
        self.fleet = Storm.decode(state.get(STORM))
        self.namespaces: Mapping[str, Storm] = {}
        try:
            known = decoded(state.get(KNOWN))
        except ValueError:
            self.fleet, known = Storm(StormState.STORM, 0.0, None, _UNREADABLE), None
        if known is not None:
            self.namespaces = {namespace: Storm.decode(text) for namespace, text in known.storms.items()}
        self._rises = Rises(known)

    def take(self, findings: Collection[Open], checks: Collection[str], now: float, settings: StormSettings) -> None:
        """What is open, of the checks that have an answer now. Of others everything stays as it was."""
        self._rises.take(findings, checks, now, window=settings.window.total_seconds(), held=self._held)

    def _held(self, namespace: str) -> bool:
        found = (self.fleet, self.namespaces.get(namespace, Storm()))
        return any(each.state is StormState.STORM for each in found)

    def rising(self, writable: Collection[str], settings: StormSettings) -> list[str]:
        """The namespaces whose VMs have to be counted: those where a storm may be, or is; the worst first."""
        new = self._rises.new(writable)
        worst: Counter[str] = Counter()
        for (namespace, _), number in new.items():
            worst[namespace] = max(worst[namespace], number)
        found = [namespace for namespace, number in worst.most_common() if number >= settings.at_least]
        return list(dict.fromkeys((*found, *self.namespaces)))

    def next(self, writable: Collection[str], now: float, settings: StormSettings, sizes: Sizes) -> None:
        """After a look: `writable` are the fingerprints of what could be written now."""
        self._end(now, settings, sizes.resumed)
        new = self._rises.new(writable)
        self.fleet = self.fleet.next(_of_fleet(new, settings, sizes.fleet), now, settings)
        by_namespace: dict[str, list[tuple[int, str]]] = {namespace: [(0, "")] for namespace in self.namespaces}
        for (namespace, check), number in new.items():
            by_namespace.setdefault(namespace, []).append((number, check))
        found = {}
        for namespace, numbers in by_namespace.items():
            rise = _of_namespace(namespace, max(numbers), settings, sizes.namespaces.get(namespace))
            storm = self.namespaces.get(namespace, Storm()).next(rise, now, settings)
            if storm.state is not StormState.NORMAL:
                found[namespace] = storm
        self.namespaces = found

    def unseen(self, now: float, settings: StormSettings) -> None:
        """After a look that showed nothing."""
        self.fleet = self.fleet.next(None, now, settings)
        self.namespaces = {name: storm.next(None, now, settings) for name, storm in self.namespaces.items()}

    def carried(self) -> dict[str, str]:
        """For the Lease."""
        return {STORM: self.fleet.encode(), KNOWN: encoded(*self._rises.known(), self.namespaces)}

    def _end(self, now: float, settings: StormSettings, resumed: Mapping[str, float]) -> None:
        """Ends what has lasted for long enough, and what a person has seen: what is left of it is a backlog."""
        if _over(self.fleet, now, settings, resumed.get("")):
            self._rises.settle(None)
            self.fleet, self.namespaces = Storm(), {}
        for namespace, storm in list(self.namespaces.items()):
            if _over(storm, now, settings, max(resumed.get(namespace, 0.0), resumed.get("", 0.0))):
                self._rises.settle(namespace)
                self.namespaces = {name: each for name, each in self.namespaces.items() if name != namespace}


def _over(storm: Storm, now: float, settings: StormSettings, resumed: float | None) -> bool:
    if storm.state is StormState.NORMAL or not storm.since:  # one without a beginning could not be read
        return False
    lasted = storm.state is StormState.STORM and now - storm.since >= settings.longest.total_seconds()
    return lasted or (resumed is not None and resumed > storm.since)


def _least(settings: StormSettings, vms: int | None) -> int:
    return max(settings.at_least, math.ceil(settings.share * (vms or 0)))


def _of_namespace(namespace: str, most: tuple[int, str], settings: StormSettings, vms: int | None) -> Rise:
    number, check = most
    where = f"in namespace {namespace}" if namespace else "of objects without namespace"
    size = "an unknown number of" if vms is None else vms
    of = f" of {check}" if check else ""
    within = f" (within {write_duration(settings.window)})"
    return Rise(number, _least(settings, vms), f"{number} findings{of} are new {where} with {size} VMs{within}")


def _of_fleet(new: Counter[Key], settings: StormSettings, fleet: int | None) -> Rise:
    """Of the check that rises most."""
    least = _least(settings, fleet)
    part = math.ceil(least / settings.namespaces)
    counted: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    namespaces: Counter[str] = Counter()
    for (_, check), number in new.items():
        counted[check] += min(number, part)
        findings[check] += number
        namespaces[check] += 1
    check, number = max(counted.items(), key=lambda each: (each[1], each[0]), default=("", 0))
    size = "a fleet of unknown size" if fleet is None else f"a fleet of {fleet} VMs"
    of = f" of {check}" if check else ""
    where = f"{namespaces[check]} namespaces"
    rule = f"counted as {number}, since one namespace counts for at most {part}"
    return Rise(number, least, f"{findings[check]} findings{of} are new in {where} of {size} ({rule})")
