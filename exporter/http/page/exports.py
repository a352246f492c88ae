"""/findings.csv and /findings.json: all findings that the page of the same address has, as files."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Iterable
from itertools import islice

from aiohttp import web

from ...findings.finding import Finding
from ...store.text.visible import cell
from ...views.causes import CauseReport
from ...views.findings import FindingReport
from ...views.selection import area_of
from ..reports.listing import Listing
from ..server.answers import as_json, as_text, json_error
from ..server.sending import send
from .address import Addresses
from .findings import wanted_of
from .frame import Frame

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
    yield _lines([_COLUMNS])
    rest = iter(findings)
    while part := tuple(islice(rest, _PART)):
        yield _lines(_row(listing.report_of(each)) for each in part)
        await asyncio.sleep(0)


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
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
