"""What the checks find of one VM, on the cluster as it is or as it would be, and which of them have no answer for it.

What a check reads and can't see only matters where the VM has to do with it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from ...domain.features.rules import BY_ID
from ...domain.instancetypes.matching import ROLES
from ...domain.instancetypes.resolving import LIVE, reference, target
from ...engine.engine import Engine
from ...findings.check import Check
from ...findings.evaluate import evaluate, standing
from ...findings.finding import Finding, Unknown, fingerprint
from ...store.cluster import Cluster
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.endpoint_slice import EndpointSlice
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.node import Node
from ...store.kinds.persistent_volume import PersistentVolume
from ...store.kinds.pod import Pod
from ...store.kinds.pod_disruption_budget import PodDisruptionBudget
from ...store.kinds.storage_class import StorageClass
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...store.record import Record
from .context import OneVM
from .moving import runs_now

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
