"""Pages of one VM, network, instancetype or feature, and the lists of them: what the views say of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import quote

from aiohttp import web

from ...domain.instancetypes.resolving import ReferenceMode
from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...facts.rules import BY_ID
from ...findings.advice import in_turn
from ...findings.finding import Finding
from ...questions.asked import FeaturesQuery, InstancetypesQuery, NetworksQuery, VMQuery, VMsQuery
from ...questions.features import Features
from ...questions.features.report import BITES, MIGRATES
from ...questions.findings import Filter
from ...questions.instancetypes import Instancetypes
from ...questions.nearest import nearest
from ...questions.networks import STATES, Networks
from ...questions.question import NotThereError, UnaskableError
from ...questions.search import MOST_HITS, SearchHits, steps
from ...questions.vm import VMWhole, changes, said
from ..access.viewer import visible_to
from ..api.questions import QuestionView
from ..html.rendering import href
from ..reports.listing import Listing
from ..server.query import asked_in, only, single_in
from .frame import Frame
from .vms import VMsPage

_ROWS = 100  # of a list
_BY_MODE = {
    ReferenceMode.PINNED: "pinned to a copy",
    ReferenceMode.REVISION: "by a ControllerRevision",
    ReferenceMode.UNVERSIONED: "by the live object",
}
_GATES = 200
_FINDINGS = 50  # of one object


class VMPage:
    """/vms/NAMESPACE/NAME."""

    def __init__(self, frame: Frame, view: QuestionView[VMQuery, VMWhole]) -> None:
        self._frame, self._view = frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        try:
            vm = await self._view.asked(request, asked_in(request, VMQuery))
        except NotThereError as error:
            return await self._frame.mistake(request, 404, str(error))
        except UnaskableError as error:
            return await self._frame.mistake(request, 400, str(error))
        listing = self._frame.listing(request)
        findings = []
        for each in in_turn(await listing.of_vm(namespace, name)):
            findings.append(listing.report_of(each))
            if len(findings) % _FINDINGS == 0:
                await asyncio.sleep(0)
        values = {
            "vm": vm,
            "said": said(vm.verdicts),
            "changes": tuple(changes(vm.restart)) if vm.restart is not None else (),
            "links": self._frame.outside.of(
                "VirtualMachine" if vm.vm else "VirtualMachineInstance",
                *(namespace, name),
                vm=name,
                node=vm.runs.node if vm.runs else "",
            ),
            "findings": findings,
        }
        return await self._frame.page(request, "vm.html", values, here="/vms")


class NetworkPages:
    """/networks/ and /networks/NAME."""

    def __init__(self, frame: Frame, view: QuestionView[NetworksQuery, Networks], vms: VMsPage) -> None:
        self._frame, self._view, self._vms = frame, view, vms

    async def every(self, request: web.Request) -> web.StreamResponse:
        networks = await self._view.answer()
        values = {"networks": networks, "shown": networks.networks[:_ROWS], "states": STATES, "one": ""}
        return await self._frame.page(request, "networks.html", values, here="/networks/")

    async def one(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        networks = await self._view.answer(NetworksQuery(name))
        if not networks.networks and not networks.unseen:
            known = [each.network for each in (await self._view.answer()).networks]
            return await _missing(self._frame, request, "network", name, known, "/networks/")
        listing = self._frame.listing(request)
        values = {
            "networks": networks,
            "shown": networks.networks,
            "states": STATES,
            "one": name,
            "links": self._frame.outside.of("Network", "", name, network=name),
            **await _findings(listing, Filter(network=frozenset((name,)))),
            **await self._vms.about(VMsQuery(network=(name,))),
        }
        return await self._frame.page(request, "networks.html", values, here="/networks/")


class InstancetypePages:
    """/instancetypes/ and /instancetypes/NAME, for one of a namespace NAMESPACE/NAME; preferences too."""

    def __init__(self, frame: Frame, view: QuestionView[InstancetypesQuery, Instancetypes], vms: VMsPage) -> None:
        self._frame, self._view, self._vms = frame, view, vms

    async def every(self, request: web.Request) -> web.StreamResponse:
        found = await self._view.answer()
        values = {"instancetypes": found, "shown": found.objects[:_ROWS], "one": "", "by_mode": _BY_MODE}
        return await self._frame.page(request, "instancetypes.html", values, here="/instancetypes/")

    async def one(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        found = await self._view.answer(InstancetypesQuery(name))
        if not found.objects and not found.unseen and not found.not_applicable:
            known = [each.path for each in (await self._view.answer()).objects]
            return await _missing(
                self._frame, request, "instancetype and no preference", name, known, "/instancetypes/"
            )
        values = {
            "instancetypes": found,
            "shown": found.objects[:_ROWS],
            "one": name,
            "by_mode": _BY_MODE,
            **await self._vms.about(VMsQuery(instancetype=(name,))),
        }
        return await self._frame.page(request, "instancetypes.html", values, here="/instancetypes/")


class FeaturePages:
    """/features/ and /features/NAME, of a feature or a feature gate."""

    def __init__(self, frame: Frame, view: QuestionView[FeaturesQuery, Features], vms: VMsPage) -> None:
        self._frame, self._view, self._vms = frame, view, vms

    async def every(self, request: web.Request) -> web.StreamResponse:
        features = await self._view.answer()
        values = {
            "features": features,
            "shown": [each for each in features.features if not each.quiet],
            "quiet": [each for each in features.features if each.quiet],
            "gates": features.gates[:_GATES],
            "one": "",
            "bites": BITES,
            "migrates": MIGRATES,
        }
        return await self._frame.page(request, "features.html", values, here="/features/")

    async def one(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        try:
            features = await self._view.answer(FeaturesQuery((name,)))
        except NotThereError as error:
            return await self._frame.mistake(request, 404, str(error), here="/features/")
        listing = self._frame.listing(request)
        values = {
            "features": features,
            "shown": features.features,
            "quiet": (),
            "gates": features.gates,
            "one": name,
            "bites": BITES,
            "migrates": MIGRATES,
            **await _findings(listing, Filter(feature=frozenset((name,)))),
            **(await self._vms.about(VMsQuery(feature=(name,))) if name in BY_ID else {}),
        }
        return await self._frame.page(request, "features.html", values, here="/features/")


async def _findings(listing: Listing, wanted: Filter) -> dict[str, object]:
    own = await listing.chosen(wanted)
    return {"findings": [listing.report_of(each) for each in own[:_FINDINGS]], "findings_in_all": len(own)}


async def _missing(
    frame: Frame, request: web.Request, noun: str, name: str, known: Iterable[str], room: str
) -> web.StreamResponse:
    near = nearest(name, known)
    sentence = f"No {noun} is called {name[:253]!r}" + (f"; did you mean {near}?" if near else ".")
    links = [(f"{room}{quote(near, safe='')}", near)] if near else []
    return await frame.mistake(request, 404, sentence, here=room, more={"near": links})


# /search: leads to the one thing that was looked for, or lists what is like it.

_LONGEST = 253  # characters
_SLICE = 1000  # findings between two looks at the event loop


class SearchPage:
    def __init__(self, engine: Engine, frame: Frame) -> None:
        self._engine, self._frame = engine, frame
        self._turn = asyncio.Lock()  # many searches cost as much as one after another

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            only(request, ("q",))
            wanted = single_in(request, "q").strip()[:_LONGEST]
        except ValueError as error:
            return await self._frame.mistake(request, 400, str(error))
        listing = self._frame.listing(request)
        generation = await listing.generation()
        if wanted and await listing.find(wanted) is not None:
            raise web.HTTPFound(f"/findings/{wanted}")
        if wanted and await listing.cause(wanted) is not None:
            raise web.HTTPFound(f"/findings?cause={wanted}")
        whole = visible_to(request) is None
        async with self._turn:
            found = await in_turns(steps(self._engine, wanted)) if whole else SearchHits((), 0)
            about = [] if whole else await _about(listing, wanted)
        exact = [each for each in found.hits if each.exact]
        if len(exact) == 1 and (there := href(exact[0].ref)):
            raise web.HTTPFound(there)
        values = {
            "generation": generation,
            "q": wanted,
            "hits": found.hits,
            "left_out": found.in_all - len(found.hits),
            "is_address": _is_address(wanted),
            "findings": [listing.report_of(each) for each in about[:MOST_HITS]],
        }
        return await self._frame.page(request, "search.html", values, here="/search")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


async def _about(listing: Listing, wanted: str) -> list[Finding]:
    """What a tenant is shown of objects and VMs with the text in their names."""
    lowered, found = wanted.lower(), []
    for at, each in enumerate(await listing.chosen(Filter())):
        if lowered and (lowered in each.subject.path.lower() or lowered in each.vm.lower()):
            found.append(each)
        if at % _SLICE == 0:
            await asyncio.sleep(0)
    return found
