"""/api/v1/migrations: why the last migrations of VMIs failed, for tenants those of theirs; with an ETag."""

from __future__ import annotations

from typing import TypeAlias

from aiohttp import web

from ...counts.migrations import MigrationFailures
from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...views.migrations import FailedMigrationReport, Migrations, failure_report, steps
from ..access.viewer import Visible, visible_to
from ..reports.result_cache import Shared
from ..server.query import names_in
from ..server.sending import json_answer, json_error

_SIZE = 500  # bytes of a failure
_Asked: TypeAlias = tuple[Visible | None, frozenset[str], frozenset[str]]


class MigrationsView:
    def __init__(self, engine: Engine, kept: MigrationFailures, instance: str) -> None:
        """`instance` is the ID of this run of the steward."""
        self._engine, self._kept, self._instance = engine, kept, instance
        self._taken = Shared[_Asked, Migrations](
            lambda: (kept.version, engine.generation),
            lambda made: sum(_SIZE * len(each.failures) for each in made.vmis),
        )

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """With `namespace` and `name` only VMIs that have one of each."""
        try:
            namespaces, names = names_in(request, "namespace", "name")
        except ValueError as error:
            return json_error(400, str(error))
        asked = visible_to(request), frozenset(namespaces), frozenset(names)
        found = await self._taken.get(asked, lambda: self._take(*asked))
        return await json_answer(request, self._instance, found)

    async def _take(self, visible: Visible | None, namespaces: frozenset[str], names: frozenset[str]) -> Migrations:
        def shows(namespace: str) -> bool:
            return (visible is None or namespace in visible) and (not namespaces or namespace in namespaces)

        return await in_turns(steps(self._engine.cluster, self._kept, shows, names))

    def of(self, namespace: str, vmi: str) -> list[FailedMigrationReport]:
        """Those of one VMI, newest first."""
        return [failure_report(each) for each in self._kept.of(namespace, vmi)]
