"""/findings: causes, opened on demand to findings, with counted filters, all of it in the address."""

from __future__ import annotations

import asyncio
import csv
import io
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Any

import msgspec
from aiohttp import web

from ...engine.engine import Engine
from ...facts.naming import cell
from ...findings.finding import Finding
from ...findings.severity import Severity
from ...questions.causes import CauseReport, cause_order
from ...questions.findings import Filter, FindingReport
from ...questions.nearest import nearest
from ...questions.selection import AGES, FACETS, OWN, URGENT, Counts, Selection, area_of, counting
from ...questions.trust import trust_of
from ..html.rendering import query
from ..reports.listing import Chooser, Listing
from ..server.query import Parameters, number_in, single_in, values_of
from ..server.sending import as_json, as_text, json_error, send
from .frame import Frame

# What the address of /findings asks for, and the addresses of what is a little different from it.

SORTS = {
    "severity": "the worst first",
    "age": "the oldest first",
    "objects": "most objects first",
    "change": "most change in the last hour first",
    "reason": "by reason",
}
_FIXED = {"since": list(AGES), "urgent": list(URGENT)}  # all values of a facet, in their order
_MINUTE = 60.0
_VIEW = ("sort", "page", "open")
_MOST_OPEN = 50  # causes that are opened at once


class Address(msgspec.Struct, frozen=True):
    """`opened` are the ids of the causes that are shown with their findings; `page` begins with 1."""

    selection: Selection
    sort: str = "severity"
    page: int = 1
    opened: tuple[str, ...] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What is asked for, without how it is shown."""
        own = self.selection
        fields = [(name, getattr(own.filter, name)) for name in Filter.__struct_fields__]
        fields += [(name, getattr(own, name)) for name in OWN]
        return [(name, value) for name, values in fields for value in sorted(values)]

    def link(self, **changes: Any) -> str:
        return f"/findings{self.asked(**changes)}"

    def asked(self, **changes: Any) -> str:
        """The query of an address that differs in some fields, with its `?`."""
        other = msgspec.structs.replace(self, **changes)
        pairs = other.pairs
        pairs += [("sort", other.sort)] if other.sort != "severity" else []
        pairs += [("open", each) for each in other.opened]
        pairs += [("page", str(other.page))] if other.page > 1 else []
        return f"?{query(pairs)}" if pairs else ""

    def toggled(self, cause: str) -> str:
        """With one cause opened or closed."""
        if cause in self.opened:
            return self.link(opened=tuple(each for each in self.opened if each != cause))
        return self.link(opened=(*self.opened, cause)[-_MOST_OPEN:])

    def without(self, name: str, value: str) -> str:
        """With one value less."""
        own = self.selection
        if name in OWN:
            return self.link(selection=msgspec.structs.replace(own, **{name: getattr(own, name) - {value}}), page=1)
        less = msgspec.structs.replace(own.filter, **{name: getattr(own.filter, name) - {value}})
        return self.link(selection=msgspec.structs.replace(own, filter=less), page=1)

    def chosen(self, name: str) -> frozenset[str]:
        """The values that are asked for of a facet."""
        values: frozenset[str] = getattr(self.selection if name in OWN else self.selection.filter, name)
        return values


class Addresses:
    def __init__(self, engine: Engine) -> None:
        self._clock = engine.clock
        self._parameters = Parameters(engine, (*OWN, *_VIEW))
        self._known = {"area": sorted({area_of(each.id) for each in engine.checks}), **_FIXED}

    def of(self, request: web.BaseRequest) -> Address:
        """Raises ValueError for what can't be asked for, in one sentence."""
        wanted = self._parameters.filter(request)
        area, since, urgent = (self._values(request, name) for name in ("area", "since", "urgent"))
        sort = single_in(request, "sort") or "severity"
        if sort not in SORTS:
            raise ValueError(f"findings can't be sorted by {sort[:60]!r}; there are: {', '.join(SORTS)}")
        moment = self._clock() // _MINUTE * _MINUTE if since else 0.0
        selection = Selection(wanted, area, since, frozenset(values_of(request, "cause")), urgent, moment)
        opened = tuple(dict.fromkeys(values_of(request, "open")))[:_MOST_OPEN]
        return Address(selection, sort, max(1, number_in(request, "page") or 1), opened)

    def _values(self, request: web.BaseRequest, name: str) -> frozenset[str]:
        values = frozenset(values_of(request, name))
        for value in sorted(values.difference(self._known[name])):
            near = nearest(value, self._known[name])
            known = f"did you mean {near}?" if near else f"there are: {', '.join(self._known[name])}"
            raise ValueError(f"there is no {name} {value[:60]!r}; {known}")
        return values


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
    "urgent": "Urgent",
    "pages": "yes, the alert pages",
    "waits": "no, until the morning",
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
    def __init__(self, engine: Engine, frame: Frame) -> None:
        self._frame, self._addresses = frame, Addresses(engine)
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


