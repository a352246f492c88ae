"""/health: what the steward can't say, and why: checks without an answer, kinds, objects, its configuration."""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

from ...engine.engine import Engine
from ...findings.finding import Unknown
from ...store.source import SyncState
from ...views.trust import trust_of
from .frame import Frame

_SHOWN = 200  # objects, and places without an answer
_CURRENT = {SyncState.LIVE, SyncState.READ, SyncState.ABSENT}  # the other kinds come first


class HealthPage:
    def __init__(self, engine: Engine, frame: Frame) -> None:
        self._engine, self._frame = engine, frame

    async def handle(self, request: web.Request) -> web.StreamResponse:
        listing = self._frame.listing(request)
        report = listing.surroundings(await listing.generation())
        values = {
            "generation": report.generation,
            "report": report,
            "kinds": sorted(report.sources, key=lambda each: each.state in _CURRENT),
            "trust": trust_of(report, [check.id for check in self._engine.checks]),
            "unknown": _by_why(report.unknown),
            "acknowledged": listing.known_causes(),
            "most": _SHOWN,
        }
        return await self._frame.page(request, "health.html", values, here="/health")


def _by_why(unknowns: Iterable[Unknown]) -> list[tuple[str, list[Unknown]]]:
    """One row for each cause, the one with most first."""
    found: dict[str, list[Unknown]] = {}
    for each in unknowns:
        found.setdefault(each.why, []).append(each)
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
