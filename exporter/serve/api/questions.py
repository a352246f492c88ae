"""What people ask, over HTTP: drain, features, impact, instancetypes, migrations, networks, vms; each with an ETag.

`/api/v1/QUESTION` reads its parameters, takes the answer of `exporter.questions`, once for all who ask the same, and
sends it. The pages take the same answers.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Generic, TypeAlias, TypeVar

from aiohttp import web

from ...counts.addresses import AddressUsage
from ...counts.base import Aggregate
from ...counts.features import FeatureUsage
from ...counts.instancetypes import InstancetypeUsage
from ...counts.migrations import MigrationFailures
from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...facts.record import Ref
from ...findings.finding import Finding
from ...questions import drain as of_drain
from ...questions import features as of_features
from ...questions import impact as of_impact
from ...questions import instancetypes as of_instancetypes
from ...questions import migrations as of_migrations
from ...questions import networks as of_networks
from ...questions import vm as of_vm
from ...questions.drain import Drain, NoSuchNodeError
from ...questions.features import Features, NoSuchFeatureError
from ...questions.impact import Impact, ImpactQuery, NoSuchObjectError
from ...questions.instancetypes import Instancetypes
from ...questions.migrations import FailedMigrationReport, Migrations
from ...questions.networks import Networks
from ...questions.vm import NoSuchVMError, VMWhole
from ...store.kinds.node import Node
from ...store.source import Source
from ..access.viewer import Visible, visible_to
from ..reports.result_cache import Shared, Versions
from ..server.query import names_in
from ..server.sending import json_answer, json_error

_NOT_THERE = (NoSuchFeatureError, NoSuchNodeError, NoSuchObjectError, NoSuchVMError)


class _BadRequestError(Exception):
    """What a request can't ask, as a sentence: any other error is ours."""


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class _Question(ABC, Generic[Key, Value]):
    """One question: the path that answers it, and for pages `take`."""

    def __init__(
        self, engine: Engine, instance: str, version: Callable[[], Hashable], size: Callable[[Value], int] = lambda _: 0
    ) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each. `version`
        is that of what the answer is made of, `size` that of an answer in bytes.
        """
        self._engine, self._instance = engine, instance
        self._shared = Shared[Key, Value](version, size)

    @abstractmethod
    async def answer(self, request: web.Request) -> Value:
        """By the parameters of a request. Raises _BadRequestError, one of _NOT_THERE."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            found = await self.answer(request)
        except _NOT_THERE as error:
            return json_error(404, str(error))
        except _BadRequestError as error:
            return json_error(400, str(error))
        return await json_answer(request, self._instance, found)


async def _settled(usage: Aggregate) -> None:
    for _ in usage.settle():
        await asyncio.sleep(0)


def _given(request: web.BaseRequest, *parameters: str) -> tuple[tuple[str, ...], ...]:
    """The values of each parameter. Raises _BadRequestError."""
    try:
        return names_in(request, *parameters)
    except ValueError as error:
        raise _BadRequestError(str(error)) from error


def _only(request: web.BaseRequest, parameter: str) -> str:
    """The one value of a parameter, empty for none. Raises _BadRequestError."""
    (names,) = _given(request, parameter)
    if len(names) > 1:
        raise _BadRequestError(f"{parameter} is given {len(names)} times; give one, or none for all")
    return next(iter(names), "")


class NetworksView(_Question[str, Networks]):
    """IP usage and reclaimable addresses of each network; with the parameter `network` only of that one."""

    def __init__(self, engine: Engine, usage: AddressUsage, versions: Versions, instance: str) -> None:
        super().__init__(engine, instance, lambda: versions.everything)
        self._usage = usage

    async def answer(self, request: web.Request) -> Networks:
        return await self.take(_only(request, "network"))

    async def take(self, only: str = "") -> Networks:
        return await self._shared.get(only, lambda: self._take(only))

    async def _take(self, only: str) -> Networks:
        await _settled(self._usage)
        engine, found = self._engine, list(self._engine.findings())
        return await in_turns(of_networks.steps(engine.cluster, self._usage, found, engine.generation, only))


