"""/api/v1/vms/NAMESPACE/NAME: one VM whole, with an ETag."""

from __future__ import annotations

from aiohttp import web

from ...counts.migrations import MigrationFailures
from ...engine.engine import Engine
from ...engine.turn import in_turns
from ...views.vm import NoSuchVMError, VMWhole, steps
from ..reports.result_cache import Shared, Versions
from ..server.sending import json_answer, json_error

_Key = tuple[str, str]  # namespace and name


class VMView:
    def __init__(self, engine: Engine, kept: MigrationFailures, versions: Versions, instance: str) -> None:
        """`instance` distinguishes one run of the steward from the next: generations start again with each."""
        self._engine, self._kept, self._instance = engine, kept, instance
        self._taken = Shared[_Key, VMWhole](lambda: (versions.everything, kept.version))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.query:
            return json_error(400, "one VM is asked for by its path alone; there are no parameters")
        try:
            found = await self.take(request.match_info["namespace"], request.match_info["name"])
        except NoSuchVMError as error:
            return json_error(404, str(error))
        return await json_answer(request, self._instance, found)

    async def take(self, namespace: str, name: str) -> VMWhole:
        """Raises NoSuchVMError."""
        return await self._taken.get((namespace, name), lambda: self._take(namespace, name))

    async def _take(self, namespace: str, name: str) -> VMWhole:
        return await in_turns(steps(self._engine, namespace, name, self._kept.of(namespace, name)))
