"""What a VM is: its identity, interfaces, instancetype and preference, and the features that it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ...checks.features.feature_mismatch.evaluation import refusals
from ...domain.features.configuration import Effective
from ...domain.instancetypes.conflicts import differing
from ...domain.instancetypes.resolving import LIVE, ReferenceMode, Resolution, resolve, target
from ...facts.firmware import Invalid, invalid, legacy
from ...facts.matching import ROLES
from ...facts.naming import NAMED
from ...facts.record import UnreadableFactError
from ...facts.rule import Ground, Request, Rule
from ...facts.rules import BY_ID
from ...facts.vm_networks import VMNetwork, claim_name, parted
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.storage import StorageClass
from .context import OneVM
from .report import FeatureUse, InterfaceReport, SizeReport, VMIdentity

_INVALID = {
    Invalid.MALFORMED: "it is not a valid UUID",
    Invalid.PLACEHOLDER: "it is a placeholder, which other VMs may have too",
}
_MOST = 100  # interfaces, which anybody may give a VM as many as they like
_NO_GROUND = "which StorageClasses there are can't be seen"


def identity(context: OneVM) -> VMIdentity:
    vm, vmi = context.vm, context.vmi
    own = (vm.uuid.strip() or legacy(vm.name)) if vm is not None else (vmi.uuid if vmi is not None else "")
    why = invalid((vm or vmi).uuid) if (vm or vmi) is not None else None  # type: ignore[union-attr]
    return VMIdentity(
        uuid=vmi.uuid if vmi is not None and vmi.uuid else "",
        next_uuid=own,
        origin="name" if vm is not None and not vm.uuid.strip() else "spec" if own else "",
        serial=vmi.serial if vmi is not None else "",
        next_serial=(vm.serial if vm is not None else "") or (vmi.serial if vm is None and vmi is not None else ""),
        keeps=(vm.sealed if vm is not None else "") or (vmi.sealed if vmi is not None else ""),
        invalid=_INVALID[why] if why is not None else "",
    )


# -- interfaces


def interfaces(context: OneVM) -> Iterator[InterfaceReport]:
    """Those of the VMI, then what only its VM has."""
    seen: dict[VMNetwork, None] = {}
    for record in reversed(context.records):
        seen |= dict.fromkeys(record.networks)  # type: ignore[attr-defined]
    once: set[str] = set()
    for name, nad, absent in seen:
        if name not in once and len(once) < _MOST:
            once.add(name)
            yield _interface(context, name, nad, absent)


def _interface(context: OneVM, name: str, nad: str, absent: bool) -> InterfaceReport:
    vm, vmi = context.vm, context.vmi
    macs = (*(vmi.macs if vmi is not None else ()), *(vm.macs if vm is not None else ()))
    claims = context.blind_here(IPAMClaim)
    claim = None if claims else context.view.named(IPAMClaim, context.namespace, claim_name(context.name, name))
    missing, unknown = _nad(context, nad)
    try:
        requested = tuple(address for network, address in vmi.requested if network == name) if vmi is not None else ()
    except UnreadableFactError as error:
        requested, unknown = (), unknown or str(error)
    return InterfaceReport(
        network=name,
        nad=nad,
        absent=absent,
        macs=_on(nad, macs),
        addresses=_on(nad, vmi.addresses if vmi is not None else ()),
        requested=requested,
        claim=claim.ref if claim is not None else None,
        claimed=claim.ips if claim is not None else (),
        missing=missing,
        unknown=unknown or (f"whether it has an IPAMClaim: {claims}" if claims else ""),
    )


def _nad(context: OneVM, nad: str) -> tuple[str, str]:
    """What is not there, and what can't be seen."""
    namespace, _, name = nad.partition("/")
    if not nad:
        return "", ""
    if why := context.blind(NetworkAttachmentDefinition):
        return "", f"NAD {nad}: {why}"
    there = context.view.named(NetworkAttachmentDefinition, namespace, name) is not None
    return ("" if there else f"NAD {nad} does not exist"), ""


def _on(nad: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(address for where, address in map(parted, texts) if where == nad))


# -- instancetype and preference