class InstancetypesView(_Question[str, Instancetypes]):
    """Who refers to each instancetype and preference, and how; with the parameter `name` only to those of that name,
    or to the one of NAMESPACE/NAME.
    """

    def __init__(self, engine: Engine, usage: InstancetypeUsage, versions: Versions, instance: str) -> None:
        super().__init__(engine, instance, lambda: versions.everything)
        self._usage = usage

    async def answer(self, request: web.Request) -> Instancetypes:
        return await self.take(_only(request, "name"))

    async def take(self, only: str = "") -> Instancetypes:
        return await self._shared.get(only, lambda: self._take(only))

    async def _take(self, only: str) -> Instancetypes:
        await _settled(self._usage)
        engine, found = self._engine, list(self._engine.findings())
        return await in_turns(of_instancetypes.steps(engine.cluster, self._usage, found, engine.generation, only))


class FeaturesView(_Question[None, Features]):
    """What the cluster allows, who asks for it, and which feature gates are on; with the parameter `feature` only
    those features, or those of a feature gate, with `unallowed` only what is asked for without being allowed.
    """

    def __init__(self, engine: Engine, usage: FeatureUsage, versions: Versions, instance: str) -> None:
        super().__init__(engine, instance, lambda: versions.everything)
        self._usage = usage

    async def answer(self, request: web.Request) -> Features:
        names, wanted = _given(request, "feature", "unallowed")
        if set(wanted) - {"true", "false"} or len(wanted) > 1:
            raise _BadRequestError("unallowed is true or false")
        return of_features.selected(await self.take(), names, unallowed=wanted == ("true",))

    async def take(self) -> Features:
        return await self._shared.get(None, self._take)

    async def _take(self) -> Features:
        await _settled(self._usage)
        engine, found = self._engine, list(self._engine.findings())
        return await in_turns(of_features.steps(engine.cluster, self._usage, found, engine.generation))


class VMView(_Question[tuple[str, str], VMWhole]):
    """One VM whole."""

    def __init__(self, engine: Engine, kept: MigrationFailures, versions: Versions, instance: str) -> None:
        super().__init__(engine, instance, lambda: (versions.everything, kept.version))
        self._kept = kept

    async def answer(self, request: web.Request) -> VMWhole:
        if request.query:
            raise _BadRequestError("one VM is asked for by its path alone; there are no parameters")
        return await self.take(request.match_info["namespace"], request.match_info["name"])

    async def take(self, namespace: str, name: str) -> VMWhole:
        """Raises NoSuchVMError."""
        return await self._shared.get((namespace, name), lambda: self._take(namespace, name))

    async def _take(self, namespace: str, name: str) -> VMWhole:
        return await in_turns(of_vm.steps(self._engine, namespace, name, self._kept.of(namespace, name)))


_SHOWN = 500  # findings of one answer
_NOTHING = f"name a change: {', '.join(of_impact.PARAMETERS)}"


def asked_in(request: web.BaseRequest) -> ImpactQuery:
    """Raises ValueError."""
    return ImpactQuery(*names_in(request, *of_impact.PARAMETERS, whole=of_impact.WHOLE))


class ImpactView(_Question[ImpactQuery, Impact]):
    """What all changes that the parameters name would do together."""

    def __init__(self, engine: Engine, versions: Versions, instance: str) -> None:
        super().__init__(engine, instance, lambda: versions.everything)

    async def answer(self, request: web.Request) -> Impact:
        try:
            asked = asked_in(request)
            if not any(asked):
                raise _BadRequestError(_NOTHING)
            return await self.take(asked)
        except ValueError as error:  # what can't be done is one
            raise _BadRequestError(str(error)) from error

    async def take(self, asked: ImpactQuery) -> Impact:
        """Raises NoSuchObjectError, and ValueError for what can't be done."""
        return await self._shared.get(asked, lambda: self._take(asked))

    async def _take(self, asked: ImpactQuery) -> Impact:
        return await in_turns(of_impact.steps(self._engine, of_impact.proposed(self._engine.cluster, asked), _SHOWN))


