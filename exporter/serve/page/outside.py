"""Links of pages to the pages of others, as the configuration has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...config.outside import Link
from ...config.settings import Config
from ...facts.record import Ref
from ...findings.finding import Finding


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
