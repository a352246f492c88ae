"""What a drain of its node, a restart, and the next release of KubeVirt would do to a VM."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from ...domain.features.gates import NEWEST, next_release
from ...domain.identity import next_boot
from ...domain.instancetypes.indexes import REVISION, revision_key
from ...domain.instancetypes.resolving import LIVE, ReferenceMode, reference, target
from ...engine.engine import Engine
from ...engine.evaluate import evaluate, standing
from ...facts.firmware import comparable
from ...facts.matching import ROLES
from ...facts.naming import counted, joined, kind_word, named
from ...facts.record import Record
from ...facts.rules import BY_ID
from ...findings.check import Check
from ...findings.finding import Finding, Unknown, fingerprint
from ...store.cluster import Cluster
from ...store.kinds.components import EndpointSlice
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.node import Node
from ...store.kinds.pod import Pod
from ...store.kinds.pod_disruption_budget import PodDisruptionBudget
from ...store.kinds.storage import PersistentVolume, StorageClass
from ...store.kinds.templates import VirtualMachinePool
from ...store.kinds.virtual_machine import PROTECTION, VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...store.overlay import Overlay
from ..drain import VMReport
from ..drain import steps as drain_steps
from ..findings import order, supposed
from ..impact.settings_changes import Wish, configured
from ..question import NotThereError
from .context import OneVM
from .moving import in_ending_namespace, locked, not_starting_now, refused_at_start, runs_now
from .places import for_start, places
from .report import DeleteOutcome, Places, RestartOutcome, UpgradeOutcome
from .shape import resolved

# What the checks find of one VM, on the cluster as it is or as it would be, and which of them have no answer for it.
#
# What a check reads and can't see only matters where the VM has to do with it.

Found = dict[str, tuple[Check, Finding]]
"""By fingerprint."""

_ALWAYS = (VirtualMachine, VirtualMachineInstance, KubeVirt, Node, Pod)
_RUNNING = (VirtualMachineInstanceMigration, PodDisruptionBudget, EndpointSlice)
_REFERRED_TO: frozenset[type[Record]] = frozenset((ControllerRevision, *LIVE.values()))
_SLICE = 5  # partitions evaluated between two looks at the event loop


def concerning(context: OneVM) -> frozenset[type[Record]]:
    """The kinds whose objects may say something of this VM."""
    found: set[type[Record]] = set(_ALWAYS)
    if runs_now(context.vmi):
        found |= set(_RUNNING)
    own = [each for each in (context.vm, context.vmi) if each is not None]
    if any(each.pvcs for each in own):
        found.add(PersistentVolume)
    networks = [each for record in own for each in record.networks]
    if any(nad for _, nad, _ in networks):
        found |= {NetworkAttachmentDefinition, IPAMClaim}
    asks = (*context.asked_by_vm, *(context.vmi.asks if context.vmi is not None else ()))
    if any(BY_ID[rule].storage for rule, _ in asks):
        found.add(StorageClass)
    for role in ROLES:
        wanted = reference(context.vm, role) if context.vm is not None else None
        if wanted is not None and wanted.wanted:
            kind, _, _ = target(context.namespace, role, wanted)
            found |= {ControllerRevision, *((LIVE[kind],) if kind else ())}
    return frozenset(found)


def unanswered(context: OneVM, engine: Engine) -> Iterator[Unknown]:
    """The checks that have no answer for the VM: for all of the cluster, for its namespace, or for itself."""
    kinds, checks = concerning(context), {each.id: each for each in engine.checks}
    places = (context.namespace, f"{context.namespace}/{context.name}")
    for each in engine.unknowns():
        check = checks.get(each.check)
        if each.partition in places or (not each.partition and check is not None and _matters(check, context, kinds)):
            yield each


def _matters(check: Check, context: OneVM, kinds: frozenset[type[Record]]) -> bool:
    """Whether what a check can't see may have to do with the VM."""
    if check.scope.whole or not any(type(each) in check.reach for each in context.records):
        return False
    state = standing(check, context.cluster)
    if not state.blind or not state.blind.isdisjoint(kinds):
        return True
    # One about nodes is about every VM, be what it can't see only what others refer to.
    return not state.evaluates and Node in check.reach and state.blind <= _REFERRED_TO


