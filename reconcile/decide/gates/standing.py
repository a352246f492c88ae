"""Gates of what holds of us: who leads, what is paused, what is seen."""

from __future__ import annotations

from datetime import timedelta

from exporter.config.forms import write_duration
from exporter.config.mistakes import quoted

from ...config.settings import SidecarConfig
from ...plan.annotations import paused_by
from ...plan.plan import moment
from .base import Ask, Situation


def leading(_: Ask, situation: Situation, __: SidecarConfig) -> str | None:
    return None if situation.leading else "this replica doesn't hold the Lease. Only the replica that holds it writes"


def not_paused(ask: Ask, situation: Situation, _: SidecarConfig) -> str | None:
    if situation.paused is None:
        return "the Lease could not be read: all repairs might be paused (lease.namespace, lease.name)"
    if situation.paused:
        return f"all repairs are paused: {quoted(situation.paused)}. To resume: steward reconcile resume"
    for scope in dict.fromkeys(("", ask.namespace)):
        if pause := situation.history.paused(scope):
            what = f"namespace {scope}" if scope else "everything"
            since = f"{moment(pause.at)} by {quoted(pause.by)}: {quoted(pause.why)}"
            option = f" -n {scope}" if scope else ""
            return f"{what} has been paused since {since}. To resume: steward reconcile resume{option}"
    if not ask.namespace:
        return None
    annotations = situation.namespaces.get(ask.namespace)
    if annotations is None:
        return f"the annotations of namespace {ask.namespace} could not be read: it might be paused"
    if (value := paused_by(annotations)) is not None:
        resume = f"To resume: steward reconcile resume -n {ask.namespace}"
        return f"namespace {ask.namespace} is paused: {_reason(value)}. {resume}"
    return None


def labels_known(ask: Ask, situation: Situation, config: SidecarConfig) -> str | None:
    namespace = ask.namespace
    if not config.by_labels(ask.remediation.id, namespace) or situation.labels.get(namespace) is not None:
        return None
    return (
        f"the labels of namespace {namespace} could not be read, and the mode of {ask.remediation} there depends on "
        "them (namespaceSelectors)"
    )


def _reason(value: str) -> str:
    return quoted(value) if value else "no reason given"


def object_not_paused(ask: Ask, situation: Situation, _: SidecarConfig) -> str | None:
    if ask.annotations is None:
        return f"the annotations of {ask.subject} weren't read: it might be paused"
    vm = [f"VirtualMachine {ask.namespace}/{ask.vm}"] if ask.vm else []
    for name in dict.fromkeys((str(ask.target or ask.subject), *vm, *ask.annotations)):
        found = ask.annotations.get(name)
        if found is None:
            return f"the annotations of {name} could not be read: it might be paused"
        if (value := paused_by(found)) is not None:
            return f"{name} is paused: {_reason(value)}. To resume: steward reconcile resume {name}"
    for scope in dict.fromkeys((*_names(ask), *ask.annotations)):
        if pause := situation.history.paused(scope):
            since = f"{moment(pause.at)} by {quoted(pause.by)}: {quoted(pause.why)}"
            return f"{scope} has been paused since {since}. To resume: steward reconcile resume {scope}"
    return None


def opted_in(ask: Ask, _: Situation, __: SidecarConfig) -> str | None:
    wanted = ask.remediation.opt_in
    if not wanted:
        return None
    name = f"VirtualMachine {ask.namespace}/{ask.vm}"
    annotations = (ask.annotations or {}).get(name)
    if not ask.vm or annotations is None:
        return f"annotation {wanted} of {name if ask.vm else 'the VM'} could not be read"
    if annotations.get(wanted) != "true":
        allow = f"kubectl annotate virtualmachine -n {ask.namespace} {ask.vm} {wanted}=true"
        return f'{ask.remediation} is only for VMs that allow it, and {name} has no {wanted}: "true". To allow: {allow}'
    return None


def nothing_unclear(ask: Ask, situation: Situation, _: SidecarConfig) -> str | None:
    """A request without an answer may still arrive: whatever is written to its object meanwhile may meet it."""
    names, by_hand = {*_names(ask)}, situation.by_hand()
    if isinstance(by_hand, str):
        return f"writes by a person might still arrive, and their ledger can't be read: {by_hand}"
    for attempt in (*situation.history.unfinished(), *by_hand):
        if found := names.intersection(attempt.writes):
            return (
                f"the outcome of attempt {attempt.id}, begun at {moment(attempt.at)}, is unknown, and it writes to "
                f"{min(found)}. It ends once its request can no longer arrive: steward reconcile ledger {attempt.id}"
            )
    return None


def source_fresh(_: Ask, situation: Situation, config: SidecarConfig) -> str | None:
    age, oldest = situation.source_age, config.source.oldest
    if age is None:
        return "the exporter hasn't responded. Check its log and source.url"
    if not -60 <= age <= oldest.total_seconds():  # a clock that was set back makes it negative; nan is neither
        shown = write_duration(timedelta(seconds=round(age))) if 0 <= age < 1e9 else f"{age} s"
        return f"the exporter's last response is {shown} old, and the limit is {write_duration(oldest)} (source.oldest)"
    if not situation.ready:
        return "the exporter isn't ready: it hasn't read everything yet. Its /readyz lists the missing kinds"
    return None


def check_known(ask: Ask, situation: Situation, _: SidecarConfig) -> str | None:
    if situation.unknown_checks is None:
        return "the exporter couldn't be asked which checks are incomplete"
    if ask.check in situation.unknown_checks:
        return f"check {ask.check} is incomplete. Run `steward check` for the cause"
    return None


def no_upgrade(_: Ask, situation: Situation, __: SidecarConfig) -> str | None:
    if situation.upgrading is None:
        return "it is unknown whether KubeVirt is being upgraded"
    return "KubeVirt is being upgraded. Wait until its condition Progressing is False" if situation.upgrading else None


def ledger_writable(_: Ask, situation: Situation, __: SidecarConfig) -> str | None:
    return f"the ledger can't be written: {situation.ledger}" if situation.ledger else None


def _names(ask: Ask) -> list[str]:
    return [str(each) for each in (ask.target, ask.subject) if each is not None]