def resolved(context: OneVM) -> Iterator[Resolution]:
    if context.vm is None:
        return
    kubevirt = None if isinstance(context.kubevirt, str) else context.kubevirt
    for role in ROLES:
        found = resolve(context.vm, role, context.view.named, kubevirt)
        if found is not None:
            yield found


def sizes(context: OneVM) -> Iterator[SizeReport]:
    for found in resolved(context):
        wanted = found.reference
        kept = found.mode in (ReferenceMode.PINNED, ReferenceMode.REVISION)
        unknown = context.blind_here(ControllerRevision) if kept else ""
        live = context.blind_here(LIVE[found.kind]) if found.kind else ""
        unknown = unknown or ("" if kept else live)
        yield SizeReport(
            role=found.role.value,
            kind=found.kind or wanted.kind,
            name=wanted.name or wanted.volume,
            mode=found.mode.value,
            revision=found.revision_name,
            differs=_differs(found) if kept and not (unknown or live) else None,
            failure="" if unknown or found.failure is None else _failed(context, found),
            unknown=unknown or (live if kept else ""),
        )


def _differs(found: Resolution) -> tuple[str, ...] | None:
    if found.spec is None or found.live is None:
        return None
    return differing(found.spec, found.live.spec)


def _failed(context: OneVM, found: Resolution) -> str:
    role, wanted = found.role, found.reference
    if found.failure is None:
        return ""
    if found.failure.value == "kind":
        return f"its kind {wanted.kind} is neither {role.namespaced} nor {role.cluster_wide}"
    if found.failure.value == "revision":
        return f"ControllerRevision {context.namespace}/{found.revision_name} does not exist"
    kind, namespace, name = target(context.namespace, role, wanted)
    return f"{kind} {f'{namespace}/' if namespace else ''}{name} does not exist"


# -- features


def features(context: OneVM) -> Iterator[FeatureUse]:
    """What is not allowed first. What nearly every VM asks for is there where it is not allowed."""
    by = {
        "VirtualMachine": context.asked_by_vm,
        "VirtualMachineInstance": context.vmi.asks if context.vmi is not None else (),
    }
    rules = dict.fromkeys(BY_ID[rule] for requests in by.values() for rule, _ in requests)
    rows = [_feature(context, rule, by) for rule in rules]
    kept = (each for each in rows if each.allowed is False or not BY_ID[each.feature].common)
    yield from sorted(kept, key=lambda each: (each.allowed is not False, each.allowed is not None, each.feature))


def _feature(context: OneVM, rule: Rule, by: dict[str, tuple[Request, ...]]) -> FeatureUse:
    asked = tuple(who for who, requests in by.items() if any(name == rule.id for name, _ in requests))
    values = dict.fromkeys(value for requests in by.values() for name, value in requests if name == rule.id and value)
    known = context.known
    ground = _ground(context, rule, known)
    why = (ground,) if isinstance(ground, str) else _refused(ground, rule, by)
    return FeatureUse(
        feature=rule.id,
        title=rule.phrase,
        values=tuple(islice(values, NAMED)),
        asked_by=asked,
        allowed=None if isinstance(ground, str) else not why,
        why=why,
        stage=rule.bites(known).value if isinstance(known, Effective) and not isinstance(ground, str) and why else "",
    )


def _refused(ground: Ground, rule: Rule, by: dict[str, tuple[Request, ...]]) -> tuple[str, ...]:
    whys = (why for requests in by.values() for why in refusals(ground, requests).get(rule, ()))
    return tuple(islice(dict.fromkeys(whys), NAMED))


def _ground(context: OneVM, rule: Rule, known: Effective | str) -> Ground | str:
    """What decides on it, or why nobody knows."""
    if isinstance(known, str):
        return known
    if not rule.storage:
        return Ground(known)
    if context.blind(StorageClass):
        return _NO_GROUND
    return Ground(known, tuple(sorted(context.view.all(StorageClass), key=lambda each: each.ref)))


def refused(context: OneVM) -> Iterator[tuple[Rule, str]]:
    """The requests of its VM that are not allowed now, each with why."""
    known = context.known
    if isinstance(known, Effective):
        for rule, whys in refusals(Ground(known), context.asked_by_vm).items():
            yield from ((rule, why) for why in whys)
