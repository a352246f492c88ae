"""Which findings `steward check` shows: of which checks, namespaces, reasons and features, how bad and how old."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from ...checks import all_checks
from ...config.mistakes import nearest
from ...domain.drains.health import AILMENTS
from ...engine.engine import Engine
from ...facts.record import epoch
from ...facts.selector import Selector
from ...findings.check import PER_FLEET, Check
from ...findings.finding import Unknown
from ...findings.severity import Severity
from ...questions.findings import FindingReport, Report
from .selectors import Selection, selection_of, vms_of

_OF_FEATURES = "feature_"  # what the checks begin with whose findings have a feature


class UsageError(Exception):
    """The text is one sentence."""


@dataclass(frozen=True)
class Filters:
    """`min_age` is in seconds; `now` is in seconds since 1970. `labelled` are the VMs that the `selector` selects, each
    with its cluster, once they are known; `nodes` likewise those that the VMs are on that are asked for: where one of
    them lets no VM go, that is about each of these.
    """

    checks: frozenset[str]
    namespaces: frozenset[str]  # empty for all of them
    reasons: frozenset[str]  # empty for all of them
    features: frozenset[str]  # empty for all findings
    severities: frozenset[Severity]
    selection: Selection
    min_age: float
    now: float
    selector: Selector | None = None
    labelled: frozenset[tuple[str, str]] | None = None
    nodes: frozenset[tuple[str, str]] = frozenset()

    def of(self, report: Report, engine: Engine | None = None) -> Report:
        """What is left of it. What the chosen checks don't know is left where it concerns the chosen namespaces, as far
        as the `engine` that made the report says that."""
        unknown = [each for each in report.unknown if each.check in self.checks]
        findings = [finding for finding in report.findings if self._wants(finding)]
        if self.selection.ids:
            unknown = [each for each in unknown if each.check in {found.check for found in findings}]
        elif places := self.namespaces or self.selection.namespaces or self._labelled_in:
            unknown = list(_concerning(unknown, engine, places) if engine else concerning(unknown, places))
        return msgspec.structs.replace(report, findings=findings, unknown=unknown)

    @property
    def _labelled_in(self) -> frozenset[str]:
        return frozenset(path.partition("/")[0] for _, path in self.labelled or ())

    def _wants(self, finding: FindingReport) -> bool:
        return (
            finding.check in self.checks
            and (not self.reasons or finding.reason in self.reasons)
            and (not self.features or finding.feature in self.features)
            and Severity(finding.severity) in self.severities
            and (self._is_about(finding) or self._is_of_a_node(finding))
            and (not self.min_age or self.now - (epoch(finding.since) or self.now) >= self.min_age)
        )

    def _is_about(self, finding: FindingReport) -> bool:
        return (
            (not self.namespaces or finding.subject.namespace in self.namespaces)
            and self.selection.picks(finding)
            and (self.labelled is None or any((finding.cluster, vm) in self.labelled for vm in vms_of(finding)))
        )

    def _is_of_a_node(self, finding: FindingReport) -> bool:
        return finding.reason in AILMENTS and (finding.cluster, finding.node) in self.nodes

    def asks_for(self, vm: str, cluster: str) -> bool:
        """Whether a VM, NAMESPACE/NAME, is among those that are asked for."""
        namespace, _, name = vm.partition("/")
        return (
            (not self.namespaces or namespace in self.namespaces)
            and (not self.selection or vm in self.selection.vms or name in self.selection.vms)
            and (self.labelled is None or (cluster, vm) in self.labelled)
        )


def concerning(unknown: Iterable[Unknown], places: frozenset[str]) -> Iterator[Unknown]:
    """Without what is known to be of one object in another namespace: a report alone says no more."""
    for each in unknown:
        there = each.partition.partition("/")[0]
        if not there or there in places or f" {there}/" not in each.why:
            yield each


def _concerning(unknown: Iterable[Unknown], engine: Engine, places: frozenset[str]) -> Iterator[Unknown]:
    """What a check that has no answer there says of the namespaces; else what reaches into them."""
    everywhere = engine.unknown_everywhere()
    here = {check for namespace, check in engine.unknown_namespaces() if namespace in places}
    own = {each for each in unknown if each.partition.partition("/")[0] in places}
    said = {each.check for each in own}
    for each in unknown:
        if each.check in everywhere or each in own or (each.check in here and each.check not in said):
            yield each


def filters_of(arguments: argparse.Namespace, enabled: Iterable[Check], *, several: bool) -> Filters:
    """`enabled` are the checks that are switched on, `several` says whether clusters are compared. Raises UsageError
    for a check that is not evaluated then, or is none."""
    running = {check.id: check for check in enabled}
    known = [check.id for check in all_checks()]
    for each in arguments.check or ():
        if each not in known:
            raise UsageError(f"no check is called {each!r}; {_hint(each, known)}")
        if each not in running:
            raise UsageError(f"check {each} is switched off by the configuration")
        if running[each].scope is PER_FLEET and not several:
            raise UsageError(f"{each} compares clusters; give --from for each of them")
    reasons = frozenset(arguments.reason or ())
    try:
        selection = selection_of(arguments.what)
    except ValueError as error:
        raise UsageError(str(error)) from None
    _refuse_unknown(reasons)
    return Filters(
        frozenset(arguments.check or (name for name, each in running.items() if _asked(each, arguments, several))),
        frozenset(arguments.namespace or ()),
        reasons,
        frozenset(arguments.feature or ()),
        _severities(arguments),
        selection,
        arguments.min_age,
        time.time() if arguments.now is None else arguments.now,
        arguments.selector,
    )


def _asked(check: Check, arguments: argparse.Namespace, several: bool) -> bool:
    """Whether a check that is not asked for by name can find what is."""
    return (
        (several or check.scope is not PER_FLEET)
        and (not arguments.feature or check.id.startswith(_OF_FEATURES))
        and (not arguments.reason or any(name in check.reasons for name in arguments.reason))
    )


def _severities(arguments: argparse.Namespace) -> frozenset[Severity]:
    """Those that are named, else from the least that is wanted on."""
    if arguments.severity:
        return frozenset(map(Severity, arguments.severity))
    return frozenset(each for each in Severity if each.rank >= Severity(arguments.min_severity).rank)


def _refuse_unknown(reasons: Iterable[str]) -> None:
    known = [name for check in all_checks() for name in check.reasons]
    for each in reasons:
        if each not in known:
            raise UsageError(f"no reason is called {each!r}; {_hint(each, known)}")


def _hint(name: str, known: Iterable[str]) -> str:
    close = nearest(name, known)
    return f"did you mean {close}?" if close else "`steward explain` lists all"
