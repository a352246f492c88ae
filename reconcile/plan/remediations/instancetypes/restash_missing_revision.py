"""Gives a VM a ControllerRevision again in the place of one that is missing.

Without it KubeVirt neither starts nor stops the VM, whatever its spec says. Where the same object in the same
generation is still to be had, live or as a copy that another VM or a snapshot has, the ControllerRevision is created
again under its name: nothing changes for the VM. A copy is taken only where it is proven: it is in the VM's namespace,
KubeVirt made it for a VM or snapshot that refers to it, and the VM runs with all that it gives. Whoever may create
ControllerRevisions can write any other. Where there are only copies without proof, nothing is done.

Where there is no copy at all, the reference is taken out of the VM's status, and KubeVirt makes a new copy from the
live object at once; then the VM gets the CPUs and memory that this has now, at its next restart or live. That is done
only for a reference in the status, which KubeVirt writes from 1.5 on, and only where it keeps references at all: under
another referencePolicy it would expand the VM. A pin in the spec is its owner's.

Either way what was asked of the VM meanwhile is carried out as soon as KubeVirt finds a copy: a stop that waits stops
the guest then. A VMI is never restarted or deleted for it, since it is the last copy.

Undo: delete the ControllerRevision that was created. A new copy of the live object is for good: what the lost one had
is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from exporter.domain.identity import owned
from exporter.domain.instancetypes.conflicts import conflicts
from exporter.domain.instancetypes.resolving import LIVE, ReferenceMode, Resolution, Unresolved, resolve, undecodable
from exporter.facts.matching import MatcherRole
from exporter.facts.record import Ref
from exporter.findings.finding import Finding
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.instancetypes import INSTANCETYPES
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

from ...guards import guard
from ...patterns import EMPTY, PRESENT, Begins, Is, Like
from ...plan import Compared, Create, Op, Patch, Plan, Refused, Remove, Risk, Test
from ...remediation import Remediation, Scene
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Created, Field, Patched, Write
from .._grounds import ending, owned_by, table, under_way
from ._copies import STORED, instancetype_of, names, running_spec, unproven
from ._instancetypes import KEPT, LABEL, LOSSES, going, kubevirt_of, owner_reference, settled_kubevirt

# Where the lost ControllerRevision of a VM can be had from again, exactly: the same object in the same generation.

_MOST = 5  # copies that are looked at; KubeVirt made them all the same
_KEPT = ("creationTimestamp", "generation", "name", "namespace", "uid")  # of the metadata in a copy


class CopySource(msgspec.Struct, frozen=True):
    """`of` says what it is taken from; `labels` are the five by which KubeVirt knows what a copy is of."""

    of: str
    labels: Mapping[str, str]
    data: Mapping[str, Any]


def exact_source(scene: Scene, vm: VirtualMachine, lost: Resolution) -> CopySource | Refused | None:
    """The live object, if it still has the generation that was copied, else the copy of another VM or of a snapshot.

    The name of a copy says what it was of. The API server gives UID and generation to the live object; a copy has to be
    proven, and refuses where it is not: what it says may be right, and KubeVirt makes none as it was.
    """
    return _of_live(scene, vm, lost) or _of_copies(scene, vm, lost)


def _names(vm: VirtualMachine, lost: Resolution, uid: str, generation: int) -> tuple[str, str]:
    return names(vm.name, lost.reference.name, uid, generation)


def _of_live(scene: Scene, vm: VirtualMachine, lost: Resolution) -> CopySource | None:
    kind = next((each for each in INSTANCETYPES if each.name == lost.kind), None)
    if kind is None:
        return None
    namespace = vm.namespace if kind.namespaced else ""
    whole = scene.whole(kind, namespace, lost.reference.name)
    live = scene.named(LIVE[kind.name], namespace, lost.reference.name)
    if whole is None or live is None or lost.revision_name not in _names(vm, lost, live.uid, live.generation):
        return None
    version = str(whole.get("apiVersion")).rpartition("/")[2]
    if version != STORED:
        return None
    meta = table(whole.get("metadata"))
    data = {
        "apiVersion": whole["apiVersion"],
        "kind": kind.name,
        "metadata": {name: meta[name] for name in _KEPT if meta.get(name) is not None},
        "spec": whole.get("spec"),
    }
    values = {
        "generation": str(live.generation),
        "kind": kind.name,
        "name": live.name,
        "uid": live.uid,
        "version": version,
    }
    return CopySource(f"the live object, {live.ref}", {f"{LABEL}{name}": value for name, value in values.items()}, data)


def _of_copies(scene: Scene, vm: VirtualMachine, lost: Resolution) -> CopySource | Refused | None:
    fitting = sorted(_fitting(scene, vm, lost), key=lambda each: each.ref)
    why, by_hand = "", f"if it is right, create {lost.revision_name} from it by hand, else delete it"
    for revision in [each for each in fitting if each.namespace == vm.namespace][:_MOST]:
        whole = scene.whole(ControllerRevision.KIND, revision.namespace, revision.name) or {}
        source = _copied(revision, whole)
        if source is None:
            continue
        unsure = unproven(scene, vm, lost, revision, whole)
        if not unsure:
            return source
        why = why or f"{revision.ref} might be a copy of the lost revision, but {unsure}; {by_hand}"
    if not why and any(each.namespace != vm.namespace for each in fitting):
        why = f"a copy of the lost revision might be in another namespace, whose users might have written it; {by_hand}"
    return Refused("copy_proven", why) if why else None


def _copied(revision: ControllerRevision, whole: Mapping[str, Any]) -> CopySource | None:
    """None where its data are of another object, or of another generation, than its labels say."""
    named, data = table(table(whole.get("metadata")).get("labels")), table(whole.get("data"))
    labels = {name: str(value) for name, value in named.items() if name.startswith(LABEL)}
    copied = table(data.get("metadata"))
    said = labels.get(f"{LABEL}uid"), labels.get(f"{LABEL}generation")
    return (
        CopySource(str(revision.ref), labels, data)
        if (copied.get("uid"), str(copied.get("generation"))) == said
        else None
    )


def _fitting(scene: Scene, vm: VirtualMachine, lost: Resolution) -> Iterator[ControllerRevision]:
    for revision in scene.all(ControllerRevision):
        stash = revision.stash
        if stash is None or stash.object_name != lost.reference.name or stash.object_version != STORED:
            continue
        if lost.revision_name not in _names(vm, lost, stash.object_uid, stash.object_generation):
            continue
        of_kind = stash.object_kind == stash.kind == lost.kind
        if of_kind and stash.version == STORED and not undecodable(revision, lost.role, (0, 0)):
            yield revision


def rebuilt(vm: VirtualMachine, name: str, source: CopySource) -> Mapping[str, Any]:
    """The manifest of a VM's ControllerRevision. One without the labels KubeVirt can never use again."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name,
            "namespace": vm.namespace,
            "labels": dict(source.labels),
            "ownerReferences": [owner_reference(vm)],
        },
        "data": source.data,
        "revision": 0,
    }


