"""Findings with causes, and causes counted the plain way, by none of the product's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from exporter.checks import all_checks
from exporter.facts.record import Ref
from exporter.findings.check import Check
from exporter.findings.finding import Finding, Since
from exporter.views.causes import CauseReport
from exporter.views.times import rfc3339
from tests.evaluation import NOW

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
    worst = min((each for each in own if each.severity.rank == rank), key=_age)
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


def _age(finding: Finding) -> tuple[float, str]:
    return finding.since or float("inf"), finding.fingerprint


def said(reports: Iterable[CauseReport]) -> dict[str, dict[str, Any]]:
    """The same of what the product says."""
    names = from_scratch([missing("vm", "u1")]).popitem()[1]
    return {each.cause: {name: getattr(each, name) for name in names} for each in reports}
