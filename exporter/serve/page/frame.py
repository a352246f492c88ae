"""What all pages have in common: whose it is, as of when, what can't be relied on, and the links to the pages
of others, as the configuration has them; and how a mistake is answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from aiohttp import web
from msgspec import UnsetType

from ...config.outside import Link
from ...config.reloading import ReloadStatus
from ...config.settings import Config
from ...engine.engine import Engine
from ...facts.record import Ref
from ...findings.finding import Finding
from ...questions.causes import CauseReport, HistoryReport
from ...questions.times import age, lately_said, origin, rfc3339
from ..access.viewer import Visible, signed_in, visible_to
from ..html.rendering import page_of
from ..reports.listing import Listing
from ..reports.listings import Listings


class ShownLink(NamedTuple):
    name: str
    address: str


@dataclass
class Outside:
    """Its links and the cluster's name follow the configuration."""

    links: tuple[Link, ...] = ()
    cluster: str = ""

    def take(self, config: Config) -> None:
        self.links, self.cluster = config.links, config.cluster or ""

    def of(self, kind: str, namespace: str, name: str, **more: str) -> list[ShownLink]:
        """The links of an object."""
        return list(self._links(kind, {"namespace": namespace, "name": name, **more}))

    def of_finding(self, finding: Finding) -> list[ShownLink]:
        """Those of its object, then those that are for VMs or nodes alone, of its VM and its node."""
        ref, values = finding.subject, _values(finding)
        found = list(self._links(ref.kind, {**values, "namespace": ref.namespace, "name": ref.name}))
        for other in _others(finding):
            own = {**values, "namespace": other.namespace, "name": other.name}
            found += [
                ShownLink(f"{each.name} of {other.kind} {other.name}", each.address)
                for each in self._links(other.kind, own, named=True)
            ]
        return found

    def _links(self, kind: str, values: Mapping[str, str], *, named: bool = False) -> Iterator[ShownLink]:
        """With `named` those that name the kind."""
        known = {**values, "kind": kind, "cluster": self.cluster}
        for link in self.links:
            if kind in link.kinds or (not link.kinds and not named):
                address = link.address(known)
                if address:
                    yield ShownLink(link.name or "", address)


def _values(finding: Finding) -> dict[str, str]:
    return {
        "vm": finding.vm,
        "node": finding.node,
        "network": finding.network,
        "feature": finding.feature,
        "check": finding.check,
        "reason": finding.reason,
        "severity": finding.severity.value,
        "fingerprint": finding.fingerprint,
        "cause": finding.cause,
    }


def _others(finding: Finding) -> Iterator[Ref]:
    subject = finding.subject
    if finding.vm and subject.kind != "VirtualMachine":
        yield Ref("VirtualMachine", subject.namespace, finding.vm)
    if finding.node and subject.kind != "Node":
        yield Ref("Node", "", finding.node)


_SHOWN_NAMES = 10  # namespaces of a tenant
_MOMENT = 30.0  # seconds


class Frame:
    def __init__(self, engine: Engine, title: str, listings: Listings, config: ReloadStatus, outside: Outside) -> None:
        self._engine, self._title, self.listings, self._config = engine, title, listings, config
        self.outside = outside

    def listing(self, request: web.BaseRequest) -> Listing:
        """What the viewer may see."""
        return self.listings.of(visible_to(request))

    async def page(
        self, request: web.Request, template: str, values: Mapping[str, Any], *, here: str, status: int = 200
    ) -> web.StreamResponse:
        """A page of the room `here`. It follows the generation that was there before it was made."""
        visible, now = visible_to(request), self._engine.clock()
        listing = self.listings.of(visible)
        history = listing.history()
        generation = values.get("generation", await listing.generation())
        around = listing.surroundings(generation)
        common = {
            "title": self._title,
            "here": here,
            "whole": visible is None,
            "seen": _seen(visible),
            "user": signed_in(request),
            "generation": generation,
            "follows": status == web.HTTPOk.status_code,
            "ready": self._engine.ready,
            "config": self._config,
            "fleet": around.fleet,
            "out_of_date_since": _since(around.fleet.out_of_date_since, now),
            "reconcile": around.reconcile or None,
            "now": now,
            "as_of": rfc3339(now),
            "age": partial(age, now),
            "origin": origin,
            "time": rfc3339,
            "lately": partial(_lately, history, now),
            "q": "",
        }
        return await page_of(request, template, common | dict(values), status)

    async def mistake(
        self, request: web.Request, status: int, sentence: str, *, here: str = "", more: Mapping[str, Any] | None = None
    ) -> web.StreamResponse:
        """What can't be answered, in a sentence."""
        values = {"sentence": sentence, "refused": status == 400, **(more or {})}
        return await self.page(request, "mistake.html", values, here=here, status=status)


def _since(out_of_date: str, now: float) -> str:
    """Empty too for a connection that broke a moment ago: watches end and begin again every few minutes."""
    return out_of_date if out_of_date and out_of_date <= rfc3339(now - _MOMENT) else ""


def _lately(history: HistoryReport | UnsetType, now: float, cause: CauseReport) -> str:
    """What opened and closed of a cause in the last hour; empty where nothing did, or nobody counts it."""
    opened, closed = cause.opened or 0, cause.closed or 0
    return lately_said(opened, closed, history.each_since, now) if history and (opened or closed) else ""


def _seen(visible: Visible | None) -> str:
    """The namespaces of a tenant; empty for whoever sees everything."""
    if visible is None:
        return ""
    if visible.names is None:
        return "all namespaces"
    names = sorted(visible.names)
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return f"namespace{'s' if len(names) > 1 else ''} {', '.join(names[:_SHOWN_NAMES])}{more}"
