"""The evaluation of one VM: what it asks for, what of that is not allowed, and the state that it is in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ....domain.acts import NOTHING_FORBIDDEN, Act, Forbids, acts_of
from ....domain.features.configuration import Effective, chosen, forecast
from ....domain.features.hco import REVERTED, Way, way_of_gate, way_of_setting
from ....domain.features.requests import network_requests, requests_of
from ....facts.naming import counted, filled, named
from ....facts.record import Ref, UnansweredError
from ....facts.rule import FIELDS, Ground, Request, Rule, Stage
from ....facts.rules import BY_ID, OF_NETWORKS
from ....facts.text_cache import remembered
from ....findings.check import View
from ....findings.finding import Finding
from ....findings.pages import Texts, command, reasons_of
from ....findings.severity import Severity
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.storage import StorageClass
from ....store.kinds.virtual_machine import TEMPLATE_MISSING, VirtualMachine
from .._brought import with_bringers
from .states import IGNORED, MismatchState, Pair, check_of, message, migration_fails, pairs, state_of, texts_of

REASONS = reasons_of("feature_mismatch")
_TEXTS = Texts("feature_mismatch")

# Where a feature is allowed: in KubeVirt, or in what owns it. Whether it is concerns the whole cluster.

# Reasons of which the text without a name is for who has only that: an alert, and `steward explain`.
_APART = ("PendingBlocked", "StartBlocked", "StoppedRequestsDisabled")
# Reasons that have all rejected fields removed at once, which is not to be done to those that keep the guest's state.
_ALL_AT_ONCE, _STATE = ("StartBlocked", "StoppedRequestsDisabled", "NotEditable"), "persistent_state"
_DECIDED = ("PendingBlocked", "StartBlocked")  # with by what to decide, where there is room for it
_SETTINGS = {"PersistentReservation": "persistentReservationConfiguration.enabled"}  # once the gate is GA
_CLAIMS = ("virt-controller then restarts.",)
_RESTARTS = {
    "PersistentReservation": ("virt-handler then restarts on every node.",),
    **dict.fromkeys(("GPUsWithDRA", "HostDevicesWithDRA", "NetworkDevicesWithDRA"), _CLAIMS),
}
_ENTRIES = {
    "permitted_host_devices": (
        "An entry of pciHostDevices has resourceName and pciVendorSelector (vendor:device, by `lspci -nn`).",
        "One of mediatedDevices has resourceName and mdevNameSelector.",
    )
}
_LEFT = (
    "If KubeVirt already made a PVC of the missing StorageClass, delete that Pending PVC first. "
    "Never delete a bound PVC."
)


class Allowing(NamedTuple):
    """What allows a feature, with all that has to be known of it, and in a few words; empty where nothing does."""

    full: str
    brief: str


@lru_cache(1024)
def change_of(rule: Rule, known: Effective, by_hco: bool, refused: tuple[str, ...]) -> Allowing:
    """In this release. `refused` are the parameters of the requests that are not allowed."""
    gate = rule.gate if rule.gate and not (known.gates if rule.plain else known).on(rule.gate) else ""
    own = _by_gate(gate, known) if gate else _by_setting(rule, known, refused)
    ways = _ways(rule, gate, known) if by_hco else {}
    way = " ".join(each.sentence(on) for each, on in ways.items()) if by_hco else own
    if not way:
        return Allowing("", "")
    full = " ".join((way, *((REVERTED,) if by_hco else ()), *_RESTARTS.get(gate, ()), *_ENTRIES.get(rule.id, ())))
    return Allowing(full, " ".join(each.brief(on) for each, on in ways.items()).strip() if by_hco else own)


@lru_cache(1024)
def next_step(texts: Texts, reason: str, rule: Rule, known: Effective, change: Allowing) -> str:
    """As much of the change as there is room for."""
    if not change.full:
        return texts.next(reason, "only", version=known.version)
    if reason in ("RunningStartedBefore", "StoppedRequestsDisabled") and rule.bites(known) in IGNORED:
        return texts.next(reason, "ignored")
    variant = "state" if rule.id == _STATE else "either" if reason in _APART else ""
    decided = ("either_decided",) if variant == "either" and reason in _DECIDED else ()
    of = (*decided, f"{variant}_named" if variant else "named")
    said = (texts.next_if_short(reason, *of, change=each) for each in filter(None, change))
    return next(filter(None, said), "") or texts.next(reason, variant)


def _by_gate(gate: str, known: Effective) -> str:
    """What switches a gate on; empty where nothing does."""
    gates = known.gates
    if gates.state(gate) in ("-", "DISC"):
        return ""
    if gates.state(gate) == "GA":
        return f"Set {_SETTINGS[gate]} of KubeVirt to true." if gate in _SETTINGS else ""
    if gates.source(gate) == "disabled":
        return f"Remove {gate} from disabledFeatureGates of KubeVirt."
    if written := gates.written(gate):
        return f'Correct "{written}" in featureGates of KubeVirt to {gate}.'
    return f"Add {gate} to featureGates of KubeVirt."


def _by_setting(rule: Rule, known: Effective, refused: tuple[str, ...]) -> str:
    if rule.allows:
        return rule.allows.format(" and ".join(refused))
    return _by_gate(rule.decides[0], known) if rule.decides else ""


def _ways(rule: Rule, gate: str, known: Effective) -> dict[Way, bool | None]:
    """Where HyperConverged decides, and whether it is to be on. Names of gates begin with a capital, paths of settings
    do not.
    """
    if gate:
        return {} if known.gates.state(gate) in ("-", "DISC") else {way_of_gate(gate): True}
    return {(way_of_gate if each[0].isupper() else way_of_setting)(each): None for each in rule.decides}


# Which requests are not allowed, and why; VMs that look alike share the answer.

Refusals = dict[Rule, tuple[str, ...]]
"""Why, for each request of a rule that is not allowed."""


@remembered(50_000)
def refusals(ground: Ground, requests: tuple[Request, ...]) -> Refusals:
    """Not to be changed. Rules that look at StorageClasses only count where the ground has them, and then alone."""
    found: dict[Rule, list[str]] = {}
    for name, parameter in requests:
        rule = BY_ID[name]
        if rule.storage is (ground.storage is not None) and (why := rule.why(ground, parameter)):
            found.setdefault(rule, []).append(why)
    return {rule: tuple(dict.fromkeys(whys)) for rule, whys in found.items()}


_BY_VMI = ("PendingBlocked", "PendingStartedBefore", "RunningStartedBefore", "MigrationBlocked")
_NONE: Refusals = {}


def mismatches(
    view: View, storage: tuple[StorageClass, ...] | None = None, injected: bool | None = None
) -> Iterator[Finding]:
    """Raises UnansweredError where a VM asks for something and nobody knows what is allowed. With `injected` only what
    it asks for by its networks counts.
    """
    found = pairs(view)
    if storage is None and injected is None:
        yield from (_invalid(view, pair, pair.vm) for pair in found if pair.vm is not None and pair.vm.invalid)
    kubevirt = chosen(view.all(KubeVirt))
    known = kubevirt if isinstance(kubevirt, str) else Effective.of(kubevirt)
    for pair in found:
        asked = _asked(view, pair, kubevirt) if injected is None else _by_networks(view, pair)
        if not any(asked):
            continue
        if isinstance(kubevirt, str) or isinstance(known, str):
            if any(not BY_ID[rule].common for requests in asked for rule, _ in requests):
                raise UnansweredError(str(known))
            continue  # what it asks for, every VM does, and KubeVirt allows it unless somebody has forbidden it
        yield from _of(view, pair, asked, kubevirt, Ground(known, storage, injected))


def _asked(view: View, pair: Pair, kubevirt: KubeVirt | str) -> tuple[tuple[Request, ...], tuple[Request, ...]]:
    """By the VM, and by its VMI."""
    known = None if isinstance(kubevirt, str) else kubevirt
    vm = requests_of(pair.vm, view.named, known) if pair.vm is not None else ()
    return vm, pair.vmi.asks if pair.vmi is not None else ()


def _by_networks(view: View, pair: Pair) -> tuple[tuple[Request, ...], tuple[Request, ...]]:
    vm, vmi = (network_requests(each.networks, view.named) if each is not None else () for each in (pair.vm, pair.vmi))
    return vm, vmi


def _of(
    view: View, pair: Pair, asked: tuple[tuple[Request, ...], tuple[Request, ...]], kubevirt: KubeVirt, ground: Ground
) -> Iterator[Finding]:
    now = _states(ground, pair, asked)
    others = [each.id for each, (of, _) in now.items() if of.reason == "PendingStartedBefore"]
    keeps = any(each.id == _STATE for each in now)
    for rule, (state, whys) in now.items():
        change = _change(rule, ground, asked, kubevirt)
        found = _finding(pair, rule, state, whys, ground.configuration, kubevirt, change)
        if state.reason == "PendingBlocked" and others:
            found = _without_restart(found, change, others[0])
        if keeps and rule.id != _STATE and state.reason in _ALL_AT_ONCE:
            found = msgspec.structs.replace(found, next=_TEXTS.next(state.reason, "beside_state"))
        yield _brought(view, pair, found, asked[0], ground)
    target = forecast(kubevirt)
    if target is None:
        return
    ground = Ground(target, ground.storage, ground.injected)
    for rule, (state, whys) in _states(ground, pair, asked).items():
        if rule not in now:
            change = _change(rule, ground, asked, kubevirt)
            found = _forecast(pair, rule, state, whys, target, kubevirt, change)
            yield _brought(view, pair, found, asked[0], ground)


def _change(
    rule: Rule, ground: Ground, asked: tuple[tuple[Request, ...], tuple[Request, ...]], kubevirt: KubeVirt
) -> Allowing:
    no = refused(rule, ground, (*asked[0], *asked[1]))
    return change_of(rule, ground.configuration, kubevirt.managed_by_hco, no)


def refused(rule: Rule, ground: Ground, asked: tuple[Request, ...]) -> tuple[str, ...]:
    """The parameters of what is asked for and not allowed."""
    return tuple(dict.fromkeys(each for name, each in asked if name == rule.id and rule.why(ground, each)))


def _brought(view: View, pair: Pair, found: Finding, asked: tuple[Request, ...], ground: Ground) -> Finding:
    """With what brings what is refused of the VM, where its template does not ask for it."""
    no = [(found.feature, each) for each in refused(BY_ID[found.feature], ground, asked)]
    return with_bringers(view, found, pair.vm, no) if pair.vm is not None and no else found


def _states(
    ground: Ground, pair: Pair, asked: tuple[tuple[Request, ...], tuple[Request, ...]]
) -> dict[Rule, tuple[MismatchState, tuple[str, ...]]]:
    by_vm, by_vmi = [refusals(ground, requests) if requests else _NONE for requests in asked]
    if not (by_vm or by_vmi):
        return {}
    found = {}
    for rule in (*by_vm, *(each for each in by_vmi if each not in by_vm)):
        both = rule.compares and pair.vm is not None and by_vm.get(rule) != by_vmi.get(rule)
        if rule.compares and not both:
            continue
        state = state_of(rule, rule.bites(ground.configuration), pair, rule in by_vm, both or rule in by_vmi)
        if state is not None:
            found[rule] = state, tuple(dict.fromkeys((*by_vmi.get(rule, ()), *by_vm.get(rule, ()))))
    return found


def _refused_too(view: View, pair: Pair) -> list[str]:
    """The features for which KubeVirt rejects the same edit, as far as that is known."""
    try:
        kubevirt = chosen(view.all(KubeVirt))
        known = kubevirt if isinstance(kubevirt, str) else Effective.of(kubevirt)
        asked, _ = _asked(view, pair, kubevirt)
    except UnansweredError:  # the VM has two run settings, whatever it asks for
        return []
    return [] if isinstance(known, str) else [rule.id for rule in refusals(Ground(known, None, None), asked)]


_VOLUME = re.compile(r"spec\.volumes\[]\.(\w+)")


def _in_template(feature: str) -> str:
    """What asks for it. A volume doesn't go without its disk."""
    field = FIELDS.get(feature, feature)
    volume = _VOLUME.fullmatch(field)
    return f"the {volume[1]} disk and volume" if volume else f"{field.replace('spec.', '')} of the template"


