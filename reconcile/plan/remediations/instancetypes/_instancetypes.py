"""What the remediations of instancetypes, preferences and their ControllerRevisions share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from exporter.domain.identity import owned
from exporter.domain.instancetypes.indexes import REVISION, revision_key
from exporter.domain.instancetypes.resolving import Resolution, Unresolved, resolve, undecodable
from exporter.facts.matching import ROLES, MatcherRole
from exporter.facts.naming import named
from exporter.facts.record import Record, Ref
from exporter.findings.finding import Finding
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.instancetypes import INSTANCETYPES
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.snapshots import VirtualMachineRestore, VirtualMachineSnapshotContent
from exporter.store.kinds.templates import VirtualMachinePool
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...guards import guard
from ...lost import Lost
from ...plan import Refused
from ...remediation import Scene
from ...undo import Loss, UndoEffect
from .._grounds import ending, under_way

LABEL = "instancetype.kubevirt.io/object-"
"""What the labels begin with by which KubeVirt knows what a ControllerRevision is of."""
KEPT = {"references_kept": "KubeVirt keeps references to instancetypes and preferences, and expands no VM"}


def kubevirt_of(scene: Scene) -> KubeVirt | None:
    return min(scene.all(KubeVirt), key=lambda each: each.ref, default=None)


@guard(
    {
        "one_kubevirt": "there are not several KubeVirt objects, so that version and referencePolicy are known",
        "not_upgrading": "KubeVirt is not being upgraded",
    },
    reads=(KubeVirt.KIND,),
)
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


# The ControllerRevision that a VM gets its instancetype or preference from, and who else needs it.


class Held(NamedTuple):
    """`whole` is the ControllerRevision as the API server has it."""

    vm: VirtualMachine
    kubevirt: KubeVirt
    resolution: Resolution
    revision: ControllerRevision
    whole: Mapping[str, Any]


@guard(ending, under_way, settled_kubevirt, reads=(*INSTANCETYPES, ControllerRevision.KIND, VirtualMachine.KIND))
def held(finding: Finding, scene: Scene) -> Held | Refused:
    """What the VM of a finding gets in the role that the finding's group names, while nobody is about to change it.

    A restore or a clone writes into ControllerRevisions of VMs that are yet to be created: one of any VM of the
    namespace refuses.
    """
    ref = finding.subject
    whole, vm = scene.of(ref), scene.named(VirtualMachine, ref.namespace, ref.name)
    if whole is None or vm is None:
        return Refused("same_object", f"{ref} does not exist")
    kubevirt = settled_kubevirt(scene)
    if isinstance(kubevirt, Refused):
        return kubevirt
    found = resolve(vm, MatcherRole(finding.group), scene.named, kubevirt)
    revision = found.revision if found is not None else None
    kept = scene.of(revision.ref) if revision is not None else None
    if found is None or revision is None or kept is None:
        return Refused("finding_holds", f"{ref} gets its {finding.group} from no ControllerRevision")
    refused = (
        ending(scene, ref, whole)
        or ending(scene, revision.ref, kept)
        or under_way(scene, ref.namespace, (ref.name,), lambda _: True)
    )
    return refused or Held(vm, kubevirt, found, revision, kept)


REFERRING = (
    ControllerRevision.KIND,
    VirtualMachine.KIND,
    VirtualMachineInstance.KIND,
    VirtualMachinePool.KIND,
    VirtualMachineSnapshotContent.KIND,
)
"""Of what the index REVISION is read."""


@guard(reads=REFERRING, indexes=(REVISION,))
def others(scene: Scene, held: Held) -> list[Record]:
    """Who beside the VM and its own VMI refers to the ControllerRevision: VMs, pools, snapshots, VMIs that run."""
    key = revision_key(held.revision.namespace, held.revision.name)
    found = (each for each in scene.sharing(REVISION, key) if each.ref not in (held.revision.ref, held.vm.ref))
    return sorted((each for each in found if not _own(each, held.vm)), key=lambda each: each.ref)


def _own(record: Record, vm: VirtualMachine) -> bool:
    return isinstance(record, VirtualMachineInstance) and (record.final or owned(record, vm) is not None)


def copied(whole: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a ControllerRevision says of the object in it: generation, kind, name, uid and version, as in KubeVirt's
    labels; None where its content does not say all of that.

    CreateControllerRevision in pkg/instancetype/revision/store.go of kubevirt/kubevirt.
    """
    data = whole.get("data")
    meta = data.get("metadata") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(meta, Mapping):
        return None
    name, uid, generation = meta.get("name"), meta.get("uid"), meta.get("generation")
    kind, version = data.get("kind"), str(data.get("apiVersion")).rpartition("/")[2]
    texts = all(isinstance(each, str) and each for each in (name, uid, kind))
    if not texts or type(generation) is not int or generation < 1:
        return None
    return {"generation": str(generation), "kind": kind, "name": name, "uid": uid, "version": version}


