"""`steward status`: a cluster in a screenful."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from ...checks import all_checks
from ...engine.evaluate import at_once
from ...facts.naming import counted, named
from ...findings.check import PER_FLEET
from ...questions.asked import DrainQuery
from ...questions.causes import HistoryReport
from ...questions.drain import QUESTION, READER, STAYS, NodeReport
from ...questions.findings import FindingReport, Report, take, with_causes
from ...questions.repairs import Reconcile
from ...questions.times import lately_said
from ...questions.trust import exit_code
from ...store.kinds.kube_virt import KubeVirt
from ..asking import WRONG, Place, from_anywhere
from ..input.config import configured
from ..input.once import complain_if_late, of_running, refuse_complete_without_dump, undated
from ..output.findings.check_report import HEAD, answered, cause_row, of_causes, totals
from ..output.findings.report import unread
from ..output.text.layout import WIDTH, age, written
from ..output.text.screen import colours, cut, painted, rows_of, width
from ..output.text.terminal import complain, one_line, say

# A cluster in a screenful: whether it can be trusted, how much is wrong, what is worst, and what is under way.

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
        lately = report.history
        yield f"Changes   {lately_said(lately.opened, lately.closed, lately.since, now)}"


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
        yield f"Drains    {one_line(each.node)}: {there} still on it, {stays} blocked{since}"
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


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    checks = frozenset(
        check.id for check in all_checks() if config.of(check.id).enabled and check.scope is not PER_FLEET
    )

    async def running() -> tuple[Status, bool]:
        from ..input.running import release_and_drains, report_of  # not for a dump

        report = await report_of(arguments)
        release, drains = await release_and_drains(arguments)
        return Status(f"as {arguments.exporter} sees it", release, "", report, drains), report.ready

    async def taken(place: Place) -> Status:
        return _of(place, arguments.dump)

    try:
        refuse_complete_without_dump(arguments)
        found, in_time = asyncio.run(from_anywhere(arguments, config, running, taken, READER.reads, views=[READER]))
    except WRONG as error:
        complain(str(error))
        return 2
    now = time.time()
    more = "steward check" if of_running(arguments) else "steward check, steward drain --all-cordoned"
    text = written(found, arguments.output, lambda each: status(each, checks, now, width(), more))
    say(text, arguments.output, painted if colours() else str)
    complain_if_late(arguments, in_time)
    blind = bool(found.report.unknown or unread(found.report) or not in_time)
    return exit_code(found=bool(found.report.findings), unknown=blind)


def _of(place: Place, dump: str) -> Status:
    engine = place.engine
    report: Report = undated(with_causes(take(engine), engine))
    kubevirt = next(engine.cluster.all(KubeVirt), None)
    drain = at_once(QUESTION.steps(engine, None, DrainQuery()))
    nodes = None if any(each.kind == "Node" for each in drain.unseen) else drain.nodes
    where = dump if place.look is None else place.look.transport.server
    read = "" if place.read is None else f"read {place.read}"
    return Status(where, kubevirt.version if kubevirt else "", read, report, nodes)
