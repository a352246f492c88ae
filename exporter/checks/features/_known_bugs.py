"""What the two checks of known bugs share."""

from __future__ import annotations

from ...domain.features.known_bugs import KnownBug, bugs_in
from ...facts.record import Ref
from ...facts.versions import Version
from ...findings.finding import Finding
from ...findings.pages import Texts
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt


def bugs_of(kubevirt: KubeVirt, version: Version) -> tuple[KnownBug, ...]:
    """Those of the release; none where its patch is not known, since any of them might be fixed in it."""
    return bugs_in(version) if kubevirt.patch != (0, 0, 0) else ()


def found(texts: Texts, name: str, bug: KnownBug, subject: Ref, kubevirt: KubeVirt, version: Version) -> Finding:
    where, fixed = bug.address(version), bug.fixed_in(version)
    variant = "" if kubevirt.own else "built"
    return Finding(
        reason=name,
        severity=Severity.INFO,
        subject=subject,
        message=texts.message(name, variant, version=version.tag, bug=bug.what, address=where),
        feature=bug.id,
        group=bug.id,
        next=texts.next(name, "workaround", instead=bug.instead, fixed=fixed),
        evidence={"bug": bug.id, "address": where, "fixed": fixed, "version": kubevirt.version},
    )
