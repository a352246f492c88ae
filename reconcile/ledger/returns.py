"""Repairs that somebody else undid: how often, and which of them are fought over until a person resumes the object."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass, field
from itertools import chain

from .attempts import Attempt, Return, War


@dataclass
class Returns:
    """By fingerprint, target and subject: whatever of them a finding has, the returns of all three count for it."""

    kept: dict[str, list[Return]] = field(default_factory=dict)

    def add(self, attempt: Attempt, at: float, why: str) -> None:
        found = Return(at, attempt.id, attempt.target, attempt.subject, why)
        for key in {attempt.fingerprint, attempt.target, attempt.subject}:
            self.kept.setdefault(key, []).append(found)

    def resume(self, scope: str) -> None:
        """What came back of an object before no longer counts."""
        self._keep(lambda each: scope not in (each.target, each.subject))

    def war(self, keys: Collection[str], returns: int, within: float) -> War | None:
        found = sorted({each for key in keys if key for each in self.kept.get(key, ())})
        for first, last in zip(found, found[returns - 1 :], strict=False):
            if last.at - first.at <= within:
                return War(len(found), found[-1].at, found[-1].why)
        return None

    def wars(self, returns: int, within: float) -> dict[str, War]:
        """By what the last of the repairs was about, as in "Kind namespace/name"."""
        found = {}
        for key, each in self.kept.items():
            if (war := self.war([key], returns, within)) is not None:
                found[max(each).target] = war
        return found

    def last(self, scopes: Mapping[str, float]) -> dict[str, float]:
        """The time of each scope, or of the last return of it where that is later."""
        found = dict(scopes)
        for each in chain.from_iterable(self.kept.values()):
            for scope in {each.target, each.subject} & found.keys():
                found[scope] = max(found[scope], each.at)
        return found

    def forget(self, before: float, returns: int, within: float, paused: Container[str]) -> None:
        """Drops what came back before then, unless it is fought over, or is of an object that is paused."""
        keys: dict[Return, list[str]] = {}
        for key, found in self.kept.items():
            for each in found:
                keys.setdefault(each, []).append(key)
        fought = {each for each, own in keys.items() if each.at > before or self.war(own, returns, within) is not None}
        self._keep(lambda each: each in fought or each.target in paused or each.subject in paused)

    def _keep(self, wanted: Callable[[Return], bool]) -> None:
        left = {key: [each for each in found if wanted(each)] for key, found in self.kept.items()}
        self.kept = {key: found for key, found in left.items() if found}