def evaluated(
    context: OneVM, engine: Engine, cluster: Cluster, wanted: Callable[[Check], bool] = lambda _: True
) -> Generator[None, None, tuple[Found, list[Unknown]]]:
    """On a cluster, which need not be that of the context: what is found of the VM, and which checks have no answer."""
    kinds, refs = concerning(context), {each.ref for each in context.records}
    settings = engine.settings()
    found: Found = {}
    unknown: dict[Unknown, None] = {}
    for check in engine.checks:
        state = standing(check, cluster)
        if state.not_applicable or check.scope.whole or not wanted(check):
            continue
        partitions = dict.fromkeys(_partitions(check, context, cluster))
        if not state.evaluates:
            unknown |= {Unknown(check.id, "", state.unknown): None} if partitions else {}
            continue
        for at, partition in enumerate(partitions):
            if at % _SLICE == 0:
                yield
            answer = evaluate(check, cluster, partition, settings.get(check.id))
            if answer.unknown and (not answer.partial or _matters(check, context, kinds)):
                unknown[Unknown(check.id, partition, answer.unknown)] = None
            own = (each for each in answer.findings if each.subject in refs)
            found |= {fingerprint(check.id, each): (check, each) for each in own}
    return found, sorted(unknown)


def _partitions(check: Check, context: OneVM, cluster: Cluster) -> Iterator[str]:
    for record in context.records:
        if type(record) in check.reach:
            yield from check.partitions(record, cluster)


def drained(
    context: OneVM, vmi: VirtualMachineInstance, engine: Engine
) -> Generator[None, None, tuple[VMReport | None, str]]:
    """As the preview of a drain of its node alone has it; or why nobody knows."""
    findings = list(engine.findings())
    drain = yield from drain_steps(context.cluster, [vmi.node], findings, engine.generation)
    found = (vm for node in drain.nodes for vm in node.vms if vm.vm == vmi.ref)
    report = next(found, None)
    if report is not None:
        return report, ""
    why = "; ".join(each.why for each in drain.unseen if each.kind in ("Node", "VirtualMachineInstance", "Pod"))
    return None, why or f"node {vmi.node} does not exist"


# -- its next start


def restarted(context: OneVM, vm: VirtualMachine) -> Generator[None, None, RestartOutcome]:
    vmi = context.vmi
    changes, loses = _new_identity(vm, vmi)
    blocked, now = refused_at_start(context, vm), not_starting_now(context, vm, runs=runs_now(vmi))
    start = yield from start_places(context)
    return RestartOutcome(
        required=vm.restart_required,
        identity=changes,
        loses=loses,
        fleeting=vmi.fleeting if vmi is not None and runs_now(vmi) else "",
        revisions=tuple(_new_revisions(context, vmi)) if vmi is not None else (),
        refused=tuple(dict.fromkeys(blocked)),
        not_now=tuple(now),
        start=start,
    )


def start_places(context: OneVM) -> Generator[None, None, Places]:
    """Which nodes could take its next launcher pod."""
    if why := context.blind(Node):
        return Places(unknown=why)
    wanted = for_start(context)
    if isinstance(wanted, str):
        return Places(unknown=wanted)
    return (yield from places(context.cluster, wanted))


def _new_identity(vm: VirtualMachine, vmi: VirtualMachineInstance | None) -> tuple[str, str]:
    """How its firmware UUID changes, and what the change empties."""
    following, running = next_boot(vm), vmi.identity if vmi is not None else ""
    if vmi is None or not following or not running or following == running:
        return "", ""
    loses = "persistent TPM" if "persistent TPM" in (vm.sealed, vmi.sealed) else ""
    when = "its next reboot" if vm.reboots_anew else "its next start"
    source = "of its spec" if vm.uuid.strip() else "that is derived from its name"
    new = comparable(vm.uuid) if vm.uuid.strip() else following
    return f"with {when} its firmware UUID becomes {new}, the one {source}; now it is {vmi.uuid}", loses


