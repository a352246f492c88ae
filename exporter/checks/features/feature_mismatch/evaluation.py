"""The evaluation of one VM: what it asks for, what of that is not allowed, and the state that it is in."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ....domain.acts import NOTHING_FORBIDDEN, Act, Forbids
from ....domain.features.configuration import Effective, chosen, forecast
from ....domain.features.hco import REVERTED, way_of_gate, way_of_setting
from ....domain.features.requests import network_requests, requests_of
from ....facts.record import Ref, UnansweredError
from ....facts.rule import Ground, Request, Rule, Stage
from ....facts.rules import BY_ID, OF_NETWORKS
from ....facts.text_cache import remembered
from ....findings.check import View
from ....findings.finding import Finding
from ....findings.pages import NEXT_CHARACTERS, Texts, reasons_of
from ....findings.severity import Severity
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.storage import StorageClass
from ....store.kinds.virtual_machine import VirtualMachine
from .._brought import with_bringers
from .states import IGNORED, MismatchState, Pair, message, migration_fails, pairs, state_of, texts_of

REASONS = reasons_of("feature_mismatch")
_TEXTS = Texts("feature_mismatch")

# Where a feature is allowed: in KubeVirt, or in what owns it. Whether it is concerns the whole cluster.

# Reasons of which the text without a name is for who has only that: an alert, and `steward explain`.
_APART = ("PendingBlocked", "StartBlocked", "StoppedRequestsDisabled")
_SETTINGS = {"PersistentReservation": "persistentReservationConfiguration.enabled"}  # once the gate is GA
_CLAIMS = ("virt-controller then restarts.",)
_RESTARTS = {
    "PersistentReservation": ("virt-handler then restarts on every node.",),
    **dict.fromkeys(("GPUsWithDRA", "HostDevicesWithDRA", "NetworkDevicesWithDRA"), _CLAIMS),
}
_LEFT = (
    "If KubeVirt already made a PVC of the missing StorageClass, delete that Pending PVC first. "
    "Never delete a bound PVC."
)


@lru_cache(1024)
def change_of(rule: Rule, known: Effective, by_hco: bool) -> str:
    """What allows the feature; empty where nothing does in this release."""
    gate = rule.gate if rule.gate and not (known.gates if rule.plain else known).on(rule.gate) else ""
    own = _by_gate(gate, known) if gate else _by_setting(rule)
    way = _in_hyperconverged(rule, gate, known) if by_hco else own
    return " ".join((way, *((REVERTED,) if by_hco else ()), *_RESTARTS.get(gate, ()))) if way else ""


@lru_cache(1024)
def next_step(texts: Texts, reason: str, rule: Rule, known: Effective, change: str) -> str:
    """`change` is what allows the feature."""
    if not change:
        return texts.next(reason, "only", version=known.version)
    if reason in ("RunningStartedBefore", "StoppedRequestsDisabled") and rule.bites(known) in IGNORED:
        return texts.next(reason, "ignored")
    variant = "state" if rule.id == "persistent_state" else "either" if reason in _APART else ""
    named = texts.next(reason, f"{variant}_named" if variant else "named", change=change)
    return named if len(named) <= NEXT_CHARACTERS else texts.next(reason, variant)


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


def _by_setting(rule: Rule) -> str:
    *others, last = rule.decides or ("",)
    return f"Change {', '.join(others)}{' and ' if others else ''}{last} of KubeVirt." if last else ""


def _in_hyperconverged(rule: Rule, gate: str, known: Effective) -> str:
    if gate:
        return "" if known.gates.state(gate) in ("-", "DISC") else way_of_gate(gate).sentence(True)
    return " ".join(dict.fromkeys(map(_sentence, rule.decides)))


def _sentence(decides: str) -> str:
    """Names of gates begin with a capital, paths of settings do not."""
    return (way_of_gate if decides[0].isupper() else way_of_setting)(decides).sentence(None)


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
        yield from (_invalid(pair.vm) for pair in found if pair.vm is not None and pair.vm.invalid)
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
    for rule, (state, whys) in now.items():
        found = _finding(pair, rule, state, whys, ground.configuration, kubevirt.managed_by_hco)
        yield _brought(view, pair, found, asked[0], ground)
    target = forecast(kubevirt)
    if target is None:
        return
    ground = Ground(target, ground.storage, ground.injected)
    for rule, (state, whys) in _states(ground, pair, asked).items():
        if rule not in now:
            found = _forecast(pair, rule, state, whys, target, kubevirt.managed_by_hco)
            yield _brought(view, pair, found, asked[0], ground)


def _brought(view: View, pair: Pair, found: Finding, asked: tuple[Request, ...], ground: Ground) -> Finding:
    """With what brings what is refused of the VM, where its template does not ask for it."""
    rule = BY_ID[found.feature]
    refused = [each for each in asked if each[0] == rule.id and rule.why(ground, each[1])]
    return with_bringers(view, found, pair.vm, refused) if pair.vm is not None and refused else found


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


def _invalid(vm: VirtualMachine) -> Finding:
    return Finding(
        reason="InvalidVM",
        severity=Severity.WARNING,
        subject=vm.ref,
        message=_TEXTS.message("InvalidVM", why=vm.invalid),
        evidence={"why": [vm.invalid]},
    )


def _finding(
    pair: Pair, rule: Rule, state: MismatchState, whys: tuple[str, ...], known: Effective, by_hco: bool
) -> Finding:
    subject, related = _subject(pair, state)
    return Finding(
        reason=state.reason,
        severity=Severity(state.severity),
        subject=subject,
        related=related,
        message=message(rule, rule.bites(known), pair, state, whys),
        node=pair.vmi.node if pair.vmi is not None else "",
        feature=rule.id,
        group=rule.id,
        next=_step(state.reason, rule, known, by_hco),
        does=() if _heals_without_state(state.reason, rule) else None,
        forbids=_forbids(rule, rule.bites(known), pair, state),
        evidence=_evidence(pair, rule, whys, known, by_hco),
    )


def _step(reason: str, rule: Rule, known: Effective, by_hco: bool) -> str:
    """Empty where it is the one that the reason declares, and where another check says what to do."""
    if reason == "HealsAtRestart" or rule in OF_NETWORKS:
        return _TEXTS.next(reason, "state") if _heals_without_state(reason, rule) else ""
    if rule.storage:
        return texts_of(rule).next(reason)
    return next_step(_TEXTS, reason, rule, known, change_of(rule, known, by_hco))


_LOSES = Forbids((Act.STOP, Act.RESTART, Act.END), "its next start can delete the state of its TPM or EFI")


def _heals_without_state(reason: str, rule: Rule) -> bool:
    """Whether the start after which all is well is one without the state that the guest had."""
    return reason == "HealsAtRestart" and rule.id == "persistent_state"


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
    pair: Pair, rule: Rule, state: MismatchState, whys: tuple[str, ...], target: Effective, by_hco: bool
) -> Finding:
    subject, related = (pair.vm.ref, ()) if pair.vm is not None else _subject(pair, state)
    return Finding(
        reason="BreaksAtUpgrade",
        severity=Severity.WARNING,
        subject=subject,
        related=related,
        message=_TEXTS.message(
            "BreaksAtUpgrade", version=target.version, then=message(rule, rule.bites(target), pair, state, whys)
        ),
        feature=rule.id,
        group=rule.id,
        next=_step("BreaksAtUpgrade", rule, target, by_hco),
        evidence=_evidence(pair, rule, whys, target, by_hco) | {"state": state.reason},
    )


def _subject(pair: Pair, state: MismatchState) -> tuple[Ref, tuple[Ref, ...]]:
    refs = [each.ref for each in (pair.vm, pair.vmi) if each is not None]
    if state.reason in _BY_VMI:
        refs.reverse()
    return refs[0], tuple(refs[1:])


def _evidence(pair: Pair, rule: Rule, whys: tuple[str, ...], known: Effective, by_hco: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"stage": rule.bites(known).value, "why": list(whys), "answer": rule.message}
    facts |= {"version": str(known.version), "change": change_of(rule, known, by_hco)}
    if rule.storage and known.state_storage_class:
        facts["volume"] = _LEFT
    if rule.gate:
        facts |= {"gate": rule.gate, "source": known.source(rule.gate)}
    if pair.vmi is not None:
        facts |= {"phase": pair.vmi.phase, "migratable": pair.vmi.migratable, "blocked": pair.vmi.blocked}
    return {name: fact for name, fact in facts.items() if fact not in ("", None)}
