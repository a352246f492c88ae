"""/: what there is to do, what can be relied on, and what waits. Other pages have the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from aiohttp import web

from ...engine.engine import Engine
from ...findings.finding import Unknown
from ...findings.severity import Severity
from ...questions.drain import STAYS, NodeReport
from ...questions.findings import Filter
from ...questions.repairs import REPAIR_STATES, RepairGroups, grouped
from ...questions.times import lately_said
from ...questions.trust import trust_of
from ...sidecar import Repairs
from ...store.source import SyncState
from ..access.viewer import visible_to
from ..api.questions import DrainUnderWay
from .frame import Frame

# /repairs: what waits for an approval, what was written, and what is refused or held back, by why.

_SHOWN = 100  # repairs of a group


class RepairsPage:
    def __init__(self, frame: Frame, repairs: Repairs) -> None:
        self._frame, self._repairs = frame, repairs
        self._groups: tuple[int, RepairGroups] = (-1, grouped(()))  # of which version

    @property
    def groups(self) -> RepairGroups:
        version, plans = self._repairs.version, self._repairs.plans
        if self._groups[0] != version:
            self._groups = version, grouped(plans.repairs if plans else ())
        return self._groups[1]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        values = {"groups": self.groups, "states": REPAIR_STATES, "most": _SHOWN, "followed": self._repairs.followed}
        return await self._frame.page(request, "repairs.html", values, here="/repairs")


_WORST = 10
_NODES = 2  # above the causes, and in the first fold with the worst of them
_REPAIRS = 5


class Overview:
    def __init__(self, engine: Engine, frame: Frame, drain: DrainUnderWay, repairs: RepairsPage) -> None:
        self._engine, self._frame, self._drain, self._repairs = engine, frame, drain, repairs

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.query_string:  # the address that findings had before
            raise web.HTTPFound(f"/findings?{request.query_string}")
        whole = visible_to(request) is None
        listing = self._frame.listing(request)
        generation = await listing.generation()
        causes = await listing.causes(Filter())
        severities = await listing.severities()
        known = Counter[str]()
        causes_of = Counter[str]()
        for each in causes:
            if each.is_known:
                known.update(each.severities)
            else:
                causes_of.update(name for name, count in each.severities.items() if count)
        history = listing.history()
        nodes = await self._draining() if whole else []
        around = listing.surroundings(generation)
        waiting = self._repairs.groups.waiting if whole else ()
        values = {
            "generation": generation,
            "counts": {each.value: severities[each.value] - known[each.value] for each in reversed(Severity)},
            "changes": lately_said(history.opened, history.closed, history.since, self._engine.clock())
            if history
            else "",
            "causes_of": causes_of,
            "open_causes": sum(not each.is_known for each in causes),
            "known": known.total(),
            "known_causes": sum(each.is_known for each in causes),
            "causes": causes[:_WORST],
            "in_all": len(causes),
            "trust": trust_of(around, [check.id for check in self._engine.checks]),
            "nodes": nodes[:_NODES],
            "nodes_in_all": len(nodes),
            "left": _left,
            "repairs": waiting[:_REPAIRS],
            "repairs_in_all": len(waiting),
        }
        return await self._frame.page(request, "overview.html", values, here="/")

    async def _draining(self) -> list[NodeReport]:
        """The nodes that are being emptied, the ones with most that stays first; then those that are cordoned alone."""
        drain = await self._drain.answer()
        return sorted(drain.nodes, key=lambda each: (not each.drain, -_left(each)["blocked"], each.node))


def _left(node: NodeReport) -> dict[str, int]:
    """How many VMs are left on a node, and how many of them do not leave by themselves."""
    return {"vms": sum(node.counts.values()), "blocked": sum(node.counts.get(each, 0) for each in STAYS)}


# /health: what the steward can't say, and why: checks without an answer, kinds, objects, its configuration.

_OBJECTS_SHOWN = 200  # objects, and places without an answer
_CURRENT = {SyncState.LIVE, SyncState.READ, SyncState.ABSENT}  # the other kinds come first


class HealthPage:
    def __init__(self, engine: Engine, frame: Frame) -> None:
        self._engine, self._frame = engine, frame

    async def handle(self, request: web.Request) -> web.StreamResponse:
        listing = self._frame.listing(request)
        report = listing.surroundings(await listing.generation())
        values = {
            "generation": report.generation,
            "report": report,
            "kinds": sorted(report.sources, key=lambda each: each.state in _CURRENT),
            "trust": trust_of(report, [check.id for check in self._engine.checks]),
            "unknown": _by_why(report.unknown),
            "acknowledged": listing.known_causes(),
            "most": _OBJECTS_SHOWN,
        }
        return await self._frame.page(request, "health.html", values, here="/health")


def _by_why(unknowns: Iterable[Unknown]) -> list[tuple[str, list[Unknown]]]:
    """One row for each cause, the one with most first."""
    found: dict[str, list[Unknown]] = {}
    for each in unknowns:
        found.setdefault(each.why, []).append(each)
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