def _new_revisions(context: OneVM, vmi: VirtualMachineInstance) -> Iterator[str]:
    """The copies that it gets and did not start with, as far as the spec that it started with says."""
    began = context.view.named(ControllerRevision, vmi.namespace, vmi.started_with) if vmi.started_with else None
    for each in resolved(context):
        what = f"{each.role.value} {each.reference.name}"
        if each.mode is ReferenceMode.UNVERSIONED and each.failure is None:
            yield f"it gets {what} as that is then: it has no copy of it"
        elif began is not None and each.revision_name and each.revision_name not in began.pins:
            yield f"it gets {what} by ControllerRevision {each.revision_name}, which it did not start with"


# -- its end

_USERS = (VirtualMachine, VirtualMachinePool)
_MOST_USERS = 3  # that are named


def deleted(context: OneVM) -> DeleteOutcome:
    vm = context.vm
    if vm is None:
        then = ("it is gone for good, unless a replica set makes another",)
        return DeleteOutcome(not_now=tuple(_ending(context)), then=then)
    unseen = tuple(filter(None, (context.blind_here(each) for each in (VirtualMachine, ControllerRevision))))
    return DeleteOutcome(
        refused=tuple(_needed(context, vm)),
        protected=(f"its label {PROTECTION} protects it from deletion",) if vm.protected else (),
        not_now=tuple(_ending(context)),
        unseen=unseen,
        then=tuple(_going(context, vm)),
    )


def _ending(context: OneVM) -> Iterator[str]:
    """Why it ends, or waits, without anybody's doing."""
    if any(each.deleting is not None for each in (context.vm, context.vmi) if each is not None):
        yield "it is being deleted" if context.vm is None or context.vm.deleting is not None else "its VMI is deleted"
    yield from in_ending_namespace(context)
    if context.vm is not None:
        yield from locked(context.vm)


def _needed(context: OneVM, vm: VirtualMachine) -> Iterator[str]:
    """Who needs the ControllerRevisions that garbage collection deletes with it."""
    for each in context.view.within(ControllerRevision, vm.namespace):
        if each.owner_uid != vm.uid or each.saved:
            continue
        users = context.view.sharing(REVISION, revision_key(vm.namespace, each.name))
        names = sorted(f"{kind_word(o.ref.kind)} {o.name}" for o in users if isinstance(o, _USERS) and o.uid != vm.uid)
        if names:
            whom = named(names, most=_MOST_USERS)
            yield f"its ControllerRevision {each.name}, which goes with it, is needed by {whom}"


def _going(context: OneVM, vm: VirtualMachine) -> Iterator[str]:
    if vm.pool:
        yield f"VirtualMachinePool {vm.pool} makes it anew"
    claims = context.view.within(IPAMClaim, vm.namespace)
    own = [each for each in claims if any(owner.uid == vm.uid for owner in each.owners)]
    addresses = [host for each in own for host in each.hosts]
    going = [f"{counted(len(own), 'IPAMClaim')}{f' ({named(addresses)})' if addresses else ''}"] if own else []
    going += [vm.sealed] if vm.sealed else []
    yield f"with it go {joined([*going, 'the DataVolumes and PVCs of its dataVolumeTemplates, if it has any'])}"


# -- the next release of KubeVirt


def upgraded(context: OneVM, engine: Engine) -> Generator[None, None, UpgradeOutcome]:
    """The checks on the cluster as it would be, of this VM alone."""
    if isinstance(context.known, str):
        return UpgradeOutcome(unknown=context.known)
    release = next_release(context.known.version)
    if release is None:
        return UpgradeOutcome(unknown=f"no release after {NEWEST[0]}.{NEWEST[1]} is known")
    to = f"v{release[0]}.{release[1]}.0"
    try:
        proposal = configured(context.cluster, Wish(upgrade_to=to))
    except (ValueError, NotThereError) as error:
        return UpgradeOutcome(to, str(error))
    overlay = Overlay(context.cluster)
    for edit in proposal.edits:
        overlay.apply(edit)
    before, _ = yield from evaluated(context, engine, context.cluster, _reads_kubevirt)
    after, unknown = yield from evaluated(context, engine, overlay, _reads_kubevirt)
    appears = [supposed(*each) for key, each in after.items() if key not in before]
    goes = [supposed(*each) for key, each in before.items() if key not in after]
    why = unknown[0].why if unknown else ""
    return UpgradeOutcome(to, why, tuple(sorted(appears, key=order)), tuple(sorted(goes, key=order)))


def _reads_kubevirt(check: Check) -> bool:
    return KubeVirt in check.reach