def wanted_of(selection: Selection) -> Chooser:
    """Of everything the causes and counts are kept."""
    return Filter() if selection.anything else selection


def _by_change(cause: CauseReport) -> tuple[Any, ...]:
    return -((cause.opened or 0) + (cause.closed or 0)), cause_order(cause)


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
    fixed = {"severity": [each.value for each in reversed(Severity)], **_FIXED}.get(name)
    most = nsmallest(_VALUES + _MORE_VALUES, counted, key=lambda value: (-counted[value], value))
    values = [each for each in fixed if each in counted or each in chosen] if fixed else most
    values += sorted(chosen.difference(values))
    made = [FacetValue(each, _TITLES.get(each, each), counted.get(each, 0), each in chosen) for each in values]
    first = [each for at, each in enumerate(made) if at < _VALUES or each.chosen]
    more = [each for at, each in enumerate(made) if at >= _VALUES and not each.chosen]
    left_out = len(counted) - len(set(values) & counted.keys())
    return Facet(name, _TITLES.get(name, name.capitalize()), tuple(first), tuple(more), left_out)


# /findings.csv and /findings.json: all findings that the page of the same address has, as files.

_PART = 50  # findings encoded at once

_COLUMNS = (
    *("severity", "area", "check", "reason", "kind", "namespace", "name", "vm", "node", "network", "feature"),
    *("since", "sinceSource", "message", "next", "remediation", "fingerprint", "cause"),
)


class Exports:
    def __init__(self, frame: Frame, addresses: Addresses) -> None:
        self._frame, self._addresses = frame, addresses

    async def csv(self, request: web.Request) -> web.StreamResponse:
        try:
            wanted = wanted_of(self._addresses.of(request).selection)
        except ValueError as error:
            return as_text(400, str(error))
        listing = self._frame.listing(request)
        headers = {
            "Content-Type": "text/csv; charset=utf-8",
            "Content-Disposition": 'attachment; filename="findings.csv"',
        }
        return await send(request, _csv(listing, await listing.chosen(wanted)), headers)

    async def json(self, request: web.Request) -> web.StreamResponse:
        try:
            wanted = wanted_of(self._addresses.of(request).selection)
        except ValueError as error:
            return json_error(400, str(error))
        listing = self._frame.listing(request)
        parts = _json(listing, await listing.causes(wanted), await listing.chosen(wanted))
        return await send(request, parts, {"Content-Type": "application/json"})


async def _csv(listing: Listing, findings: Iterable[Finding]) -> AsyncIterator[bytes]:
    yield lines([_COLUMNS])
    rest = iter(findings)
    while part := tuple(islice(rest, _PART)):
        yield lines(_row(listing.report_of(each)) for each in part)
        await asyncio.sleep(0)


def lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([cell(each) for each in row] for row in rows)
    return text.getvalue().encode("utf-8", "replace")


def _row(finding: FindingReport) -> tuple[str, ...]:
    subject = finding.subject
    return (
        *(finding.severity, area_of(finding.check), finding.check, finding.reason),
        *(subject.kind, subject.namespace, subject.name, finding.vm, finding.node, finding.network, finding.feature),
        *(finding.since, finding.since_source, finding.message, finding.next, finding.remediation or ""),
        *(finding.fingerprint, finding.cause),
    )


async def _json(listing: Listing, causes: list[CauseReport], findings: Iterable[Finding]) -> AsyncIterator[bytes]:
    yield b'{"causes":' + as_json(causes) + b',"findings":['
    rest, first = iter(findings), True
    while part := tuple(islice(rest, _PART)):
        yield (b"" if first else b",") + b",".join(as_json(listing.report_of(each)) for each in part)
        first = False
        await asyncio.sleep(0)
    yield b"]}"
