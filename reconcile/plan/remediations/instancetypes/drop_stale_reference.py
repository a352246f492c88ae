"""Takes a reference out of a VM's status that its spec does not have any more.

KubeVirt writes into the status of a VM which ControllerRevision it gets its instancetype or preference from, and leaves
that there when the matcher goes from the spec. It means nothing then, but for three things. virt-controller of 1.5, of
1.6 up to 1.6.3, and of 1.7.0 ends when it starts such a VM, again after each of its own starts, and with it all that it
does for other VMs (kubevirt/kubevirt#16071). The copy is kept for as long as the VM exists. And a VM that is given an
object of the same name again, or is restored in place from a snapshot of when it had it, gets the old copy, and not
what that object is by then.

The last may be wanted. Where virt-controller does not end of it, nothing is done while a matcher may come back: while
the VM runs with the copy, while a snapshot of the VM has a matcher for it, and within an hour of a change of the VM's
spec. Where it does, the plan says so.

When the spec was changed last the managedFields of the spec do not tell: the API server notes no time there for what
was only taken out. But each change makes another `metadata.generation`, and of a VM with a VMI virt-controller notes
that in `status.desiredGeneration` (syncGenerationInfo in pkg/virt-controller/watch/vm/vm.go of kubevirt/kubevirt), by a
write to the status, of which managedFields have the time. So a VM whose generation was noted more than an hour ago is
as it was then. One that was changed since it ran last is left alone until it is started: nothing tells when that was.

A VM whose spec is pinned, and whose status names another object, is left alone: KubeVirt corrects the status with the
VM's next event. Under another referencePolicy than `reference` the status is what keeps KubeVirt from expanding the VM.

Undo: put the reference back, as long as the ControllerRevision is there and the spec has no matcher.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exporter.domain.identity import owned
from exporter.domain.instancetypes.resolving import ends_at_start, reference
from exporter.facts.matching import ROLES, MatcherReference, MatcherRole
from exporter.findings.finding import Finding
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.snapshots import VirtualMachineSnapshotContent
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...effects import at
from ...guards import guard
from ...managed_fields import FieldWriter, writers
from ...patterns import ANYTHING, EMPTY, PRESENT, Both, Exactly, Like
from ...plan import Patch, Plan, Refused, Remove, Risk, Test
from ...remediation import Remediation, Scene
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Field, Patched, Write
from .._grounds import VM_STAYS, ending, table, under_way
from ._instancetypes import KEPT, settled_kubevirt

_LEFT_ALONE = 3600.0  # seconds since the last change of the VM's spec


@guard(
    ending,
    under_way,
    settled_kubevirt,
    KEPT,
    {
        "no_matcher": "the spec of the VM has no matcher in this role",
        "needed_by_none": "neither does the VM run with the ControllerRevision, nor has a snapshot of it a matcher for "
        "it, or virt-controller crashes when it starts the VM",
        "unchanged_for_an_hour": "the VM has the generation that KubeVirt noted in its status, and that status is "
        "unchanged for an hour; or virt-controller crashes when it starts the VM",
    },
    reads=(VirtualMachineInstance.KIND, VirtualMachineSnapshotContent.KIND, ControllerRevision.KIND),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref, role = finding.subject, MatcherRole(finding.group)
    whole, vm = scene.of(ref), scene.named(VirtualMachine, ref.namespace, ref.name)
    if whole is None or vm is None:
        return Refused("same_object", f"{ref} does not exist")
    kubevirt = settled_kubevirt(scene)
    if isinstance(kubevirt, Refused):
        return kubevirt
    refused = ending(scene, ref, whole) or under_way(scene, ref.namespace, (ref.name,))
    if refused is not None:
        return refused
    kept = reference(vm, role)
    if kept is None or kept.wanted:
        why = f"the spec of {ref} has a {role.value}: KubeVirt corrects its status with the VM's next event"
        return Refused("no_matcher", why)
    if kubevirt.reference_policy != "reference":
        policy = kubevirt.reference_policy
        return Refused(
            "references_kept", f"KubeVirt's referencePolicy is {policy}: the reference keeps it from expanding"
        )
    wanted = list(_wanted(scene, vm, role, kept))
    dies = ends_at_start(kubevirt)
    if not dies:
        if wanted:
            return Refused("needed_by_none", wanted[0])
        if why := _changed(whole, scene.now):
            return Refused("unchanged_for_an_hour", f"{ref} {why}")
    path = f"/status/{role.value}Ref"
    return REMEDIATION.planned(
        finding,
        Patch(
            target=ref,
            ops=(Test(path, table(whole.get("status")).get(f"{role.value}Ref")), Remove(path)),
            subresource="status",
        ),
        effect=" ".join((*_effect(role, kept, dies=dies), *(f"But {each}." for each in wanted))),
    )


def _effect(role: MatcherRole, kept: MatcherReference, *, dies: bool) -> Iterator[str]:
    if dies:
        yield "A start of the VM no longer crashes virt-controller."
    name = kept.status_name or "of that name"
    yield f"If the VM is given {role.value} {name} again, it gets what that is by then."


def _wanted(scene: Scene, vm: VirtualMachine, role: MatcherRole, kept: MatcherReference) -> Iterator[str]:
    """Whoever may bring a matcher back for which the copy is the one to take, one clause each."""
    vmi = owned(scene.named(VirtualMachineInstance, vm.namespace, vm.name), vm)
    if vmi is not None and not vmi.final:
        start = scene.named(ControllerRevision, vm.namespace, vmi.started_with) if vmi.started_with else None
        if start is None and not _is_there(scene, vm.namespace, vmi.started_with):
            yield f"{vmi.ref} runs, and its ControllerRevision at the start is unknown"
        elif start is not None and kept.revision in start.pins:
            yield f"{vmi.ref} runs with ControllerRevision {kept.revision}"
    for content in scene.within(VirtualMachineSnapshotContent, vm.namespace):
        saved = reference(content, role)
        if content.source == vm.name and saved is not None and not saved.pin and saved.name == kept.status_name:
            yield f"a restore of {content.ref} takes ControllerRevision {kept.revision} by it"


def _is_there(scene: Scene, namespace: str, revision: str) -> bool:
    """Whether a saved spec exists that names no copy: that has no record."""
    return bool(revision) and scene.whole(ControllerRevision.KIND, namespace, revision) is not None


def _changed(whole: Mapping[str, Any], now: float) -> str:
    """Why the spec may have been changed within the hour, as a clause; empty where it surely was not."""
    generation = table(whole.get("metadata")).get("generation")
    noted = table(whole.get("status")).get("desiredGeneration")
    if not generation or noted != generation:
        return "was changed since KubeVirt saw it run last, and nothing tells when: start it"
    found: list[FieldWriter] = writers(whole, "/status/desiredGeneration", "status")
    if not found or any(each.time is None for each in found):
        return "does not tell when KubeVirt has seen its spec, by managedFields"
    if any(each.time is not None and now - each.time < _LEFT_ALONE for each in found):
        return "was changed within the hour, as far as KubeVirt tells: its status was written since then"
    return ""


_REFERENCE = Exactly(
    kind=ANYTHING,
    name=PRESENT,
    inferFromVolume=ANYTHING,
    inferFromVolumeFailurePolicy=ANYTHING,
    controllerRevisionRef=Exactly(name=ANYTHING),
)
REMEDIATION = Remediation(
    id="drop_stale_reference",
    title="Remove a leftover reference from a VM's status",
    writes=(
        Write(
            "kubevirt.io",
            "virtualmachines/status",
            ("patch",),
            tuple(
                Patched(
                    Field(f"/status/{role.value}Ref", to=EMPTY, was=Both(PRESENT, _REFERENCE)),
                    old=Like(spec=Like(**{role.value: EMPTY})),
                )
                for role in ROLES
            ),
        ),
    ),
    plan=_plan,
    risk=Risk.NONE,
    undo="restore the reference from the ledger",
)


# A reference in the status means nothing while the spec has no matcher; put back, it is what a VM with one gets.


@guard(
    VM_STAYS,
    under_way,
    {
        "no_matcher": "the spec of the VM has no matcher in this role",
        "copy_is_there": "the ControllerRevision exists",
        "starts_safely": "virt-controller of this release does not end when it starts such a VM",
    },
    reads=(ControllerRevision.KIND, KubeVirt.KIND),
)
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
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
        return Refused("copy_is_there", f"ControllerRevision {name} no longer exists")
    if any(ends_at_start(each) for each in scene.all(KubeVirt)):
        return Refused("starts_safely", f"with it a start of {ref} crashes virt-controller (kubevirt/kubevirt#16071)")
    return UndoEffect(effect=f"The status of {ref} names ControllerRevision {name} again, which its spec does not.")


UNDO = Undo(id="drop_stale_reference", weigh=_weigh)
