"""What the remediations of instancetypes, preferences and their ControllerRevisions share."""

from __future__ import annotations

from exporter.store.kinds.kube_virt import KubeVirt

from ...remediation import Scene

__all__ = ["LABEL", "kubevirt_of"]

LABEL = "instancetype.kubevirt.io/object-"
"""What the labels begin with by which KubeVirt knows what a ControllerRevision is of."""


def kubevirt_of(scene: Scene) -> KubeVirt | None:
    return min(scene.all(KubeVirt), key=lambda each: each.ref, default=None)
