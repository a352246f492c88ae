"""Launcher pods whose VMI is not there: KubeVirt refuses each eviction of them (firmware-eviction B.2, step 4)."""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Finding, Severity
from ...model.kinds.pod import Pod
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from .site import Site

__all__ = ["orphans"]


def orphans(site: Site) -> Iterator[Finding]:
    here = {(vmi.namespace, vmi.name) for vmi in site.vmis}
    for pod in site.launchers:
        if pod.node == site.name and pod.domain and (pod.namespace, pod.domain) not in here and _orphan(site, pod):
            yield Finding(
                reason="OrphanLauncherPod",
                severity=Severity.WARNING,
                subject=pod.ref,
                message=f"it runs, and its VMI {pod.domain} is not there: evictions of it are refused",
                vm=pod.domain,
                node=site.name,
                evidence={
                    "vmi": pod.domain,
                    "instanceUid": pod.vmi_uid,
                    "next": "make sure that no guest runs in it, then delete the pod",
                },
            )


def _orphan(site: Site, pod: Pod) -> bool:
    if pod.phase != "Running" or pod.deleting is not None:
        return False
    return site.view.named(VirtualMachineInstance, pod.namespace, pod.domain) is None
