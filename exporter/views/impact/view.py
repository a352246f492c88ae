"""The impact of a change: the same checks on the changed cluster, and what their answers differ in."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from ...checks import all_checks
from ...domain.features.rules import BY_ID, RULES
from ...engine.engine import Engine
from ...findings.check import PER_FLEET
from ...findings.finding import Unknown
from ...findings.preview import Difference, previewed
from ...store.cluster import Cluster
from ...store.record import Record, Ref
from ...store.source import FILE, Undecodable
from ..findings import order, supposed
from ..in_slices import at_once, in_order
from .counting import Counts, ground_users, idle
from .gates import Users, gates_of
from .proposals import ProposedChange
from .report import MOST_UNKNOWN, Affected, FeatureTotals, Impact, Totals
from .who_breaks import SubjectOutcome, answer_of, outcome_of, when

_SLICE = 100  # findings counted between two looks at the event loop
_REPORTED = 20  # findings, each with its commands filled in


def take(engine: Engine, proposal: ProposedChange, most: int | None = None) -> Impact:
    """As `steps`, at once."""
    return at_once(steps(engine, proposal, most))


def steps(engine: Engine, proposal: ProposedChange, most: int | None = None) -> Generator[None, None, Impact]:
    """With at most so many findings, the worst first; stops after every few, so that others get their turn."""
    cluster = engine.cluster
    gates, unsaid = yield from gates_of(cluster, proposal.edits)
    preview = yield from previewed(engine.checks, cluster, proposal.edits, engine.settings(), proposal.within)
    ground = yield from ground_users(cluster, preview.differences)
    counts = Counts(ground)
    preview.differences[:] = [each for each in preview.differences if not idle(each, ground)]
    for at, each in enumerate(preview.differences):
        yield from counts.take(each)
        if at % _SLICE == 0:
            yield
    ordered = yield from in_order(preview.differences, _rank)
    in_all = len(ordered)
    preview.differences.clear()
    findings = []
    for at, each in enumerate(ordered[:most]):
        findings.append(_affected(cluster, each, counts.concerned(each)))
        if at % _REPORTED == 0:
            yield
    while ordered:  # what is let go of at once takes its time at once
        del ordered[-_SLICE:]
        yield
    disabled = _disabled(engine, {edit.kind for edit in proposal.edits})
    unread = (Unknown("impact", "", sentence) for sentence in proposal.unread)
    unknown = dict.fromkeys((*disabled, *unsaid, *unread, *preview.unknown))
    return Impact(
        generation=engine.generation,
        changes=proposal.changes,
        beforehand=proposal.beforehand if counts.all.broken else (),
        gates=gates,
        counts={outcome.value: number for outcome, number in zip(SubjectOutcome, counts.all, strict=True)},
        namespaces=tuple(Totals(name, *tally) for name, tally in sorted(counts.namespaces.items())),
        features=tuple(FeatureTotals(name, *tally) for name, tally in sorted(counts.features.items())),
        findings=tuple(findings),
        left_out=in_all - len(findings),
        unread=tuple(sorted(_files(cluster))),
        unknown=tuple(sorted(unknown)[:MOST_UNKNOWN]),
        unknown_in_all=len(unknown),
    )


_OUTCOMES = tuple(SubjectOutcome)


def _rank(difference: Difference) -> tuple[object, ...]:
    return _OUTCOMES.index(outcome_of(difference)), difference.change, *order(difference.finding)


def concerned(impact: Impact) -> frozenset[str]:
    """The features, by the ids of their rules, that it is about."""
    switched = {gate.name for gate in impact.gates}
    found = {each.feature for each in impact.features if each.feature in BY_ID}
    return frozenset((*found, *(rule.id for rule in RULES if rule.gate in switched)))


def _disabled(engine: Engine, kinds: set[type[Record]]) -> Iterator[Unknown]:
    """What nobody evaluates although it reads what is changed."""
    enabled = {check.id for check in engine.checks}
    for check in all_checks():
        if check.id not in enabled and check.scope is not PER_FLEET and not kinds.isdisjoint(check.reach):
            yield Unknown(check.id, "", "the check is disabled")


def _files(cluster: Cluster) -> Iterator[Ref]:
    return (each.ref for each in cluster.all(Undecodable) if each.kind == FILE)


def _affected(cluster: Cluster, difference: Difference, of: Users | None) -> Affected:
    before = difference.before
    return Affected(
        difference.change,
        outcome_of(difference).value,
        when(cluster, difference),
        answer_of(difference),
        before.severity.value if before is not None else "",
        supposed(difference.check, difference.finding),
        of.first if of is not None else (),
        len(of.once) if of is not None else None,
    )
