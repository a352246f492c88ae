"""Which findings somebody wants to see of a list, and how many more there are of each value beside those."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from ..checks import areas
from ..findings.finding import Finding
from .findings import Filter, field_of
from .urgency import pages

AGES = {"hour": 3600.0, "day": 86400.0, "week": 604800.0, "older": float("inf")}
"""For how long a finding is known at most, in seconds, by the name of its age."""
URGENT = ("pages", "waits")
"""Whether the alert of a finding wakes somebody, or it can wait until the morning."""
FACETS = ("severity", "urgent", "area", "reason", "namespace", "node", "network", "feature", "since")
OTHER = "other"  # the area of a check that is in none
Counts = dict[str, Counter[str]]
"""How many findings have each value, by facet."""

_AREAS: Mapping[str, str] = {check.id: area for area, checks in areas().items() for check in checks}


class Selection(msgspec.Struct, frozen=True):
    """`filter` is that of the API. `area` are folders of checks, `since` names of AGES as of `moment`, in seconds since
    1970, `cause` ids of causes, and `urgent` some of URGENT. Where a field is empty anything is wanted.
    """

    filter: Filter = Filter()
    area: frozenset[str] = frozenset()
    since: frozenset[str] = frozenset()
    cause: frozenset[str] = frozenset()
    urgent: frozenset[str] = frozenset()
    moment: float = 0.0

    @property
    def anything(self) -> bool:
        return msgspec.structs.replace(self, moment=0.0) == ANYTHING

    def wants(self, finding: Finding) -> bool:
        return not self.misses(finding)

    def misses(self, finding: Finding) -> list[str]:
        """The names of the fields that a finding does not fit to."""
        own = {name: wanted for name in Filter.__struct_fields__ if (wanted := getattr(self.filter, name))}
        own |= {name: wanted for name in OWN if (wanted := getattr(self, name))}
        return [name for name, wanted in own.items() if value_of(finding, name, self.moment) not in wanted]


OWN = ("area", "since", "cause", "urgent")
"""The fields of a selection beside its filter."""
ANYTHING = Selection()


def area_of(check: str) -> str:
    return _AREAS.get(check, OTHER)


def value_of(finding: Finding, name: str, moment: float) -> str:
    """What a field of a selection looks at."""
    if name == "area":
        return area_of(finding.check)
    if name == "since":
        return age_group(finding.since, moment)
    if name == "urgent":
        return _urgency(finding.check, finding.reason, finding.severity)
    return field_of(finding, name)


class _Kind(NamedTuple):
    check: str
    reason: str
    severity: str


@cache
def _urgency(check: str, reason: str, severity: str) -> str:
    return URGENT[0] if pages(_Kind(check, reason, severity)) else URGENT[1]


def age_group(since: float | None, moment: float) -> str:
    """The name of an age, as of a moment."""
    known = moment - (since or 0.0)
    return next(name for name, most in AGES.items() if known < most)


def counting(findings: Iterable[Finding], wanted: Selection, counts: Counts, pause: int) -> Iterator[None]:
    """Counts into `counts`, with a pause after each `pause` findings: of each facet, the findings that fit to all but
    what is wanted of this facet itself, so that a value more can be chosen.
    """
    for name in FACETS:
        counts.setdefault(name, Counter())
    for at, finding in enumerate(findings):
        misses = wanted.misses(finding)
        for name in FACETS if not misses else misses if len(misses) == 1 else ():
            if name in counts and (value := value_of(finding, name, wanted.moment)):
                counts[name][value] += 1
        if at % pause == 0:
            yield