def _invalid(view: View, pair: Pair, vm: VirtualMachine) -> Finding:
    runs = "running" if pair.vmi is not None and not pair.vmi.final else "stopped"
    others = [] if vm.invalid == TEMPLATE_MISSING else _refused_too(view, pair)
    if vm.invalid == TEMPLATE_MISSING:
        step = _TEXTS.next("InvalidVM", "template")
    elif _STATE in others:
        step = _TEXTS.next("InvalidVM", "state")
    elif others:
        beside, many = f"{runs}_beside", f"{counted(len(others), 'feature')} of the template"
        step = _TEXTS.next_if_short("InvalidVM", beside, features=named([_in_template(each) for each in others]))
        step = step or _TEXTS.next("InvalidVM", beside, features=many)
    else:
        step = _TEXTS.next("InvalidVM", runs)
    return Finding(
        reason="InvalidVM",
        severity=Severity.WARNING,
        subject=vm.ref,
        message=_TEXTS.message("InvalidVM", "beside" if others else "", why=vm.invalid, features=named(others)),
        next=step,
        evidence={"why": [vm.invalid], "refused": others} if others else {"why": [vm.invalid]},
    )


def _finding(
    pair: Pair,
    rule: Rule,
    state: MismatchState,
    whys: tuple[str, ...],
    known: Effective,
    kubevirt: KubeVirt,
    change: Allowing,
) -> Finding:
    subject, related = _subject(pair, state)
    return Finding(
        reason=state.reason,
        severity=Severity(state.severity),
        subject=subject,
        related=related,
        message=message(rule, rule.bites(known), pair, state, whys, subject.kind),
        node=pair.vmi.node if pair.vmi is not None else "",
        feature=rule.id,
        group=rule.id,
        next=_step(state.reason, rule, known, change),
        commands=_commands(state.reason, rule, kubevirt, change, pair),
        does=() if _heals_without_state(state.reason, rule) else None,
        forbids=_forbids(rule, rule.bites(known), pair, state),
        evidence=_evidence(pair, rule, whys, known, change),
    )


