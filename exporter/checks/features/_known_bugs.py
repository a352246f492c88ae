"""What the two checks of known bugs share."""

from __future__ import annotations

from ...domain.features.known_bugs import KnownBug, bugs_in
from ...facts.record import Ref
from ...facts.versions import Version
from ...findings.finding import Finding
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt


def bugs_of(kubevirt: KubeVirt, version: Version) -> tuple[KnownBug, ...]:
    """Those of the release; none where its patch is not known, since any of them may be mended in it."""
    return bugs_in(version) if kubevirt.patch != (0, 0, 0) else ()


def found(name: str, bug: KnownBug, subject: Ref, kubevirt: KubeVirt, version: Version) -> Finding:
    backported = "" if kubevirt.own else ", unless whoever built it has backported the fix"
    where, fixed = bug.address(version), bug.fixed_in(version)
    return Finding(
        reason=name,
        severity=Severity.INFO,
        subject=subject,
        message=f"A known bug of KubeVirt {version.tag} may concern it{backported}: {bug.what} ({where})",
        feature=bug.id,
        group=bug.id,
        next=f"{bug.instead} {fixed} has the fix.",
        evidence={"bug": bug.id, "address": where, "fixed": fixed, "version": kubevirt.version},
    )
