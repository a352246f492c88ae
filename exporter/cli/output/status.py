"""A cluster in a screenful: whether it can be trusted, how much is wrong, what is worst, and what is under way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from ...facts.naming import counted, named
from ...views.causes import HistoryReport
from ...views.drain import STAYS, NodeReport
from ...views.findings import FindingReport, Report
from ...views.repairs import Reconcile
from ...views.times import changes_said
from .findings.check_report import HEAD, cause_row, of_causes, totals
from .findings.no_answer import answered
from .text.layout import WIDTH, age
from .text.screen import cut, rows_of
from .text.terminal import one_line

_LINES = 24
_CAUSES = 8
_NODES = 3


class Status(msgspec.Struct, frozen=True):
    """`cluster` says in words what was looked at, `release` of KubeVirt is empty where it is not known, `read` what a
    dump held; `drains` are the nodes that are cordoned or drained, None where that can't be seen.
    """

    cluster: str
    release: str
    read: str
    report: Report
    drains: tuple[NodeReport, ...] | None


def status(found: Status, checks: frozenset[str], now: float, columns: int | None, more: str) -> str:
    """At most 24 lines, cut to the terminal, or to 80 columns. `more` are the commands that show the rest."""
    wide = columns or WIDTH
    lines = [cut(line, wide) for line in _head(found, checks, now)]
    ending = ["", *(cut(line, wide) for line in _under_way(found, now, more))]
    room = _LINES - len(lines) - len(ending) - 1
    lines += ["", *_worst(found.report, now, wide, room)] if found.report.findings else []
    return "".join(f"{line}\n" for line in [*lines, *ending])


def _head(found: Status, checks: frozenset[str], now: float) -> Iterator[str]:
    report = found.report
    vms = report.fleet.virtual_machines
    yield f"Cluster   {one_line(found.cluster)}"
    counts = "VMs are not seen" if vms is None else counted(vms, "VM")
    yield f"KubeVirt  {one_line(found.release) or 'of an unknown release'}; {counts}"
    yield f"Checks    {answered(report, '', checks, found.read)}"
    if report.undecodable:
        places = named(list(dict.fromkeys(each.namespace or "(none)" for each in report.undecodable)))
        yield f"Not read  {counted(len(report.undecodable), 'object')} in namespace {one_line(places)}"
    yield f"Findings  {totals(report)}{of_causes(report)}"
    if isinstance(report.history, HistoryReport):
        first, *more = changes_said(report.history.changes, report.history.since, now).split("; ")
        yield f"Changes   {first}"
        yield from (f"          {each}" for each in more)


def _worst(report: Report, now: float, columns: int, room: int) -> Iterator[str]:
    """As many as fit into `room` lines with how many more there are: a row that is wider than the terminal has two."""
    of: dict[str, list[FindingReport]] = {}
    for finding in report.findings:
        of.setdefault(finding.cause, []).append(finding)
    causes = [each for each in report.causes or () if each.cause in of]
    head, *rows = rows_of(HEAD, [cause_row(each, of[each.cause], now) for each in causes[:_CAUSES]], columns)
    lines = list(accumulate(1 + row.count("\n") for row in rows))
    shown = [row for row, end in zip(rows, lines, strict=True) if end <= room - 2]
    yield from (head, *shown)
    if (more := len(causes) - len(shown)) > 0:
        yield f"and {counted(more, 'more cause')}"


def _under_way(found: Status, now: float, more: str) -> Iterator[str]:
    yield from _drains(found.drains, now)
    yield from _repairs(found.report)
    yield f"More, with the same options: {more}"


def _drains(nodes: Sequence[NodeReport] | None, now: float) -> Iterator[str]:
    if nodes is None:
        yield "Drains    not seen"
        return
    for each in nodes[:_NODES]:
        stays = sum(vm.state in STAYS for vm in each.vms)
        there = counted(len(each.vms), "VM")
        since = f", since {age(each.since, '', now)}" if each.since else ""
        yield f"Drains    {one_line(each.node)}: {there} still on it, {stays} of them stay{since}"
    if (more := len(nodes) - _NODES) > 0:
        yield f"          and {counted(more, 'more node')}"


def _repairs(report: Report) -> Iterator[str]:
    if not isinstance(report.reconcile, Reconcile):
        return
    states = [each.state for finding in report.findings for each in finding.repairs or ()]
    if report.reconcile.why:
        yield f"Repairs   not known: {one_line(report.reconcile.why)}"
    else:
        yield f"Repairs   {states.count('waiting')} wait for approval, {states.count('verifying')} are verified"
