"""A reference in the status means nothing while the spec has no matcher; put back, it is what a VM with one gets."""

from __future__ import annotations

from exporter.domain.instancetypes.matching import MatcherRole
from exporter.domain.instancetypes.resolving import ends_at_start, reference
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.virtual_machine import VirtualMachine

from ..effects import at
from ..plan import Refused
from ..remediation import Scene
from ..remediations._grounds import NO_SNAPSHOT_OR_RESTORE, SAVERS, ending, under_way
from ..undo import Given, Taken, Undo


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref = taken.plan.target
    whole, vm = scene.of(ref), scene.named(VirtualMachine, ref.namespace, ref.name)
    if whole is None or vm is None:
        return Refused("same_object", f"{ref} does not exist")
    refused = ending(scene, ref, whole) or under_way(scene, ref.namespace, (ref.name,))
    if refused is not None:
        return refused
    role = next(each for each in MatcherRole if any(op.path == f"/status/{each}Ref" for op in taken.plan.step.ops))  # type: ignore[union-attr] # it is a patch
    name = str(at(taken.before, f"/status/{role}Ref/controllerRevisionRef/name"))
    now = reference(vm, role)
    if now is not None and now.wanted:
        return Refused("no_matcher", f"the spec of {ref} has a {role.value} by now, which {name} would stand for")
    if scene.named(ControllerRevision, ref.namespace, name) is None:
        return Refused("copy_is_there", f"ControllerRevision {name} does not exist any more")
    if any(ends_at_start(each) for each in scene.all(KubeVirt)):
        return Refused("starts_safely", f"with it a start of {ref} ends virt-controller (kubevirt/kubevirt#16071)")
    return Given(effect=f"The status of {ref} names ControllerRevision {name} again, which its spec does not.")


UNDO = Undo(
    id="drop_stale_reference",
    reads=(ControllerRevision.KIND, KubeVirt.KIND, Namespace.KIND, *SAVERS),
    weigh=_weigh,
    preconditions={
        "not_being_deleted": "the VM is not being deleted",
        "namespace_active": "its namespace is not being deleted",
        **NO_SNAPSHOT_OR_RESTORE,
        "no_matcher": "the spec of the VM has no matcher in this role",
        "copy_is_there": "the ControllerRevision exists",
        "starts_safely": "virt-controller of this release does not end when it starts such a VM",
    },
)