def _without_restart(found: Finding, change: Allowing, other: str) -> Finding:
    """Of a VMI with another feature that isn't allowed: a restart, to be rid of this one, would fail by that."""
    said = (_TEXTS.next_if_short("PendingBlocked", "beside", other=other, change=each) for each in change if each)
    step = next(filter(None, said), "") or _TEXTS.next("PendingBlocked", "beside_only", other=other)
    forbids = Forbids((Act.START, Act.RESTART), f"its feature {other} isn't allowed either")
    edit, _, _ = command("edit_vm").partition(" -n ")  # which takes effect by a restart
    commands = tuple(each for each in found.commands if not each.startswith(edit))
    return msgspec.structs.replace(found, next=step, commands=commands, does=(), forbids=forbids)


def _commands(reason: str, rule: Rule, kubevirt: KubeVirt, change: Allowing, pair: Pair) -> tuple[str, ...]:
    """Those of the reason, and what opens each object of which the next step says that it may be changed."""
    own = [
        each
        for each in reasons_of(check_of(rule))[reason].commands
        if not (_heals_without_state(reason, rule) and acts_of(each))
    ]
    apart = rule.storage or rule in OF_NETWORKS  # what is missing there is no feature of the VM
    if reason != "HealsAtRestart":
        if change.full or apart:
            own.append(edit_of(kubevirt))
        if pair.vm is not None and not apart and not (change.full and rule.id == _STATE):
            own.append(command("edit_vm"))
    one = pair.vm or pair.vmi
    values = {"NAMESPACE": one.namespace, "NAME": one.name, "VMNAME": one.name} if one is not None else {}
    return tuple(filled(each, values) for each in own)


