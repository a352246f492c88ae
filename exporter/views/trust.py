"""Whether what is shown can be relied on: how many checks answer, and what can't be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from .findings import Report

__all__ = ["Trust", "trust_of"]


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
        parts = [f"{self.answering} of {self.asked} checks answer"]
        if self.partly:
            parts.append(f"{self.partly} of them not everywhere")
        for namespace, count in self.unread.items():
            objects = "1 object" if count == 1 else f"{count} objects"
            parts.append(f"{objects} can't be read" + (f" in namespace {namespace}" if namespace else ""))
        return "; ".join(parts)


def trust_of(report: Report, checks: Iterable[str]) -> Trust:
    """`checks` are the ids of all that are evaluated."""
    asked = set(checks) - {each.check for each in report.not_applicable}
    nowhere = {each.check for each in report.unknown if not each.partition} & asked
    partly = {each.check for each in report.unknown if each.partition} & asked - nowhere
    unread = Counter(each.namespace for each in report.undecodable)
    return Trust(len(asked - nowhere), len(asked), len(partly), dict(sorted(unread.items())))
