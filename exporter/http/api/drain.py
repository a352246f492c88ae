"""/api/v1/drain: preview of a drain, with an ETag."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from aiohttp import web

from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...facts.record import Ref
from ...findings.finding import Finding
from ...store.kinds.node import Node
from ...store.source import Source
from ...views.drain import LEAVES, Drain, NoSuchNodeError, chosen_nodes, draining, steps
from ..reports.result_cache import Shared, Versions
from ..server.query import names_in
from ..server.sending import json_answer, json_error

_MOST_UNDER_WAY = 10  # nodes


class DrainView:
    def __init__(
        self, engine: Engine, versions: Versions, instance: str, about: Callable[[Ref], Awaitable[list[Finding]]]
    ) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each. `about`
        gives the findings of an object.
        """
        self._engine, self._instance, self._about = engine, instance, about
        self._taken = Shared[tuple[str, ...], Drain](lambda: versions.everything)
        self._under_way = Shared[None, Drain](lambda: versions.everything)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The nodes are those of the parameter `node`; without one, all that are cordoned or tainted to be drained."""
        try:
            (names,) = names_in(request, "node")
            drain = await self.take(names)
        except ValueError as error:
            return json_error(400, str(error))
        except NoSuchNodeError as error:
            return json_error(404, str(error))
        return await json_answer(request, self._instance, drain)

    async def take(self, nodes: Iterable[str] = ()) -> Drain:
        """Of these nodes; of all that are cordoned or drained where none is named. Raises NoSuchNodeError."""
        named = tuple(nodes)
        return await self._taken.get(named, lambda: self._take(named))

    async def under_way(self) -> Drain:
        """Of the first nodes that are cordoned or drained; it costs the same however many findings there are of
        others.
        """
        return await self._under_way.get(None, self._take_under_way)

    async def _take_under_way(self) -> Drain:
        cluster = self._engine.cluster
        wanted = draining(cluster)[:_MOST_UNDER_WAY] if self._seen else []
        drain = await in_turns(steps(cluster, wanted, (), self._engine.generation))
        # What leaves is stuck once something is found of it. What stays does so with and without.
        leaving = [vm.vm for node in drain.nodes for vm in node.vms if vm.state in LEAVES]
        found = [finding for each in leaving for finding in await self._about(each)]
        return await in_turns(steps(cluster, wanted, found, self._engine.generation)) if found else drain

    @property
    def _seen(self) -> bool:
        source = self._engine.cluster.get(Source, "", Node.__name__)
        return source is not None and source.readable

    async def _take(self, named: tuple[str, ...]) -> Drain:
        engine = self._engine
        wanted = chosen_nodes(engine.cluster, named, cordoned=not named) if self._seen else []
        return await in_turns(steps(engine.cluster, wanted, list(engine.findings()), engine.generation))
