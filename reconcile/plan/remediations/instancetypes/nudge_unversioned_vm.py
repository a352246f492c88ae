"""Has KubeVirt look again at a VM that has no copy of its instancetype or preference.

virt-controller makes the copy whenever it reconciles a VM, before anything else that it does for it
(Store in pkg/instancetype/revision/store.go of kubevirt/kubevirt). It does so with each event of the VM, and waits up
to a quarter of an hour after errors; that KubeVirt is set to another referencePolicy is no event of a VM. So an
annotation is written on the VM, and nothing else: the copy is KubeVirt's to make, which looks for conflicts first.

A VM that runs gets what the copy says as well: KubeVirt plugs CPUs and memory into the guest, or asks for a restart.
So a VM that runs otherwise than its instancetype says now is left alone; it gets its copy when the owner restarts it.

Where that fails, or does harm, nothing is written. KubeVirt says by the VM's condition Failure why it makes no copy.
It makes none under a name that is longer than a label may be, nor where a ControllerRevision of that name holds
something else; it takes one without labels, and fails with that each time. And with any event of a VM it deletes a
ControllerRevision without the label object-version that the VM's spec names: `label_pinned_revision` comes first.

An annotation that changed nothing is not written again before the object changes: then virt-controller does not run, or
its log says why.

Undo: remove the annotation. A copy that KubeVirt made stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exporter.domain.identity import owned
from exporter.domain.instancetypes.resolving import ReferenceMode, Resolution, ends_at_start, reference, resolve
from exporter.facts.matching import ROLES, MatcherRole
from exporter.findings.finding import Finding
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...annotations import PREFIX
from ...effects import annotation
from ...guards import guard
from ...patterns import PRESENT
from ...plan import Patch, Plan, Refused, Risk, escaped
from ...remediation import Remediation, Scene
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Field, Patched, Write
from .._grounds import ending, table, under_way
from ._copies import STORED, differs, names, running_spec
from ._instancetypes import LABEL, copied, settled_kubevirt, unresolved

NUDGED = f"{PREFIX}nudged-for-copy"
_LONGEST = 63  # characters of a label's value: KubeVirt labels the copy with the object's name


@guard(
    ending,
    under_way,
    settled_kubevirt,
    unresolved,
    {
        "no_failure": "the VM has no condition Failure, by which KubeVirt says why it makes no copy",
        "runs_with_it": "the VM does not run, or runs with what its instancetype says now",
        "pins_survive": "the VM's spec names no ControllerRevision that KubeVirt deletes with the VM's next event",
        "starts_safely": "virt-controller does not end when it starts the VM, for a reference in its status",
        "name_fits": "the name of the object fits into a label, which takes 63 characters",
        "name_is_free": "under the name of the copy there is no ControllerRevision, or that copy",
        "not_nudged_yet": "the VM was not annotated for the object in this generation before",
    },
    running_spec,
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, vm = scene.of(ref), scene.named(VirtualMachine, ref.namespace, ref.name)
    if whole is None or vm is None:
        return Refused("same_object", f"{ref} does not exist")
    kubevirt = settled_kubevirt(scene)
    if isinstance(kubevirt, Refused):
        return kubevirt
    refused = (
        ending(scene, ref, whole)
        or under_way(scene, ref.namespace, (ref.name,))
        or unresolved(vm, scene, kubevirt, "request")
    )
    if refused is not None:
        return refused
    if vm.failure:
        why = f": {vm.failed}" if vm.failed else ""
        return Refused("no_failure", f"{ref} has the condition Failure, {vm.failure}{why}")
    roles = [found for role in ROLES if (found := resolve(vm, role, scene.named, kubevirt)) is not None]
    wanting = [found for found in roles if found.mode is ReferenceMode.UNVERSIONED]
    refused = _harmed(vm, kubevirt, roles) or _apart(scene, vm, whole, wanting) or _futile(scene, vm, wanting)
    if refused is not None:
        return refused
    note = ",".join(_marks(wanting))
    if table(table(whole.get("metadata")).get("annotations")).get(NUDGED) == note:
        return Refused("not_nudged_yet", f"{ref} was annotated for this before, and KubeVirt has made no copy since")
    which = next(found for found in wanting if found.role is MatcherRole(finding.group))
    return REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=(annotation(whole, NUDGED, note),)),
        effect=f"KubeVirt reconciles {ref}, and copies {which.kind} {which.reference.name} as it is: later changes to "
        "it no longer reach the VM.",
        settles=False,  # it is KubeVirt that makes the copy
    )


def _marks(wanting: list[Resolution]) -> Iterator[str]:
    """What says of which objects a copy is to be made: their UIDs and generations."""
    for found in wanting:
        if found.live is not None:
            yield f"{found.live.uid}-{found.live.generation}"


def _harmed(vm: VirtualMachine, kubevirt: KubeVirt, roles: list[Resolution]) -> Refused | None:
    left = [each for role in ROLES if (each := reference(vm, role)) is not None and not each.wanted]
    if left and ends_at_start(kubevirt):
        why = f"the status of {vm.ref} has a reference that its spec does not have"
        return Refused("starts_safely", f"{why}: virt-controller crashes when it starts the VM")
    for found in roles:
        stash = found.revision.stash if found.revision is not None else None
        if found.mode is ReferenceMode.PINNED and (stash is None or stash.object_version != STORED):
            why = f"KubeVirt deletes ControllerRevision {found.revision_name} with any event of the VM"
            return Refused("pins_survive", f"{why}, which is pinned to it")
    return None


def _apart(scene: Scene, vm: VirtualMachine, whole: Mapping[str, Any], wanting: list[Resolution]) -> Refused | None:
    """Refuses for a VM that runs otherwise than the instancetype says of which a copy is to be made."""
    vmi = owned(scene.named(VirtualMachineInstance, vm.namespace, vm.name), vm)
    live = next((found.live for found in wanting if found.role is MatcherRole.INSTANCETYPE), None)
    if vmi is None or vmi.final or live is None:
        return None
    template = table(table(whole.get("spec")).get("template"))
    says, runs = table(scene.of(live.ref)).get("spec"), running_spec(scene, vm)
    why = differs(says, table(runs), table(template.get("spec")))
    return Refused("runs_with_it", f"{vmi.ref} runs otherwise than {live.ref} says: {why}") if why else None


def _futile(scene: Scene, vm: VirtualMachine, wanting: list[Resolution]) -> Refused | None:
    """Refuses where KubeVirt can't make one of the copies, as far as that is known."""
    for found in wanting:
        live = found.live
        if live is None:
            continue  # which has a finding of its own
        if len(live.name) > _LONGEST:
            return Refused(
                "name_fits", f"KubeVirt can't label a copy of {live.ref}, whose name has {len(live.name)} characters"
            )
        for name in names(vm.name, live.name, live.uid, live.generation):
            there = scene.named(ControllerRevision, vm.namespace, name)
            if there is not None and not _same(scene, there, live.spec):
                why = f"{there.ref} isn't a copy of the present {live.ref}, or lacks its labels: KubeVirt fails at it"
                return Refused("name_is_free", why)
    return None


