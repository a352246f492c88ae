"""/findings/FINGERPRINT: one finding, and all that whoever deals with it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from ...domain.features.configuration import chosen
from ...engine.engine import Engine
from ...facts.record import Ref
from ...findings.check import Reason
from ...findings.finding import Finding, keeps, to_change
from ...findings.pages import repair_by
from ...questions.findings import Filter, FindingReport, near, order, plan_command
from ...questions.repairs import REPAIR_STATES, pause_command
from ...questions.urgency import urgency_of
from ...store.kinds.kube_virt import KubeVirt
from ..access.viewer import visible_to
from ..api.questions import MigrationsView
from ..reports.listing import Listing
from .frame import Frame
from .runbooks import RunbookOfFinding, Runbooks

_SHOWN = 20  # findings of a related object
_IN_ALL = "InAll"


@dataclass(frozen=True)
class Related:
    """An object that a finding names, with the findings of its own."""

    ref: Ref
    findings: list[FindingReport]


class FindingPage:
    def __init__(self, engine: Engine, frame: Frame, migrations: MigrationsView, runbooks: Runbooks) -> None:
        self._engine, self._frame, self._migrations, self._runbooks = engine, frame, migrations, runbooks
        self._reasons = {(check.id, name): reason for check in engine.checks for name, reason in check.reasons.items()}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        fingerprint = request.match_info["fingerprint"]
        listing = self._frame.listing(request)
        generation = await listing.generation()
        finding = await listing.find(fingerprint)
        if finding is None:
            return await self._not_there(request, listing, fingerprint)
        report = listing.report_of(finding)
        reason = self._reasons[finding.check, finding.reason]
        cause = await listing.cause(finding.cause)
        related, of_place = _related(listing, report.related, near(finding, await _around(listing, finding)))
        values = {
            "generation": generation,
            "finding": report,
            "reason": reason,
            "urgency": urgency_of(reason, finding.reason, finding.severity),
            "runbook": await self._runbook(request, listing, finding, reason),
            "evidence": list(_rows(report.evidence)),
            "related": related,
            "of_place": of_place,
            "siblings": cause.findings if cause else 1,
            "cause": cause,
            "links": self._frame.outside.of_finding(finding),
            "failures_of": self._migrations.of,
            "plan_command": plan_command,
            "repair_by": repair_by,
            "pause_command": pause_command,
            "states": REPAIR_STATES,
        }
        return await self._frame.page(request, "finding.html", values, here="/findings")

    async def _runbook(
        self, request: web.Request, listing: Listing, finding: Finding, reason: Reason
    ) -> RunbookOfFinding | None:
        """With the names of the finding: of one that keeps what others share, with those of the one that is to be
        changed, and none where the viewer doesn't see that.
        """
        about: Finding | None = finding
        if keeps(finding):
            every = [one for ref in finding.related for one in await listing.about(ref)]
            own = (finding.reason, finding.group)
            about = next((one for one in every if (one.reason, one.group) == own and to_change(one)), None)
        if not reason.alert or about is None:
            return None
        return self._runbooks.of(reason.alert, listing.report_of(about), self._kubevirt(request))

    def _kubevirt(self, request: web.Request) -> Ref | None:
        """The KubeVirt object, for a viewer of the whole cluster."""
        found = chosen(self._engine.cluster.all(KubeVirt)) if visible_to(request) is None else ""
        return None if isinstance(found, str) else found.ref

    async def _not_there(self, request: web.Request, listing: Listing, fingerprint: str) -> web.StreamResponse:
        if await listing.cause(fingerprint) is not None:
            raise web.HTTPFound(f"/findings?cause={fingerprint}")
        sentence = (
            f"No open finding has the fingerprint {fingerprint[:60]!r}. It may have been closed: what was found is no "
            "longer so, or its object is gone."
        )
        return await self._frame.mistake(request, 404, sentence, here="/findings")


async def _around(listing: Listing, finding: Finding) -> list[Finding]:
    """All that can be related to it, the worst first, without a look at all findings."""
    subject, node, vm = finding.subject, finding.node, finding.vm
    found = [one for ref in finding.related for one in await listing.about(ref)]
    found += await listing.of_vm(subject.namespace, vm) if vm else ()
    if subject.kind == "Node":
        found += await listing.chosen(Filter(node=frozenset((subject.name,))))
    elif node:
        found += await listing.about(Ref("Node", "", node, ""))
    return sorted({each.fingerprint: each for each in found}.values(), key=order)


def _related(
    listing: Listing, named: Iterable[Ref], others: Iterable[Finding]
) -> tuple[list[Related], list[FindingReport]]:
    """The objects that a finding names, with the first findings of each, and the first of those that are left: of its
    VM and its node. Of an object that was made anew both are named, and there is one page by that name.
    """
    by_name = {str(each): Related(each, []) for each in named}
    left: list[FindingReport] = []
    for each in others:
        of = by_name.get(str(each.subject))
        shown = of.findings if of is not None else left
        if len(shown) < _SHOWN:
            shown.append(listing.report_of(each))
    return list(by_name.values()), left


def _rows(evidence: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """What each fact is called, and its values as text."""
    for name, fact in evidence.items():
        if name.endswith(_IN_ALL) and name.removesuffix(_IN_ALL) in evidence:
            continue
        values = list(_texts(fact))
        left_out = evidence.get(f"{name}{_IN_ALL}")
        if isinstance(left_out, int) and left_out > len(values):
            values.append(f"and {left_out - len(values)} more")
        yield "".join(f" {each.lower()}" if each.isupper() else each for each in name), values


def _texts(fact: Any) -> Iterable[str]:
    if isinstance(fact, Mapping):
        return [f"{key}: {value}" for key, value in fact.items()]
    if isinstance(fact, list | tuple):
        return [", ".join(_texts(each)) if isinstance(each, list | tuple | Mapping) else str(each) for each in fact]
    if isinstance(fact, bool):
        return ["yes" if fact else "no"]
    return [] if fact is None or fact == "" else [str(fact)]
