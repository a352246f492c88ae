"""What a change of the cluster would do to its findings, before anybody makes it.

The change is a value, applied to the records: the same checks are evaluated on the cluster as it is and on the changed
one, where a change like this would have the engine evaluate them, and the findings are compared. What a check can't say
on either side is unknown, and never a difference. Graces don't count: what healthy objects pass through is there on
both sides, or comes by the change.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..findings.check import Check
from ..findings.finding import Finding, Unknown, fingerprint
from ..store.cluster import Cluster
from ..store.overlay import Edit, Overlay
from ..store.source import unseen
from .affected import affected
from .evaluate import Answer, evaluate, standing, undecodables

_SLICE = 20  # partitions evaluated between two looks at the event loop
_GATHERED = 200  # partitions found, or findings compared, between two of them
_TRIES = 3  # in slices, to find the partitions


@dataclass(frozen=True, slots=True)
class PreviewedChange:
    """A finding that comes, goes, or gets another severity; `before` is None for one that comes, `after` for one that
    goes.
    """

    check: Check
    before: Finding | None
    after: Finding | None

    @property
    def finding(self) -> Finding:
        """As it would be; of one that goes, as it is."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def change(self) -> str:
        if self.before is None:
            return "appears"
        return "goes" if self.after is None else "changes"

    @property
    def worse(self) -> bool:
        """Whether it is worse afterwards, by more than information."""
        was = self.before.severity.rank if self.before else 0
        return self.after is not None and self.after.severity.rank > was


@dataclass
class Preview:
    """`evaluated` counts partitions, of all checks."""

    differences: list[PreviewedChange] = field(default_factory=list)
    unknown: dict[Unknown, None] = field(default_factory=dict)
    evaluated: int = 0


class _Changed:
    """The changed cluster, made again where the present one has moved on."""

    def __init__(self, cluster: Cluster, edits: Iterable[Edit]) -> None:
        self.cluster, self._edits = cluster, tuple(edits)
        self._overlay: Overlay | None = None
        self._version = 0

    @property
    def overlay(self) -> Overlay:
        if self._overlay is None or self._version != self.cluster.version:
            self._overlay, self._version = Overlay(self.cluster), self.cluster.version
            for edit in self._edits:
                self._overlay.apply(edit)
        return self._overlay

    def partitions(self, checks: tuple[Check, ...]) -> Generator[None, None, dict[Check, dict[str, None]]]:
        """Those to be evaluated, of each check that the change concerns, or may concern. They are looked for anew where
        the cluster changes meanwhile; in the end, without a turn for anybody else.
        """
        tries = _TRIES
        while True:
            found: dict[Check, dict[str, None]] = {}
            version = self.cluster.version
            for at, (check, partitions) in enumerate(self._concerned(checks)):
                found.setdefault(check, {}).update(dict.fromkeys(partitions))
                if tries and at % _GATHERED == _GATHERED - 1:
                    yield
                    if self.cluster.version != version:
                        tries -= 1
                        break
            else:
                return found

    def _concerned(self, checks: tuple[Check, ...]) -> Iterator[tuple[Check, tuple[str, ...]]]:
        """A check, and a partition or none."""
        overlay = Overlay(self.cluster)
        for edit in self._edits:
            change = overlay.apply(edit)
            blind = bool(unseen(self.cluster, (edit.kind,)))  # nobody knows what is there to be changed
            for check in checks:
                if edit.kind not in check.reach:
                    continue
                if change is not None and check.concerned_by(change):
                    yield check, ()
                    yield from ((check, (partition,)) for partition in affected(check, overlay, change))
                elif blind:
                    yield check, ()


def previewed(
    checks: Iterable[Check], cluster: Cluster, edits: Iterable[Edit], settings: Mapping[str, Any], within: str = ""
) -> Generator[None, None, Preview]:
    """Stops after each few evaluations, so that others get their turn; the cluster may change meanwhile.

    `settings` are those of the checks by their ids. `within` is the only namespace in which the edited objects count,
    where there is just one.
    """
    changed, preview = _Changed(cluster, edits), Preview()
    concerned = yield from changed.partitions(tuple(checks))
    for check, partitions in concerned.items():
        yield
        state = standing(check, cluster)
        if state.not_applicable:
            continue
        if state.unknown:
            preview.unknown[Unknown(check.id, "", state.unknown)] = None
            continue
        for each in undecodables(check, cluster):
            if not within or each.namespace in ("", within):
                preview.unknown[Unknown(check.id, each.namespace, each.sentence)] = None
        yield from _compare(check, changed, partitions, settings.get(check.id), preview)
    return preview


def _compare(
    check: Check, changed: _Changed, partitions: Iterable[str], settings: Any, preview: Preview
) -> Generator[None, None, None]:
    before: dict[str, Finding] = {}
    after: dict[str, Finding] = {}
    for at, partition in enumerate(partitions):
        if at % _SLICE == _SLICE - 1:
            yield
        answers = [evaluate(check, each, partition, settings) for each in (changed.cluster, changed.overlay)]
        preview.evaluated += 1
        if unknown := next((_unknown(check, partition, each) for each in answers if each.unknown), None):
            preview.unknown[unknown] = None
            continue
        here, there = ({fingerprint(check.id, finding): finding for finding in answer.findings} for answer in answers)
        same = {key for key, finding in here.items() if key in there and there[key].severity is finding.severity}
        before |= {key: finding for key, finding in here.items() if key not in same}
        after |= {key: finding for key, finding in there.items() if key not in same}
    # Here and not partition by partition: what goes from one may come in another, and has only moved.
    for at, key in enumerate([*before, *(key for key in after if key not in before)]):
        if at % _GATHERED == _GATHERED - 1:
            yield
        one, other = before.pop(key, None), after.pop(key, None)  # what is let go of at once takes its time at once
        if one is None or other is None or one.severity is not other.severity:
            preview.differences.append(PreviewedChange(check, one, other))


def _unknown(check: Check, partition: str, answer: Answer) -> Unknown:
    if answer.hidden_by is not None:
        return Unknown(check.id, answer.hidden_by.namespace, answer.hidden_by.sentence)
    return Unknown(check.id, partition, answer.unknown)