def edit_of(kubevirt: KubeVirt) -> str:
    """What opens the object that decides about features: KubeVirt, or the one that it is written from."""
    name = "edit_hyperconverged" if kubevirt.managed_by_hco else "edit_kubevirt"
    return filled(command(name), {"NAMESPACE": kubevirt.namespace, "NAME": kubevirt.name})


def _step(reason: str, rule: Rule, known: Effective, change: Allowing) -> str:
    """Empty where it is the one that the reason declares, and where another check says what to do."""
    if reason == "HealsAtRestart" or rule in OF_NETWORKS:
        return _TEXTS.next(reason, "state") if _heals_without_state(reason, rule) else ""
    if rule.storage:
        return texts_of(rule).next(reason)
    return next_step(_TEXTS, reason, rule, known, change)


_LOSES = Forbids((Act.STOP, Act.RESTART, Act.END), "its next start can delete the state of its TPM or EFI")


def _heals_without_state(reason: str, rule: Rule) -> bool:
    """Whether the start after which all is well is one without the state that the guest had."""
    return reason == "HealsAtRestart" and rule.id == _STATE


def _forbids(rule: Rule, stage: Stage, pair: Pair, state: MismatchState) -> Forbids | None:
    """None where it is what the reason declares."""
    if stage in IGNORED:
        return NOTHING_FORBIDDEN
    if _heals_without_state(state.reason, rule):
        return _LOSES
    declared = REASONS[state.reason].forbids
    if state.reason == "NotEditable" and declared is not None and migration_fails(rule, pair):
        return Forbids((*declared.acts, Act.MIGRATE, Act.DRAIN), f"{declared.why}, and its migration will fail")
    return None


