"""What an upgrade that is under way switches on or off."""

from __future__ import annotations

from collections.abc import Iterator

from ....domain.features.configuration import Effective
from ....findings.finding import Finding, Severity
from ....store.kinds.kube_virt import KubeVirt

_WHY = {
    "always": "it is always on from then",
    "default": "it is Beta, and on by default from then",
    "listed": "it is set to be on",
    "disabled": "it is in disabledFeatureGates",
    "off": "it has to be listed from then",
}
_NEXT = {
    "default": "Add GATE to disabledFeatureGates before the upgrade is through, if it is to stay off.",
    "always": "See what GATE changes for the VMs before the upgrade is through: it can't be disabled.",
}


def at_upgrade(kubevirt: KubeVirt, now: Effective, coming: Effective | None) -> Iterator[Finding]:
    if coming is None:
        return
    for gate in sorted({*now.gates.names, *coming.gates.names}):
        before, after = now.on(gate), coming.on(gate)
        if before != after:
            source = coming.source(gate)
            words = "on" if after else "off"
            yield Finding(
                reason="ChangesAtUpgrade",
                severity=Severity.INFO,
                subject=kubevirt.ref,
                message=f"{gate} will be {words} in {coming.version.tag}, unlike in {now.version.tag}: {_WHY[source]}",
                feature=gate,
                group=gate,
                next=_NEXT.get(source, "").replace("GATE", gate),
                evidence={
                    "gate": gate,
                    "before": "on" if before else "off",
                    "after": words,
                    "stage": coming.gates.stage(gate),
                    "target": kubevirt.target,
                },
            )
