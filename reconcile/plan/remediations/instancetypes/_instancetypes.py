"""What the remediations of instancetypes, preferences and their ControllerRevisions share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...plan import Refused
from ...remediation import Scene

LABEL = "instancetype.kubevirt.io/object-"
"""What the labels begin with by which KubeVirt knows what a ControllerRevision is of."""
SETTLED = {
    "one_kubevirt": "there are not several KubeVirt objects, so that version and referencePolicy are known",
    "not_upgrading": "KubeVirt is not being upgraded",
}
"""The preconditions of `settled_kubevirt`."""
KEPT = {"references_kept": "KubeVirt keeps references to instancetypes and preferences, and expands no VM"}


def kubevirt_of(scene: Scene) -> KubeVirt | None:
    return min(scene.all(KubeVirt), key=lambda each: each.ref, default=None)


def settled_kubevirt(scene: Scene) -> KubeVirt | Refused:
    """The one KubeVirt object, where its release is the one that runs: while it is upgraded two releases may write."""
    if (count := len(list(scene.all(KubeVirt)))) > 1:
        return Refused("one_kubevirt", f"there are {count} KubeVirt objects: whose referencePolicy holds is not known")
    kubevirt = kubevirt_of(scene)
    if kubevirt is None or kubevirt.upgrading:
        return Refused("not_upgrading", "KubeVirt is being upgraded, or there is none")
    return kubevirt


def owner_reference(vm: VirtualMachine) -> Mapping[str, Any]:
    """The one owner of a ControllerRevision that KubeVirt makes for a VM."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "name": vm.name,
        "uid": vm.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