def _same(scene: Scene, there: ControllerRevision, spec: str) -> bool:
    """Whether KubeVirt takes it for the copy that it is to make."""
    whole: Any = scene.of(there.ref) or {}
    says, labels = copied(whole), table(table(whole.get("metadata")).get("labels"))
    labelled = says is not None and all(labels.get(f"{LABEL}{name}") == value for name, value in says.items())
    return labelled and there.deleting is None and there.stash is not None and there.stash.spec == spec


REMEDIATION = Remediation(
    id="nudge_unversioned_vm",
    title="Trigger KubeVirt to save the instancetype or preference of a VM",
    writes=(
        Write(
            "kubevirt.io",
            "virtualmachines",
            ("patch",),
            (Patched(Field(f"/metadata/annotations/{escaped(NUDGED)}", to=PRESENT)),),
        ),
    ),
    plan=_plan,
    risk=Risk.NONE,
    undo="remove the annotation; a copy that KubeVirt made stays",
)


# The annotation means nothing to anybody; what KubeVirt made because of it stays.


@guard(reads=(VirtualMachine.KIND,))
def _weigh(taken: UndoRequest, _: Scene) -> UndoEffect | Refused:
    return UndoEffect(effect=f"The annotation of {taken.plan.target} goes. A copy that KubeVirt made meanwhile stays.")


UNDO = Undo(id="nudge_unversioned_vm", weigh=_weigh)
