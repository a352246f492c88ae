"""/runbooks/: the runbooks as pages, by area, for whoever can't reach the internet."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from ...checks import all_checks
from ...runbook import anchor, headed, texts
from ...views.nearest import nearest
from ...views.selection import area_of
from ...views.urgency import Urgency
from ..html.markdown import rendered
from .frame import Frame
from .runbook_parts import Runbooks

_OF_STEWARD = "steward"  # the area of alerts that no reason names


class RunbookPages:
    def __init__(self, frame: Frame, runbooks: Runbooks, urgencies: Mapping[str, Urgency]) -> None:
        """`urgencies` are by the name of the alert."""
        self._frame, self._runbooks, self._urgencies = frame, runbooks, urgencies
        area = {reason.alert: area_of(check.id) for check in all_checks() for reason in check.reasons.values()}
        self._by_area: dict[str, list[str]] = {}
        for name in texts():
            self._by_area.setdefault(area.get(name, _OF_STEWARD), []).append(name)

    async def every(self, request: web.Request) -> web.StreamResponse:
        values = {"by_area": dict(sorted(self._by_area.items())), "urgencies": self._urgencies, "name": ""}
        return await self._frame.page(request, "runbook.html", values, here="/runbooks/")

    async def one(self, request: web.Request) -> web.StreamResponse:
        """By the name of its alert, with or without `.md`: `steward rules render` writes links with it."""
        name = request.match_info["name"].removesuffix(".md")
        if name not in texts():
            near = nearest(name, texts())
            sentence = f"There is no runbook {name[:100]!r}" + (f"; did you mean {near}?" if near else ".")
            more = {"near": [(f"/runbooks/{near}.md", near)] if near else []}
            return await self._frame.mistake(request, 404, sentence, here="/runbooks/", more=more)
        parts = [
            (section.title, rendered([token for block in section.blocks for token in block.tokens]))
            for section in self._runbooks.sections(name)
        ]
        reasons = [(each, anchor(each)) for each in headed(name)]
        values = {"name": name, "parts": parts, "urgency": self._urgencies.get(name), "reasons": reasons}
        return await self._frame.page(request, "runbook.html", values, here="/runbooks/")
