"""/drain, /nodes/ and /maintenance: what a drain of nodes would do, and which are being drained; /impact."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from ...engine.engine import Engine
from ...facts.record import Ref
from ...questions.asked import DrainQuery, ImpactQuery, MaintenanceQuery, UpgradeQuery, VMsQuery
from ...questions.drain import STAYS, TITLES, Drain, NodeReport, VMReport, node_names
from ...questions.findings import Filter
from ...questions.impact import PARAMETERS, Impact, SubjectOutcome
from ...questions.maintenance import FIRST, HELD, VERDICTS, Maintenance, progress
from ...questions.maintenance import counted as maintained
from ...questions.question import NotThereError, UnaskableError
from ...questions.selection import Selection
from ...questions.upgrade import Upgrade, headline, workloads_said
from ..api.questions import DrainUnderWay, QuestionView
from ..html.rendering import counted
from ..server.query import asked_in
from .frame import Frame
from .vms import VMsPage

_MOST_CHOICES = 500
_LONGEST = 100  # characters of what is given back in a form
_FINE = ("waiting", "terminating", "external", "arriving")
_SHOWN = 50  # findings of a node


class DrainPage:
    """/drain?node=…: of these nodes together; without one of those that are cordoned or drained."""

    def __init__(self, engine: Engine, frame: Frame, view: QuestionView[DrainQuery, Drain]) -> None:
        self._engine, self._frame, self._view = engine, frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        asked = DrainQuery()
        try:
            asked = asked_in(request, DrainQuery)
            drain = await self._view.answer(asked)
        except (UnaskableError, NotThereError) as error:
            values = {**self._form(asked), "drain": None, "sentence": str(error)}
            return await self._frame.page(request, "drain.html", values, here="/drain", status=400)
        values = {**self._form(asked), **shown(drain), "sentence": ""}
        return await self._frame.page(request, "drain.html", values, here="/drain")

    def _form(self, asked: DrainQuery) -> dict[str, Any]:
        return {"asked": ",".join(asked.node), "choices": node_names(self._engine.cluster)[:_MOST_CHOICES]}


def shown(drain: Drain) -> dict[str, Any]:
    return {"drain": drain, "titles": TITLES, "colour": colour, "verdict": verdict}


def colour(vm: VMReport) -> str:
    """Green is only what leaves by itself and has no finding that says otherwise."""
    if vm.state in STAYS or any(each.severity != "info" for each in vm.findings):
        return "warning"
    return "fine" if vm.state.value in _FINE else "none"


def verdict(node: NodeReport) -> str:
    """What a drain comes to, in a sentence."""
    every = sum(node.counts.values())
    stay = sum(node.counts.get(each, 0) for each in STAYS)
    if not every:
        return "No VM is on it."
    if not stay:
        return "Its VM leaves by itself." if every == 1 else f"All {every} VMs leave by themselves."
    own = "does not leave by itself" if stay == 1 else "do not leave by themselves"
    return f"{stay} of {counted(every, 'VM')} {own}."


class NodesPage:
    """/nodes/: the nodes by name, those that are cordoned or drained first."""

    def __init__(self, engine: Engine, frame: Frame, view: DrainUnderWay) -> None:
        self._engine, self._frame, self._view = engine, frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        names = node_names(self._engine.cluster)
        drain = await self._view.answer()
        counts = (await self._frame.listing(request).counts(Selection()))["node"]
        values = {**shown(drain), "names": names[:_MOST_CHOICES], "in_all": len(names), "counts": counts}
        return await self._frame.page(request, "nodes.html", values, here="/nodes/")


class NodePage:
    """/nodes/NAME: what is found of one node, and what a drain of it would do."""

    def __init__(self, frame: Frame, view: QuestionView[DrainQuery, Drain], vms: VMsPage) -> None:
        self._frame, self._view, self._vms = frame, view, vms

    async def handle(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        try:
            drain = await self._view.answer(DrainQuery((name,)))
        except NotThereError as error:
            return await self._frame.mistake(request, 404, str(error), here="/nodes/")
        listing = self._frame.listing(request)
        own = await listing.chosen(Filter(node=frozenset((name,))))
        values = {
            **shown(drain),
            "name": name,
            "links": self._frame.outside.of("Node", "", name, node=name),
            "findings": [listing.report_of(each) for each in own[:_SHOWN]],
            "in_all": len(own),
            **await self._vms.about(VMsQuery(node=(name,))),
        }
        return await self._frame.page(request, "node.html", values, here="/nodes/")


# /maintenance: what a drain of each node alone would do, page by page.

_BADGES = {"empty": "fine", "moves": "fine", "shuts down": "warning", "unknown": "none", "blocked": "critical"}


class MaintenancePage:
    def __init__(self, frame: Frame, view: QuestionView[MaintenanceQuery, Maintenance]) -> None:
        self._frame, self._view = frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = asked_in(request, MaintenanceQuery)
            found = await self._view.answer(asked)
        except (UnaskableError, NotThereError) as error:
            values: dict[str, Any] = {"sentence": str(error), "found": None}
            return await self._frame.page(request, "maintenance.html", values, here="/maintenance", status=400)
        values = {
            "sentence": "",
            "found": found,
            "counted": list(maintained(found.nodes)),
            "verdicts": VERDICTS,
            "colours": _BADGES,
            "bad": HELD,
            "progress": progress,
            "page": int(asked.page or 1),
            "pages": max(1, -(-found.in_all // int(asked.limit or FIRST))),
        }
        return await self._frame.page(request, "maintenance.html", values, here="/maintenance")


# /upgrade: what an upgrade of KubeVirt would do, and what to do before.


class UpgradePage:
    def __init__(self, frame: Frame, view: QuestionView[UpgradeQuery, Upgrade]) -> None:
        self._frame, self._view = frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        values: dict[str, Any] = {"found": None, "sentence": "", "asked": request.query.get("to", "")[:_LONGEST]}
        try:
            found = await self._view.answer(asked_in(request, UpgradeQuery))
        except (UnaskableError, NotThereError) as error:
            values |= {"sentence": str(error)}
            return await self._frame.page(request, "upgrade.html", values, here="/upgrade", status=400)
        values |= {"found": found, "headline": headline(found), "workloads": " ".join(workloads_said(found.workloads))}
        return await self._frame.page(request, "upgrade.html", values, here="/upgrade")


# /impact: what a change of the configuration, a deletion or an upgrade would do; without a change it asks for one.


class ImpactPage:
    def __init__(self, frame: Frame, view: QuestionView[ImpactQuery, Impact]) -> None:
        self._frame, self._view = frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        values: dict[str, Any] = {"impact": None, "again": "", "sentence": ""}
        given = {name: tuple(request.query.getall(name, ())) for name in PARAMETERS}
        try:
            asked = asked_in(request, ImpactQuery)
            impact = await self._view.answer(asked) if any(asked) else None
        except (UnaskableError, NotThereError) as error:
            values |= {"given": given, "sentence": str(error)}
            return await self._frame.page(request, "impact.html", values, here="/impact", status=400)
        given = dict(zip(PARAMETERS, asked, strict=True))
        again = urlencode([(name, value) for name, own in given.items() for value in own])
        values |= {"impact": impact, "given": given, "again": again}
        if impact is not None:
            values |= {"verdict": _verdict(impact), "broken": _broken(impact), "used": [], "unused": [], "unruled": []}
            for gate in impact.gates:
                values["used" if gate.used else "unused" if gate.ruled else "unruled"].append(gate)
        return await self._frame.page(request, "impact.html", values, here="/impact")


_SAYING = {
    SubjectOutcome.BREAKS: ("object breaks", "objects break"),
    SubjectOutcome.WORSE: ("gets worse in another way", "get worse in another way"),
    SubjectOutcome.SAFE: ("is safe, by its revision", "are safe, by their revisions"),
    SubjectOutcome.OTHER: ("differs, and is no worse", "differ, and are no worse"),
}


def _broken(impact: Impact) -> list[Ref]:
    """Each object that breaks, once, as far as they are listed; of what concerns the whole cluster its VMs."""
    breaking = (each for each in impact.findings if each.outcome == SubjectOutcome.BREAKS)
    broken = (ref for each in breaking for ref in each.vms or (each.finding.subject,))
    return list({str(each): each for each in broken}.values())


def _verdict(impact: Impact) -> str:
    """What it comes to, in a sentence."""
    parts = [counted(count, *_SAYING[SubjectOutcome(outcome)]) for outcome, count in impact.counts.items() if count]
    parts[:1] = [f"of what is found, {each}" for each in parts[:1]]
    if not parts:
        parts.append("no finding would differ" + (" in what could be evaluated" if impact.unknown_in_all else ""))
    for ruled, said in ((True, "that no VM uses"), (False, "with unknown effect on VMs")):
        if number := sum(not gate.used and gate.ruled is ruled for gate in impact.gates):
            parts.append(f"{counted(number, 'feature gate changes', 'feature gates change')} {said}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."
