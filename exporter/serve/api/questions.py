"""What people ask, over HTTP: each question of `exporter.questions` at its path below /api/v1, with an ETag.

The answer is made once for all who ask the same. The pages take the same answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic

from aiohttp import web

from ...counts.migrations import MigrationFailures
from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...facts.record import Ref
from ...findings.advice import in_turn
from ...findings.finding import Finding
from ...questions import drain as of_drain
from ...questions.asked import MigrationsQuery, VMQuery, VMsQuery
from ...questions.drain import Drain
from ...questions.migrations import FailedMigrationReport, Migrations, failure_report
from ...questions.question import Answer, Asked, NotThereError, Question, UnaskableError
from ...questions.vm import VMWhole
from ...questions.vm.owner import for_owner
from ...questions.vms import VMs
from ..access.viewer import Visible, visible_to
from ..reports.listings import Listings
from ..reports.result_cache import Shared, Versions
from ..server.query import asked_in
from ..server.sending import json_answer, json_error


class QuestionView(Generic[Asked, Answer]):
    """One question: the path that answers it, and for pages `answer`."""

    def __init__(
        self,
        question: Question[Asked, Answer],
        engine: Engine,
        counted: Any,
        instance: str,
        version: Callable[[], Hashable],
        size: Callable[[Answer], int] = lambda _: 0,
    ) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each. `version`
        is that of what the answer is made of, `size` that of an answer in bytes.
        """
        self.question, self._engine, self._counted, self._instance = question, engine, counted, instance
        self._shared = Shared[Hashable, Answer](version, size)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            found = await self.asked(request, asked_in(request, self.question.asked))
        except NotThereError as error:
            return json_error(404, str(error))
        except UnaskableError as error:
            return json_error(400, str(error))
        return await json_answer(request, self._instance, found)

    async def asked(self, _: web.Request, asked: Asked) -> Answer:
        """By a request. Raises NotThereError and UnaskableError."""
        return await self.answer(asked)

    async def answer(self, asked: Asked | None = None) -> Answer:
        """All of it where nothing is asked for. Raises NotThereError and UnaskableError."""
        question = self.question
        asked = question.asked() if asked is None else asked
        if question.narrowed is None:
            return await self._made(asked, asked, self._counted)
        return question.narrowed(await self._made(None, asked, self._counted), asked)

    async def every(self, asked: Asked, counted: Any) -> Answer:
        """More than one answer shows: it is not kept. Raises NotThereError and UnaskableError."""
        return await in_turns(self.question.steps(self._engine, counted, asked))

    async def _made(self, key: Hashable, asked: Asked, counted: Any) -> Answer:
        steps = self.question.bounded or self.question.steps
        return await self._shared.get(key, lambda: in_turns(steps(self._engine, counted, asked)))


class VMsView(QuestionView[VMsQuery, VMs]):
    """The list of VMs, for tenants of those in their namespaces."""

    async def asked(self, request: web.Request, asked: VMsQuery) -> VMs:
        visible = visible_to(request)
        if visible is None:
            return await self.answer(asked)
        return await self._made((visible, asked), asked, (self._counted, visible))

    async def every_of(self, request: web.Request, asked: VMsQuery) -> VMs:
        """All that match, for the viewer."""
        visible = visible_to(request)
        return await self.every(asked, self._counted if visible is None else (self._counted, visible))


class VMView(QuestionView[VMQuery, VMWhole]):
    """One VM, for tenants one in their namespaces, with what leads elsewhere left out."""

    def __init__(self, listings: Listings, *given: Any) -> None:
        super().__init__(*given)
        self._listings = listings

    async def asked(self, request: web.Request, asked: VMQuery) -> VMWhole:
        visible = visible_to(request)
        if visible is None:
            return await self.answer(asked)
        if asked.beside:
            raise UnaskableError("two VMs are compared for those who see the whole cluster")
        try:
            if asked.namespace not in visible:
                raise NotThereError
            found = await self.answer(asked)
        except NotThereError as error:  # the nearest name may be one of elsewhere
            raise NotThereError(f"no VM is called {f'{asked.namespace}/{asked.name}'[:253]!r}") from error
        listing = self._listings.of(visible)
        findings = in_turn(await listing.of_vm(asked.namespace, asked.name))
        forbidding = self._engine.restraints.of(asked.namespace, asked.name)
        return for_owner(found, map(listing.report_of, findings), forbidding)


_MOST_UNDER_WAY = 10  # nodes


class DrainUnderWay:
    """What drains do that are under way, of the first nodes that are cordoned or drained; it costs the same however
    many findings there are of others.
    """

    def __init__(self, engine: Engine, versions: Versions, about: Callable[[Ref], Awaitable[list[Finding]]]) -> None:
        """`about` gives the findings of an object."""
        self._engine, self._about = engine, about
        self._shared = Shared[None, Drain](lambda: versions.everything)

    async def answer(self) -> Drain:
        return await self._shared.get(None, self._made)

    async def _made(self) -> Drain:
        cluster = self._engine.cluster
        wanted = of_drain.draining(cluster)[:_MOST_UNDER_WAY] if of_drain.nodes_seen(cluster) else []
        drain = await in_turns(of_drain.steps(cluster, wanted, (), self._engine.generation))
        # What leaves is stuck once something is found of it. What stays does so with and without.
        leaving = [vm.vm for node in drain.nodes for vm in node.vms if vm.state in of_drain.LEAVES]
        found = [finding for each in leaving for finding in await self._about(each)]
        return await in_turns(of_drain.steps(cluster, wanted, found, self._engine.generation)) if found else drain


_SIZE = 500  # bytes of a failure


class MigrationsView(QuestionView[MigrationsQuery, Migrations]):
    """Why the last migrations of VMIs failed, for tenants those of theirs."""

    def __init__(
        self, question: Question[MigrationsQuery, Migrations], engine: Engine, kept: MigrationFailures, instance: str
    ) -> None:
        version = lambda: (kept.version, engine.generation)  # noqa: E731
        size = lambda made: sum(_SIZE * len(each.failures) for each in made.vmis)  # noqa: E731
        super().__init__(question, engine, kept, instance, version, size)

    async def asked(self, request: web.Request, asked: MigrationsQuery) -> Migrations:
        visible: Visible | None = visible_to(request)

        def shows(namespace: str) -> bool:
            return visible is None or namespace in visible

        return await self._made((visible, asked), asked, (self._counted, shows))

    def of(self, namespace: str, vmi: str) -> list[FailedMigrationReport]:
        """Those of one VMI, newest first."""
        return [failure_report(each) for each in self._counted.of(namespace, vmi)]
