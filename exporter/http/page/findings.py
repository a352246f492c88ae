"""/findings: causes, opened on demand to findings, with counted filters, all of it in the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Any

import msgspec
from aiohttp import web

from ...engine.cause_history import Changes
from ...engine.engine import Engine
from ...findings.finding import Finding, Severity
from ...views.causes import CauseReport, cause_order
from ...views.findings import Filter
from ...views.selection import AGES, FACETS, Counts, Selection, counting
from ...views.trust import trust_of
from ..reports.listing import Listing, Wanted
from .actions import Actions
from .address import SORTS, Address, Addresses
from .frame import Frame

_CAUSES = 50  # on one page
_OPENED = 20  # findings of a cause that is opened among others
_FINDINGS = 100  # of a cause that is shown alone, on one page
_VALUES = 8  # of a facet that are shown
_MORE_VALUES = 92  # that can be opened
_SLICE = 1000
_TITLES = {
    "since": "Known for",
    "hour": "less than an hour",
    "day": "less than a day",
    "week": "less than a week",
    "older": "longer",
}


class FacetValue(msgspec.Struct, frozen=True):
    value: str
    text: str
    count: int
    chosen: bool


class Facet(msgspec.Struct, frozen=True):
    """`more` are values that are not shown at once; `left_out` of them are not there at all."""

    name: str
    title: str
    values: tuple[FacetValue, ...]
    more: tuple[FacetValue, ...]
    left_out: int


class FindingsPage:
    def __init__(self, engine: Engine, frame: Frame, actions: Actions) -> None:
        self._frame, self._addresses, self._actions = frame, Addresses(engine), actions
        self._checks = [check.id for check in engine.checks]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            address = self._addresses.of(request)
        except ValueError as error:
            return await self._frame.mistake(request, 400, str(error), here="/findings")
        listing = self._frame.listing(request)
        generation = await listing.generation()
        alone = address.selection.cause
        base = msgspec.structs.replace(address.selection, cause=frozenset())
        causes = await listing.causes(wanted_of(base))
        if alone:
            causes = [each for each in causes if each.cause in alone]
            shown, per_page, entries = await self._members(listing, alone, base, address), _FINDINGS, 0
            entries = sum(each.findings for each in causes)
            counts = await self._counts_of(listing, alone, base)
        else:
            causes = _SORTED[address.sort](causes)
            per_page, entries = _CAUSES, len(causes)
            counts = await listing.counts(base)
            on_page = causes[(address.page - 1) * _CAUSES : address.page * _CAUSES]
            shown = {
                each.cause: list(islice(await listing.of_cause(each.cause, wanted_of(base)), _OPENED))
                for each in on_page
                if each.cause in address.opened
            }
        pages = max(1, -(-entries // per_page))
        values = {
            "generation": generation,
            "address": address,
            "alone": bool(alone),
            "in_all": len(causes),
            "trust": trust_of(listing.surroundings(generation), self._checks),
            "total": sum(each.findings for each in causes),
            "causes": causes if alone else on_page,
            "opened": {key: [listing.report_of(each) for each in found] for key, found in shown.items()},
            "pages": pages,
            "entry_forms": {each.cause: await self._actions.acknowledging(request, each) for each in causes if alone},
            "ended": await listing.ended() if base.anything and not alone and address.page == pages else [],
            "facets": [each for name in FACETS if (each := _facet(name, counts, address)) is not None],
            "chosen": [(name, value) for name, value in address.pairs if name != "cause"],
            "sorts": SORTS,
            "words": _TITLES,
        }
        return await self._frame.page(request, "findings.html", values, here="/findings")

    async def _members(
        self, listing: Listing, causes: Iterable[str], base: Selection, address: Address
    ) -> dict[str, Sequence[Finding]]:
        """The findings of these causes that are on the page."""
        start, room = (address.page - 1) * _FINDINGS, _FINDINGS
        shown: dict[str, Sequence[Finding]] = {}
        for cause in sorted(causes):
            own = await listing.of_cause(cause, wanted_of(base))
            shown[cause] = own[start : start + room] if start < len(own) else ()
            start, room = max(0, start - len(own)), room - len(shown[cause])
        return shown

    async def _counts_of(self, listing: Listing, causes: Iterable[str], base: Selection) -> Counts:
        counts: Counts = {}
        for cause in causes:
            for _ in counting(await listing.of_cause(cause, Filter()), base, counts, _SLICE):
                pass
        return counts


def wanted_of(selection: Selection) -> Wanted:
    """Of everything the causes and counts are kept."""
    return Filter() if selection.anything else selection


def _by_change(cause: CauseReport) -> tuple[Any, ...]:
    changes = cause.changes or Changes()
    each = (changes.hour, changes.day, changes.week)
    return *(-(span.opened + span.closed) for span in each), cause_order(cause)


_SORTED: dict[str, Callable[[list[CauseReport]], list[CauseReport]]] = {
    "severity": lambda causes: causes,  # they come so
    "age": lambda causes: sorted(causes, key=lambda each: (each.since or "~", cause_order(each))),
    "objects": lambda causes: sorted(causes, key=lambda each: (-each.objects, cause_order(each))),
    "change": lambda causes: sorted(causes, key=_by_change),
    "reason": lambda causes: sorted(causes, key=lambda each: (each.reason, cause_order(each))),
}


def _facet(name: str, counts: Counts, address: Address) -> Facet | None:
    """None where there is nothing to choose."""
    counted, chosen = counts.get(name, Counter()), address.chosen(name)
    if len(counted) < 2 and not chosen:
        return None
    fixed = {"severity": [each.value for each in reversed(Severity)], "since": list(AGES)}.get(name)
    most = nsmallest(_VALUES + _MORE_VALUES, counted, key=lambda value: (-counted[value], value))
    values = [each for each in fixed if each in counted or each in chosen] if fixed else most
    values += sorted(chosen.difference(values))
    made = [FacetValue(each, _TITLES.get(each, each), counted.get(each, 0), each in chosen) for each in values]
    first = [each for at, each in enumerate(made) if at < _VALUES or each.chosen]
    more = [each for at, each in enumerate(made) if at >= _VALUES and not each.chosen]
    left_out = len(counted) - len(set(values) & counted.keys())
    return Facet(name, _TITLES.get(name, name.capitalize()), tuple(first), tuple(more), left_out)
