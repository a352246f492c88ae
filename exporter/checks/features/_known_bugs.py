"""What the two checks of known bugs share."""

from __future__ import annotations

from ...domain.features.known_bugs import KnownBug
from ...domain.features.versions import Version, parse
from ...findings.check import Family, Reason
from ...findings.finding import Finding, Severity
from ...store.kinds.kube_virt import KubeVirt
from ...store.record import Ref

__all__ = ["found", "reason"]


def reason(family: str, meaning: str) -> Reason:
    return Reason((Severity.INFO,), meaning, Family(family, meaning))


def found(name: str, bug: KnownBug, subject: Ref, kubevirt: KubeVirt, version: Version) -> Finding:
    upstream = parse(kubevirt.upstream) is not None
    backported = "" if upstream else ", unless its distributor has backported the fix"
    where, fixed = bug.address(version), bug.fixed_in(version)
    return Finding(
        reason=name,
        severity=Severity.INFO,
        subject=subject,
        message=f"A known bug of KubeVirt {version.tag} may concern it{backported}: {bug.what} ({where})",
        feature=bug.id,
        group=bug.id,
        next=f"{bug.instead} {fixed} has the fix.",
        evidence={"bug": bug.id, "address": where, "fixed": fixed, "version": kubevirt.upstream},
    )