# Whether KubeVirt finds the instancetype and the preference of a VM: without, it neither starts nor stops it.

_NOT_FOUND = ("FailedFindInstancetype", "FailedFindPreference")


@guard(
    {"resolvable": "its instancetype and preference can be found: else the request is accepted and not carried out"},
    reads=(*INSTANCETYPES, ControllerRevision.KIND),
)
def unresolved(vm: VirtualMachine, scene: Scene, kubevirt: KubeVirt | None, what: str) -> Refused | None:
    """Why KubeVirt would accept a start or a stop, whichever `what` says, and not carry it out; None where it would."""
    later = f"KubeVirt would accept the {what}, and do it whenever that is repaired"
    for role in ROLES:
        if why := _lost(vm, role, scene, kubevirt):
            return Refused("resolvable", f"{why}: {later}")
    if vm.failure in _NOT_FOUND:
        return Refused("resolvable", f"VM {vm.name} has the condition {vm.failure}: {later}")
    return None


def _lost(vm: VirtualMachine, role: MatcherRole, scene: Scene, kubevirt: KubeVirt | None) -> str:
    """Why KubeVirt can't get the VM's instancetype or preference; empty where it can. The VM's condition is not enough:
    KubeVirt sets it only when something else changes in the VM.
    """
    found = resolve(vm, role, scene.named, kubevirt)
    if found is None:
        return ""
    what = f"{role.value} {found.reference.name} of VM {vm.name}"
    if found.failure is Unresolved.REVISION:
        return f"ControllerRevision {found.revision_name} of VM {vm.name} does not exist"
    if found.failure is Unresolved.KIND:
        return f"{what} is of kind {found.reference.kind}, which KubeVirt does not know"
    if found.failure is Unresolved.OBJECT:
        return f"{what} does not exist"
    release = kubevirt.release if kubevirt is not None else (0, 0)
    why = undecodable(found.revision, role, release) if found.revision is not None else ""
    return f"ControllerRevision {found.revision_name} of VM {vm.name} can't be decoded: {why}" if why else ""


# What the undos have in common after which a ControllerRevision of an instancetype or preference is gone.

LOSSES = {
    "not_needed": (
        Lost.COPY,
        "no VM, pool or snapshot, and no VMI that has not ended, refers to the ControllerRevision",
    )
}


@guard(
    {"no_restore": "no restore of a VM in the namespace is in progress"},
    reads=(*REFERRING, VirtualMachineRestore.KIND),
    indexes=(REVISION,),
)
def going(scene: Scene, ref: Ref, effect: str) -> UndoEffect | Refused:
    """What it comes to that a ControllerRevision is deleted, after the sentence that says so."""
    restoring = next((each for each in scene.within(VirtualMachineRestore, ref.namespace) if each.active), None)
    if restoring is not None:
        return Refused("no_restore", f"{restoring.ref} might be about to refer to {ref}")
    found = [each for each in scene.sharing(REVISION, revision_key(ref.namespace, ref.name)) if _needs(each)]
    if not found:
        return UndoEffect(effect=f"{effect} Nothing refers to it.")
    who = named(sorted(each.ref for each in found)[:5], len(found))
    why = f"{who} refer{'s' if len(found) == 1 else ''} to {ref}, and without it KubeVirt neither starts nor stops a VM"
    return UndoEffect(effect=f"{effect} {why}.", losses=(Loss("not_needed", f"{ref}, the copy of {who}", why),))


def _needs(record: Record) -> bool:
    ended = isinstance(record, VirtualMachineInstance) and record.final
    return not ended and not isinstance(record, ControllerRevision)