_MOST_UNDER_WAY = 10  # nodes


class DrainView(_Question[tuple[str, ...], Drain]):
    """What a drain of the nodes of the parameter `node` would do; without one, of all that are cordoned or tainted to
    be drained.
    """

    def __init__(
        self, engine: Engine, versions: Versions, instance: str, about: Callable[[Ref], Awaitable[list[Finding]]]
    ) -> None:
        """`about` gives the findings of an object."""
        super().__init__(engine, instance, lambda: versions.everything)
        self._about = about
        self._under_way = Shared[None, Drain](lambda: versions.everything)

    async def answer(self, request: web.Request) -> Drain:
        (names,) = _given(request, "node")
        return await self.take(names)

    async def take(self, nodes: Iterable[str] = ()) -> Drain:
        """Of these nodes; of all that are cordoned or drained where none is named. Raises NoSuchNodeError."""
        named = tuple(nodes)
        return await self._shared.get(named, lambda: self._take(named))

    async def under_way(self) -> Drain:
        """Of the first nodes that are cordoned or drained; it costs the same however many findings there are of
        others.
        """
        return await self._under_way.get(None, self._take_under_way)

    async def _take_under_way(self) -> Drain:
        cluster = self._engine.cluster
        wanted = of_drain.draining(cluster)[:_MOST_UNDER_WAY] if self._seen else []
        drain = await in_turns(of_drain.steps(cluster, wanted, (), self._engine.generation))
        # What leaves is stuck once something is found of it. What stays does so with and without.
        leaving = [vm.vm for node in drain.nodes for vm in node.vms if vm.state in of_drain.LEAVES]
        found = [finding for each in leaving for finding in await self._about(each)]
        return await in_turns(of_drain.steps(cluster, wanted, found, self._engine.generation)) if found else drain

    @property
    def _seen(self) -> bool:
        source = self._engine.cluster.get(Source, "", Node.__name__)
        return source is not None and source.readable

    async def _take(self, named: tuple[str, ...]) -> Drain:
        engine = self._engine
        wanted = of_drain.chosen_nodes(engine.cluster, named, cordoned=not named) if self._seen else []
        return await in_turns(of_drain.steps(engine.cluster, wanted, list(engine.findings()), engine.generation))


_SIZE = 500  # bytes of a failure
_Asked: TypeAlias = tuple[Visible | None, frozenset[str], frozenset[str]]


class MigrationsView(_Question[_Asked, Migrations]):
    """Why the last migrations of VMIs failed, for tenants those of theirs; with the parameters `namespace` and `name`
    only of VMIs that have one of each.
    """

    def __init__(self, engine: Engine, kept: MigrationFailures, instance: str) -> None:
        version = lambda: (kept.version, engine.generation)  # noqa: E731
        super().__init__(engine, instance, version, lambda made: sum(_SIZE * len(each.failures) for each in made.vmis))
        self._kept = kept

    async def answer(self, request: web.Request) -> Migrations:
        namespaces, names = _given(request, "namespace", "name")
        asked = visible_to(request), frozenset(namespaces), frozenset(names)
        return await self._shared.get(asked, lambda: self._take(*asked))

    async def _take(self, visible: Visible | None, namespaces: frozenset[str], names: frozenset[str]) -> Migrations:
        def shows(namespace: str) -> bool:
            return (visible is None or namespace in visible) and (not namespaces or namespace in namespaces)

        return await in_turns(of_migrations.steps(self._engine.cluster, self._kept, shows, names))

    def of(self, namespace: str, vmi: str) -> list[FailedMigrationReport]:
        """Those of one VMI, newest first."""
        return [of_migrations.failure_report(each) for each in self._kept.of(namespace, vmi)]
