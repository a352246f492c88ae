"""The ControllerRevision that a VM gets its instancetype or preference from, and who else needs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from exporter.domain.identity.identity import owned
from exporter.domain.instancetypes.matching import MatcherRole
from exporter.domain.instancetypes.resolving import Resolution, resolve
from exporter.findings.finding import Finding
from exporter.store.indexes.instancetypes import REVISION, revision_key
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_pool import VirtualMachinePool
from exporter.store.kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent
from exporter.store.record import Record

from ...plan import Refused
from ...remediation import Scene
from .._grounds import NO_SNAPSHOT_OR_RESTORE, SAVERS, ending, under_way
from ._instancetypes import SETTLED, settled_kubevirt

HELD = {**NO_SNAPSHOT_OR_RESTORE, **SETTLED}
"""The preconditions of `held`."""
READS = (
    ControllerRevision.KIND,
    VirtualMachine.KIND,
    VirtualMachineInstance.KIND,
    VirtualMachinePool.KIND,
    VirtualMachineSnapshotContent.KIND,
    KubeVirt.KIND,
    Namespace.KIND,
    *(each for each in SAVERS if each is not VirtualMachine.KIND),
)
"""What `held` and, with the index REVISION, `others` read; the live object is not asked for."""


class Held(NamedTuple):
    """`whole` is the ControllerRevision as the API server has it."""

    vm: VirtualMachine
    kubevirt: KubeVirt
    resolution: Resolution
    revision: ControllerRevision
    whole: Mapping[str, Any]


def held(finding: Finding, scene: Scene) -> Held | Refused:
    """What the VM of a finding gets in the role that the finding's group names, while nobody is about to change it.

    A restore or a clone writes into ControllerRevisions of VMs that are yet to be created: one of any VM of the
    namespace refuses. The remediation reads `READS` and the kinds of instancetypes.
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