def _forecast(
    pair: Pair,
    rule: Rule,
    state: MismatchState,
    whys: tuple[str, ...],
    target: Effective,
    kubevirt: KubeVirt,
    change: Allowing,
) -> Finding:
    subject, related = (pair.vm.ref, ()) if pair.vm is not None else _subject(pair, state)
    return Finding(
        reason="BreaksAtUpgrade",
        severity=Severity.WARNING,
        subject=subject,
        related=related,
        message=_TEXTS.message(
            "BreaksAtUpgrade",
            version=target.version,
            then=message(rule, rule.bites(target), pair, state, whys, subject.kind),
        ),
        feature=rule.id,
        group=rule.id,
        next=_step("BreaksAtUpgrade", rule, target, change),
        commands=_commands("BreaksAtUpgrade", rule, kubevirt, change, pair),
        evidence=_evidence(pair, rule, whys, target, change) | {"state": state.reason},
    )


def _subject(pair: Pair, state: MismatchState) -> tuple[Ref, tuple[Ref, ...]]:
    refs = [each.ref for each in (pair.vm, pair.vmi) if each is not None]
    if state.reason in _BY_VMI:
        refs.reverse()
    return refs[0], tuple(refs[1:])


def _evidence(pair: Pair, rule: Rule, whys: tuple[str, ...], known: Effective, change: Allowing) -> dict[str, Any]:
    facts: dict[str, Any] = {"stage": rule.bites(known).value, "why": list(whys), "answer": rule.message}
    facts |= {"version": str(known.version), "change": change.full}
    if rule.storage and known.state_storage_class:
        facts["volume"] = _LEFT
    if rule.gate:
        facts |= {"gate": rule.gate, "source": known.source(rule.gate)}
    if pair.vmi is not None:
        facts |= {"phase": pair.vmi.phase, "migratable": pair.vmi.migratable, "blocked": pair.vmi.blocked}
    return {name: fact for name, fact in facts.items() if fact not in ("", None)}
