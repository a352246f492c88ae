"""/vms/ and /vms.csv: the VMs that match a filter; the same rows on the pages of what VMs have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from ...questions.asked import VMsQuery, sent
from ...questions.question import UnaskableError
from ...questions.vm.verdicts import ACTS
from ...questions.vms import COLUMNS, FIRST, SORTS, STATES, VMs, cells
from ..api.questions import VMsView
from ..server.query import asked_in
from ..server.sending import as_text, send
from .findings import lines
from .frame import Frame

_PART = 500  # rows written at once


class VMsPage:
    def __init__(self, frame: Frame, view: VMsView) -> None:
        self._frame, self._view = frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = _asked(request)
            vms = await self._view.asked(request, asked)
        except UnaskableError as error:
            return await self._frame.mistake(request, 400, str(error), here="/vms/")
        size = int(asked.limit or FIRST)
        page, pages = int(asked.page or 1), max(1, -(-vms.in_all // size))
        values: dict[str, Any] = {
            "vms": vms,
            "asked": asked,
            "states": STATES,
            "acts": ACTS,
            "sorts": SORTS,
            "page": page,
            "pages": pages,
            "link": lambda number: _address(asked._replace(page=str(number))),
            "all": _query(asked._replace(page="", limit="")),
            "here_asked": _query(asked),
        }
        return await self._frame.page(request, "vms.html", values, here="/vms/")

    async def csv(self, request: web.Request) -> web.StreamResponse:
        """All that match."""
        try:
            vms = await self._view.every_of(request, _asked(request))
        except UnaskableError as error:
            return as_text(400, str(error))
        headers = {"Content-Type": "text/csv; charset=utf-8", "Content-Disposition": 'attachment; filename="vms.csv"'}
        return await send(request, _csv(vms), headers)

    async def about(self, query: VMsQuery) -> dict[str, Any]:
        """The rows for the page of something that VMs have in common, and the address of all of them."""
        return {"vms": await self._view.answer(query), "all_vms": _address(query)}


def _asked(request: web.Request) -> VMsQuery:
    """A form sends each of its fields, and those that are empty ask for nothing. Raises UnaskableError."""
    return asked_in(request, VMsQuery)


def _query(asked: VMsQuery) -> str:
    given = urlencode([*sent(asked)])
    return f"?{given}" if given else ""


def _address(asked: VMsQuery) -> str:
    return f"/vms/{_query(asked)}"


async def _csv(vms: VMs) -> AsyncIterator[bytes]:
    yield lines([COLUMNS])
    for start in range(0, len(vms.rows), _PART):
        yield lines(cells(row) for row in vms.rows[start : start + _PART])