_STATUS_SINCE = (1, 5)  # the first release that keeps the reference in the status
_START = ("Always", "Once", "RerunOnFailure")


@guard(
    ending,
    under_way,
    {"no_migration": "no migration of its VMI is unfinished"},
    settled_kubevirt,
    KEPT,
    {
        "copy_proven": "where the live object is another generation and there are copies: one of them is proven to be "
        "KubeVirt's, and to say what the VM runs with",
        "not_pinned": "without an exact copy: the spec does not name the ControllerRevision",
        "known_release": "without an exact copy: KubeVirt is of 1.5 or newer",
        "live_object": "without an exact copy: the live object exists and is not being deleted",
        "live_object_fits": "without an exact copy: the VM's template sets no field that the live object provides",
    },
    unproven,
    running_spec,
    reads=(*INSTANCETYPES, ControllerRevision.KIND, VirtualMachineInstanceMigration.KIND),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, vm = scene.of(ref), scene.named(VirtualMachine, ref.namespace, ref.name)
    if whole is None or vm is None:
        return Refused("same_object", f"{ref} does not exist")
    kubevirt = kubevirt_of(scene)
    role = MatcherRole(finding.group)
    lost = resolve(vm, role, scene.named, kubevirt)
    if lost is None or lost.failure is not Unresolved.REVISION:
        return Refused("finding_holds", f"{ref} misses no ControllerRevision of its {role.value}")
    refused = ending(scene, ref, whole) or under_way(scene, ref.namespace, (ref.name,)) or _unsettled(scene, ref)
    if refused is not None:
        return refused
    source = exact_source(scene, vm, lost)
    if isinstance(source, Refused):
        return source
    waits, risk = _waiting(scene, vm, table(whole.get("status")).get("stateChangeRequests"))
    if source is not None:
        created = Ref("ControllerRevision", ref.namespace, lost.revision_name)
        manifest = rebuilt(vm, lost.revision_name, source)
        return _made(
            finding,
            Create(target=created, manifest=manifest, of=ref),
            f"The ControllerRevision is there again, from {source.of}: the same object in the same generation. {waits}",
            risk,
            f"delete ControllerRevision {created.path}",
            _compared(scene, vm, lost, manifest),
        )
    refused = _not_from_live(vm, lost, kubevirt)
    if refused is not None:
        return refused
    return _made(
        finding,
        Patch(target=ref, ops=_dropped(whole, lost), subresource="status"),
        f"KubeVirt makes a new copy from the live {lost.kind} {lost.reference.name}: the VM gets the CPUs, memory and "
        f"settings that this has now, at its next restart or live. {waits}",
        risk if risk is Risk.DOWNTIME else Risk.RESOURCES,
        "none: KubeVirt makes the new copy at once, and the content of the lost one is unknown",
    )


def _made(
    finding: Finding, step: Create | Patch, effect: str, risk: Risk, undo: str, compared: Compared | None = None
) -> Plan:
    return REMEDIATION.planned(
        finding, step, vm=finding.subject.name, effect=effect, risk=risk, undo=undo, compared=compared
    )


def _compared(scene: Scene, vm: VirtualMachine, lost: Resolution, manifest: Mapping[str, Any]) -> Compared | None:
    """The same with what the VM runs with, else with the live object; None where there is neither."""
    runs = running_spec(scene, vm) if lost.role is MatcherRole.INSTANCETYPE else None
    kind = next((each for each in INSTANCETYPES if each.name == lost.kind), None)
    if runs is not None:
        of, spec = f"what VirtualMachineInstance {vm.ref.path} runs with", instancetype_of(runs)
    elif kind is not None and lost.live is not None:
        live = scene.whole(kind, lost.live.namespace, lost.live.name) or {}
        of, spec = f"the live object, {lost.live.ref}", dict(table(live.get("spec")))
    else:
        return None
    return Compared(of=of, manifest={**manifest, "data": {**manifest["data"], "spec": spec}})


def _unsettled(scene: Scene, ref: Ref) -> Refused | None:
    for migration in scene.within(VirtualMachineInstanceMigration, ref.namespace):
        if migration.vmi == ref.name and not migration.finished:
            return Refused("no_migration", f"{migration.ref} is not finished")
    kubevirt = settled_kubevirt(scene)
    if isinstance(kubevirt, Refused):
        return kubevirt
    if kubevirt.reference_policy == "expandAll":
        return Refused("references_kept", "KubeVirt's referencePolicy is expandAll: it would expand the VM")
    return None


def _waiting(scene: Scene, vm: VirtualMachine, requests: object) -> tuple[str, Risk]:
    """What KubeVirt carries out as soon as it finds a copy, and what that costs."""
    running = owned(scene.named(VirtualMachineInstance, vm.namespace, vm.name), vm) is not None
    asked = requests if isinstance(requests, list) else ()
    actions = {str(table(each).get("action")) for each in asked}
    stop = vm.run_strategy == "Halted" or "Stop" in actions
    if running and stop:
        return "A stop that waits is then carried out: the guest is shut down.", Risk.DOWNTIME
    if not running and (vm.run_strategy in _START or "Start" in actions):
        return "The VM, which should run, is then started.", Risk.NONE
    return "What was changed in the VM meanwhile is then carried out.", Risk.NONE


def _not_from_live(vm: VirtualMachine, lost: Resolution, kubevirt: KubeVirt | None) -> Refused | None:
    """Why KubeVirt is not to make a new copy from the live object."""
    what = f"{lost.role.value} {lost.reference.name}"
    if lost.mode is ReferenceMode.PINNED:
        return Refused(
            "not_pinned", f"its spec names ControllerRevision {lost.revision_name}, of which there is no copy"
        )
    release = kubevirt.release if kubevirt is not None else (0, 0)
    if release < _STATUS_SINCE:
        return Refused("known_release", f"KubeVirt {release[0]}.{release[1]} is not known to make a new copy")
    if kubevirt is not None and kubevirt.reference_policy != "reference":
        policy = kubevirt.reference_policy
        return Refused("references_kept", f"KubeVirt's referencePolicy is {policy}: it would expand the VM")
    if lost.live is None or lost.live.deleting is not None:
        return Refused("live_object", f"there is no live {what} to make a copy of, or it is being deleted")
    if lost.role is MatcherRole.INSTANCETYPE and vm.shape is not None:
        paths = conflicts(vm.shape, lost.live.spec, release)
        if paths:
            return Refused("live_object_fits", f"its template sets {paths[0]}, which the live {what} provides")
    return None


def _dropped(whole: Mapping[str, Any], lost: Resolution) -> tuple[Op, ...]:
    """The operations that take the reference out of the VM's status, if VM and status still name the same."""
    field = f"{lost.role.value}Ref"
    path = f"/status/{field}"
    kept = table(table(whole.get("status")).get(field))
    matcher = table(table(whole.get("spec")).get(lost.role.value))
    named: tuple[Op, ...] = (Test(f"{path}/name", kept["name"]),) if "name" in kept else ()
    reference = f"{path}/controllerRevisionRef"
    wanted = Test(f"/spec/{lost.role.value}/name", matcher.get("name"))
    return (wanted, *named, Test(f"{reference}/name", lost.revision_name), Remove(reference))


_COPY = Like(
    metadata=Like(
        labels=Like(**{f"{LABEL}{name}": PRESENT for name in ("generation", "kind", "name", "uid", "version")}),
        ownerReferences=owned_by("VirtualMachine"),
    ),
    data=Like(apiVersion=Begins("instancetype.kubevirt.io/"), kind=Is(*(kind.name for kind in INSTANCETYPES))),
)
_DROPPED = Patched(
    *(Field(f"/status/{role.value}Ref/controllerRevisionRef", to=EMPTY) for role in MatcherRole), back=False
)
REMEDIATION = Remediation(
    id="restash_missing_revision",
    title="Restore the missing ControllerRevision of a VM",
    writes=(
        Write("apps", "controllerrevisions", ("create",), (Created(_COPY),)),
        # Its owner reference has blockOwnerDeletion: needed where OwnerReferencesPermissionEnforcement is on.
        Write("kubevirt.io", "virtualmachines/finalizers", ("update",)),
        Write("kubevirt.io", "virtualmachines/status", ("patch",), (_DROPPED,)),
    ),
    plan=_plan,
    risk=Risk.DOWNTIME,
    undo="delete the ControllerRevision that was created; a new copy of the live object is permanent",
    note="**A stop or restart that waits is carried out then.**",
)


# A ControllerRevision that was restored is needed by then: without it KubeVirt neither starts nor stops the VM.


@guard(going)
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
    return going(scene, taken.plan.target, f"{taken.plan.target} is gone.")


UNDO = Undo(id="restash_missing_revision", weigh=_weigh, losses=LOSSES)
