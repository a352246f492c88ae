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
from ...metrics.telemetry import PREFIX
from ...metrics.text import escaped
from ...prometheus import Past, Question
from ...questions.timeline import Curve, Timeline, curves_of, timeline_of

__all__ = ["FOUND", "SEEN", "of_finding", "of_severities"]

# What Prometheus is asked of the past, by the families that it scrapes here.

FOUND, SEEN = "found", "seen"
_WEEK, _HOUR = 604_800, 3600
_DAY, _QUARTER = 86_400, 900


def of_finding(finding: Finding, check: Check, settings: PrometheusSettings) -> Question:
    """When it was `found` in the last week, and when the check was `seen` to have an answer, in steps of an hour."""
    subject = finding.subject
    labels = {
        "check": finding.check,
        "reason": finding.reason,
        "kind": subject.kind,
        settings.namespace_label: subject.namespace,
        "name": subject.name,
        "group": finding.group,
    }
    family = check.reasons[finding.reason].family.name
    found = f"max(max_over_time({family}{_matching(labels, settings)}[{_HOUR}s]))"
    up = f"{PREFIX}check_up{_matching({'check': finding.check}, settings)}"
    return Question(_either({FOUND: found, SEEN: f"max(max_over_time({up}[{_HOUR}s]))"}), _WEEK, _HOUR)


def of_severities(severities: tuple[str, ...], settings: PrometheusSettings) -> Question:
    """How many findings of each severity were open in the last day, by the quarter of an hour."""
    # Counts at 0 are not served in every profile: that there is none is known wherever the steward was scraped.
    none = f"0 * max(max_over_time({PREFIX}ready{_matching({}, settings)}[{_QUARTER}s]))"
    each = {
        name: "(sum(max by (check, reason) ("
        f"max_over_time({PREFIX}findings{_matching({'severity': name}, settings)}[{_QUARTER}s]))) or {none})"
        for name in severities
    }
    return Question(_either(each), _DAY, _QUARTER)


def _matching(labels: dict[str, str], settings: PrometheusSettings) -> str:
    every = {**labels, **({"cluster": settings.cluster} if settings.cluster else {})}
    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in every.items()) + "}"


def _either(queries: dict[str, str]) -> str:
    return " or ".join(f'label_replace({query}, "of", "{name}", "", "")' for name, query in queries.items())


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
