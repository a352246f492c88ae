"""Findings with causes, and causes counted the plain way, by none of the product's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from exporter.checks import all_checks
from exporter.facts.record import Ref
from exporter.findings.causes import Cause
from exporter.findings.check import PER_CLUSTER, Check, Family, Reason
from exporter.findings.finding import Finding, Since
from exporter.findings.severity import Severity
from exporter.questions.causes import CauseReport
from exporter.questions.times import rfc3339
from exporter.store.kinds.ipam_claim import IPAMClaim

from .evaluation import NOW

__all__ = ["causes_of_vms"]

BY_ID = {check.id: check for check in all_checks()}


def opened(check: Check, reason: str, name: str, **fields: Any) -> Finding:
    """An open finding of a check, as the engine would have it."""
    namespace, uid = fields.pop("namespace", "ns"), fields.pop("uid", "")
    kind = fields.pop("kind", "VirtualMachine")
    whole = {"severity": check.reasons[reason].severities[0], "since": NOW, "since_source": Since.CREATION, **fields}
    uid = uid or f"uid-{namespace}-{name}"
    finding = Finding(
        reason=reason,
        subject=Ref(kind, namespace, name, uid),
        message=f"{name} is wrong",
        check=check.id,
        fingerprint=f"{reason}-{uid}-{fields.get('group', '')}",
        **whole,
    )
    return msgspec.structs.replace(finding, cause=check.cause_id(finding))


def missing(name: str, instancetype: str, **fields: Any) -> Finding:
    """Of a VM that misses an instancetype."""
    evidence = {"object": instancetype, "objectKind": "VirtualMachineClusterInstancetype"}
    return opened(BY_ID["instancetype_vms"], "ObjectMissing", name, evidence=evidence, **fields)


def from_scratch(findings: Iterable[Finding]) -> dict[str, dict[str, Any]]:
    """What is to be said of each cause, by its id."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.cause, []).append(finding)
    return {cause: _counted(own) for cause, own in found.items()}


def _counted(own: list[Finding]) -> dict[str, Any]:
    subjects = {each.subject for each in own}
    places = sorted({each.namespace for each in subjects} - {""})
    oldest = min(own, key=_age)
    rank = max(each.severity.rank for each in own)
    worst = min((each for each in own if each.severity.rank == rank), key=lambda each: (_keeps(each), *_age(each)))
    return {
        "severity": worst.severity.value,
        "objects": len(subjects),
        "kinds": dict(Counter(each.kind for each in subjects)),
        "vms": len({(each.subject.namespace, each.vm) for each in own if each.vm}),
        "namespaces": len(places),
        "first_namespaces": tuple(places[:10]),
        "findings": len(own),
        "first": tuple(sorted(subjects, key=lambda each: (each.namespace, each.name, each.kind, each.uid))[:5]),
        "since": rfc3339(oldest.since),
        "since_source": oldest.since_source.value,
        "next": worst.next,
        "remediation": worst.remediation,
        "runbook": worst.runbook,
    }


def _keeps(finding: Finding) -> bool:
    """Whether it is not about the one of several that gets another value."""
    return finding.evidence.get("keeper", "") in ("", finding.subject.path)


def _age(finding: Finding) -> tuple[float, str]:
    return finding.since or float("inf"), finding.fingerprint


def said(reports: Iterable[CauseReport]) -> dict[str, dict[str, Any]]:
    """The same of what the product says."""
    names = from_scratch([missing("vm", "u1")]).popitem()[1]
    return {each.cause: {name: getattr(each, name) for name in names} for each in reports}


# A check that finds as many causes, and findings of each, as a test wants.

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
