"""/repairs: what waits for an approval, what was written, and what is refused or held back, by why."""

from __future__ import annotations

from aiohttp import web

from ...sidecar.repairs import Repairs
from ...views.repairs import REPAIR_STATES, RepairGroups, grouped
from .frame import Frame

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
