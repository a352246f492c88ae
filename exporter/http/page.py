"""The page: findings with filters, networks, a drain preview, sources. Rendered on the server, without script."""

from __future__ import annotations

import time
from datetime import datetime
from importlib.resources import files

from aiohttp import web

from ..config.reloading import Status
from ..engine.engine import Engine
from ..findings import Severity
from ..views.drain import STAYS, TITLES, draining
from ..views.findings import Filter, FindingReport, take
from .api import filter_of
from .drain import DrainView
from .networks import NetworksView
from .rendering import page_of

__all__ = ["Page", "stylesheet"]

_SHOWN = 500  # findings on one page
_SHOWN_NETWORKS = 100
_SHOWN_NODES = 50
_CHOICES = ("severity", "check", "reason", "namespace", "network")


class Page:
    def __init__(self, engine: Engine, title: str, config: Status, networks: NetworksView, drain: DrainView) -> None:
        self._engine, self._title, self._config = engine, title, config
        self._networks, self._drain = networks, drain
        self._meanings = {name: reason.meaning for check in engine.checks for name, reason in check.reasons.items()}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        query = {key: [v for v in request.query.getall(key) if v] for key in request.query}
        try:
            wanted = filter_of({key: values for key, values in query.items() if values})
        except ValueError as error:
            return web.Response(status=400, text=f"{error}\n")
        networks = await self._networks.take()
        drained = draining(self._engine.cluster)
        drain = await self._drain.take(drained[:_SHOWN_NODES])
        report = take(self._engine)
        chosen = take(self._engine, wanted).findings
        return page_of(
            "page.html",
            title=self._title,
            report=report,
            networks=networks,
            shown_networks=networks.networks[:_SHOWN_NETWORKS],
            total=len(chosen),
            findings=chosen[:_SHOWN],
            counts={s.value: sum(f.severity == s.value for f in report.findings) for s in reversed(Severity)},
            choices=_choices(report.findings, wanted),
            chosen={key: values[0] for key, values in query.items() if values},
            meanings=self._meanings,
            ready=self._engine.ready,
            config=self._config,
            ago=_ago,
            now=time.time(),
            drain=drain,
            drained=drained,
            titles=TITLES,
            stays=STAYS,
        )


def _choices(findings: list[FindingReport], wanted: Filter) -> dict[str, list[str]]:
    """The options of each filter: the values of open findings, and those already chosen."""
    offered: dict[str, set[str]] = {name: set(getattr(wanted, name)) for name in _CHOICES}
    for finding in findings:
        offered["severity"].add(finding.severity)
        offered["check"].add(finding.check)
        offered["reason"].add(finding.reason)
        offered["namespace"].add(finding.subject.namespace)
        offered["network"].add(finding.network)
    return {name: sorted(values - {""}) for name, values in offered.items()}


def _ago(now: float, since: str) -> str:
    """The age of an RFC 3339 time, in its two largest units."""
    seconds = max(0, int(now - datetime.fromisoformat(since).timestamp()))
    for unit, size, small, part in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if seconds >= size:
            return f"{seconds // size}{unit} {seconds % size // part}{small}"
    return f"{seconds}s"


async def stylesheet(_: web.Request) -> web.StreamResponse:
    text = files("exporter.http").joinpath("templates/style.css").read_text(encoding="utf-8")
    return web.Response(text=text, content_type="text/css", charset="utf-8")
