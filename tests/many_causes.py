"""A check that finds as many causes, and findings of each, as a test wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from exporter.facts.record import Ref
from exporter.findings.causes import Cause
from exporter.findings.check import PER_CLUSTER, Check, Family, Reason
from exporter.findings.finding import Finding, Since
from exporter.findings.severity import Severity
from exporter.store.kinds.ipam_claim import IPAMClaim

__all__ = ["causes_of_vms"]

_WORST_FIRST = tuple(reversed(Severity))


_ADVICE = "Enlarge the pool of the network, or delete what holds addresses that nobody uses."


def causes_of_vms(
    causes: int, findings: int, reason: str = "Broken", names: Iterable[str] = (), advice: str = _ADVICE
) -> Check:
    """So many findings of VMs, which so many networks cause, the first one critical; in 50 namespaces, on 7 nodes.

    `names` are those of the first VMs.
    """
    given = tuple(names)

    def find(_: object) -> Iterator[Finding]:
        for at in range(findings):
            cause = at % causes
            name = given[at] if at < len(given) else f"vm-{at:05}"
            yield Finding(
                reason=reason,
                severity=_WORST_FIRST[0] if cause == 0 else _WORST_FIRST[1 + cause % 2],
                subject=Ref("VirtualMachine", f"ns-{at % 50:02}", name, f"uid-{at}"),
                message=f"{name} has no address on its network, and does not get on",
                network=f"net-{cause:04}",
                node=f"node-{at % 7}",
                since=1_789_990_000.0 - at,
                since_source=Since.CREATION,
                evidence={"object": "u1"},
            )

    family = Family("kubevirt_test_broken", "Broken.")
    declared = Reason(
        (Severity.CRITICAL, Severity.WARNING, Severity.INFO),
        "The VM is broken by its network, whose pool is full.",
        family,
        next=advice,
        commands=("kubectl get vmi -n NAMESPACE NAME", "virtctl stop -n NAMESPACE NAME"),
    )
    return Check("broken", "Broken", (IPAMClaim.KIND,), PER_CLUSTER, {reason: declared}, find, cause=Cause.NETWORK)
