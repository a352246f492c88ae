"""/impact: what a change of the configuration, a deletion or an upgrade would do; without a change it asks for one."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from ...store.record import Ref
from ...views.impact import PARAMETERS, WHOLE, Impact, NoSuchObjectError, SubjectOutcome
from ..api.impact import ImpactView, asked_in
from ..html.words import counted
from .frame import Frame


class ImpactPage:
    def __init__(self, frame: Frame, view: ImpactView) -> None:
        self._frame, self._view = frame, view

    async def handle(self, request: web.Request) -> web.StreamResponse:
        values: dict[str, Any] = {"impact": None, "again": "", "sentence": ""}
        given = {name: tuple(request.query.getall(name, ())) for name in PARAMETERS}
        try:
            asked = asked_in(request)
            impact = await self._view.take(asked) if any(asked) else None
        except (ValueError, NoSuchObjectError) as error:
            values |= {"given": given, "sentence": str(error)}
            return await self._frame.page(request, "impact.html", values, here="/impact", status=400)
        given = dict(zip(PARAMETERS, asked, strict=True))
        again = urlencode([(name, value) for name, own in given.items() for value in own])
        values |= {"impact": impact, "given": given, "again": again, "whole_values": WHOLE}
        if impact is not None:
            values |= {"verdict": _verdict(impact), "broken": _broken(impact), "used": [], "unused": [], "unruled": []}
            for gate in impact.gates:
                values["used" if gate.used else "unused" if gate.ruled else "unruled"].append(gate)
        return await self._frame.page(request, "impact.html", values, here="/impact")


_SAYING = {
    SubjectOutcome.BREAKS: ("object breaks", "objects break"),
    SubjectOutcome.WORSE: ("gets worse in another way", "get worse in another way"),
    SubjectOutcome.SAFE: ("is safe, by its revision", "are safe, by their revisions"),
    SubjectOutcome.OTHER: ("differs, and is no worse", "differ, and are no worse"),
}


def _broken(impact: Impact) -> list[Ref]:
    """Each object that breaks, once, as far as they are listed; of what concerns the whole cluster its VMs."""
    breaking = (each for each in impact.findings if each.outcome == SubjectOutcome.BREAKS)
    broken = (ref for each in breaking for ref in each.vms or (each.finding.subject,))
    return list({str(each): each for each in broken}.values())


def _verdict(impact: Impact) -> str:
    """What it comes to, in a sentence."""
    parts = [counted(count, *_SAYING[SubjectOutcome(outcome)]) for outcome, count in impact.counts.items() if count]
    parts[:1] = [f"of what is found, {each}" for each in parts[:1]]
    if not parts:
        parts.append("no finding would differ" + (" in what could be evaluated" if impact.unknown_in_all else ""))
    for ruled, said in ((True, "that no VM asks for"), (False, "of which it is not known who is hit")):
        if number := sum(not gate.used and gate.ruled is ruled for gate in impact.gates):
            parts.append(f"{counted(number, 'gate switches', 'gates switch')} {said}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."
