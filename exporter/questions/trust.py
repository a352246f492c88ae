"""Whether what is shown can be relied on: how many checks are complete, and which objects are unreadable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice

import msgspec

from .findings import Report

_NAMED = 5  # namespaces


class Trust(msgspec.Struct, frozen=True):
    """`answering` of `asked` checks have an answer, `partly` of them not everywhere; those that do not apply to the
    cluster are not asked. `unread` counts the objects that can't be read by namespace, which is empty of cluster-wide
    ones.
    """

    answering: int
    asked: int
    partly: int
    unread: dict[str, int]

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return self.answering == self.asked and not self.partly and not self.unread

    @property
    def sentence(self) -> str:
        checks = [f"{self.answering - self.partly} of {self.asked} checks complete"]
        if self.partly:
            checks.append(f"{self.partly} incomplete in some namespaces")
        if nowhere := self.asked - self.answering:
            checks.append(f"{nowhere} without an answer")
        parts = [", ".join(checks)]
        for namespace, count in islice(self.unread.items(), _NAMED):
            parts.append(_objects(count) + (f" in namespace {namespace}" if namespace else ""))
        if more := sum(islice(self.unread.values(), _NAMED, None)):
            others = len(self.unread) - _NAMED
            places = "another namespace" if others == 1 else f"{others:,} other namespaces"
            parts.append(f"{_objects(more)} in {places}")
        return f"{'' if self.whole else 'Incomplete data: '}{'. '.join(parts)}"


def _objects(count: int) -> str:
    return "1 unreadable object" if count == 1 else f"{count:,} unreadable objects"


def trust_of(report: Report, checks: Iterable[str]) -> Trust:
    """`checks` are the ids of all that are evaluated."""
    asked = set(checks) - {each.check for each in report.not_applicable}
    nowhere = {each.check for each in report.unknown if not each.partition} & asked
    partly = {each.check for each in report.unknown if each.partition} & asked - nowhere
    unread = Counter(each.namespace for each in report.undecodable)
    return Trust(len(asked - nowhere), len(asked), len(partly), dict(sorted(unread.items())))


# What every command that answers ends with.


def exit_code(*, found: bool = False, unknown: bool) -> int:
    """0 where nothing is found, 1 where something is. `unknown` gives 2, which goes before both: not all that was asked
    about was seen, so there may be more than was found, and what was not seen may not be fine.
    """
    return 2 if unknown else int(found)
