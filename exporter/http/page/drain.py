"""/drain and /nodes/: what a drain of nodes would do, and which are being drained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aiohttp import web

from ...engine.engine import Engine
from ...views.drain import STAYS, TITLES, Drain, NodeReport, NoSuchNodeError, VMReport, node_names
from ...views.findings import Filter
from ...views.selection import Selection
from ..api.drain import DrainView
from ..html.words import counted
from ..server.query import names_in
from .frame import Frame

_MOST_CHOICES = 500
_FINE = ("waiting", "terminating", "external", "arriving")
_SHOWN = 50  # findings of a node


class DrainPage:
    """/drain?node=…: of these nodes together; without one of those that are cordoned or drained."""

    def __init__(self, engine: Engine, frame: Frame, view: DrainView) -> None:
        self._engine, self._frame, self._view = engine, frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        names: tuple[str, ...] = ()
        try:
            (names,) = names_in(request, "node")
            drain = await self._view.take(names)
        except (ValueError, NoSuchNodeError) as error:
            values = {**self._form(names), "drain": None, "sentence": str(error)}
            return await self._frame.page(request, "drain.html", values, here="/drain", status=400)
        values = {**self._form(names), **shown(drain), "sentence": ""}
        return await self._frame.page(request, "drain.html", values, here="/drain")

    def _form(self, names: Iterable[str]) -> dict[str, Any]:
        return {"asked": ",".join(names), "choices": node_names(self._engine.cluster)[:_MOST_CHOICES]}


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

    def __init__(self, engine: Engine, frame: Frame, view: DrainView) -> None:
        self._engine, self._frame, self._view = engine, frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        names = node_names(self._engine.cluster)
        drain = await self._view.under_way()
        counts = (await self._frame.listing(request).counts(Selection()))["node"]
        values = {**shown(drain), "names": names[:_MOST_CHOICES], "in_all": len(names), "counts": counts}
        return await self._frame.page(request, "nodes.html", values, here="/nodes/")


class NodePage:
    """/nodes/NAME: what is found of one node, and what a drain of it would do."""

    def __init__(self, frame: Frame, view: DrainView) -> None:
        self._frame, self._view = frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        try:
            drain = await self._view.take((name,))
        except NoSuchNodeError as error:
            return await self._frame.mistake(request, 404, str(error), here="/nodes/")
        listing = self._frame.listing(request)
        own = await listing.chosen(Filter(node=frozenset((name,))))
        values = {
            **shown(drain),
            "name": name,
            "links": self._frame.outside.of("Node", "", name, node=name),
            "findings": [listing.report_of(each) for each in own[:_SHOWN]],
            "in_all": len(own),
        }
        return await self._frame.page(request, "node.html", values, here="/nodes/")
