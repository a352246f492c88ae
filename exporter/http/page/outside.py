"""What pages get from outside of the cluster: links to the pages of others, and what Prometheus has of the past."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...config.outside import Link, PrometheusSettings
from ...config.settings import Config
from ...facts.record import Ref
from ...findings.check import Check
from ...findings.finding import Finding
from ...metrics.questions import FOUND, SEEN, of_finding, of_severities
from ...prometheus import Past
from ...views.timeline import Curve, Timeline, curves_of, timeline_of

_CURVES = ("critical", "warning")


class ShownLink(NamedTuple):
    name: str
    address: str


@dataclass
class Outside:
    """Its links and the cluster's name follow the configuration."""

    past: Past | None = None
    prometheus: PrometheusSettings = field(default_factory=PrometheusSettings)
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

    async def timeline(self, finding: Finding, check: Check, now: float) -> Timeline | None:
        """None where Prometheus does not say it within a moment."""
        if self.past is None:
            return None
        question = of_finding(finding, check, self.prometheus)
        ranges = await self.past.of(question)
        if ranges is None:
            return None
        return timeline_of(ranges.get(FOUND, ()), ranges.get(SEEN, ()), now, question.length, question.step)

    async def curves(self, now: float) -> list[Curve]:
        """How many findings there were; none where Prometheus does not say it within a moment."""
        if self.past is None:
            return []
        question = of_severities(_CURVES, self.prometheus)
        ranges = await self.past.of(question)
        return list(curves_of(_CURVES, ranges or {}, now, question.length, question.step))


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
