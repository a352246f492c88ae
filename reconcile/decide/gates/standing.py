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
    return None if situation.leading else "this replica does not hold the Lease; only the one that holds it writes"


def not_paused(ask: Ask, situation: Situation, _: SidecarConfig) -> str | None:
    if situation.paused is None:
        return "whether everything is paused could not be read from the Lease (lease.namespace, lease.name)"
    if situation.paused:
        return f"everything is paused: {quoted(situation.paused)}; to resume: steward reconcile resume"
    for scope in dict.fromkeys(("", ask.namespace)):
        if pause := situation.history.paused(scope):
            what = f"namespace {scope}" if scope else "everything"
            since = f"{moment(pause.at)} by {quoted(pause.by)}: {quoted(pause.why)}"
            option = f" -n {scope}" if scope else ""
            return f"{what} has been paused since {since}; to resume: steward reconcile resume{option}"
    if not ask.namespace:
        return None
    annotations = situation.namespaces.get(ask.namespace)
    if annotations is None:
        return f"the annotations of namespace {ask.namespace} could not be read; it may be paused"
    if (value := paused_by(annotations)) is not None:
        resume = f"to resume: steward reconcile resume -n {ask.namespace}"
        return f"namespace {ask.namespace} is paused: {_reason(value)}; {resume}"
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
        return f"the annotations of {ask.subject} were not read; it may be paused"
    vm = [f"VirtualMachine {ask.namespace}/{ask.vm}"] if ask.vm else []
    for name in dict.fromkeys((str(ask.target or ask.subject), *vm, *ask.annotations)):
        found = ask.annotations.get(name)
        if found is None:
            return f"the annotations of {name} could not be read; it may be paused"
        if (value := paused_by(found)) is not None:
            return f"{name} is paused: {_reason(value)}; to resume: steward reconcile resume {name}"
    for scope in dict.fromkeys((*_names(ask), *ask.annotations)):
        if pause := situation.history.paused(scope):
            since = f"{moment(pause.at)} by {quoted(pause.by)}: {quoted(pause.why)}"
            return f"{scope} has been paused since {since}; to resume: steward reconcile resume {scope}"
    return None


def opted_in(ask: Ask, _: Situation, __: SidecarConfig) -> str | None:
    wanted = ask.remediation.opt_in
    if not wanted:
        return None
    name = f"VirtualMachine {ask.namespace}/{ask.vm}"
    annotations = (ask.annotations or {}).get(name)
    if not ask.vm or annotations is None:
        return f"whether {name if ask.vm else 'a VM'} has annotation {wanted} could not be read"
    if annotations.get(wanted) != "true":
        allow = f"kubectl annotate virtualmachine -n {ask.namespace} {ask.vm} {wanted}=true"
        return f'{ask.remediation} is for VMs that allow it, and {name} has no {wanted}: "true"; to allow it: {allow}'
    return None


def nothing_unclear(ask: Ask, situation: Situation, _: SidecarConfig) -> str | None:
    """A request without an answer may still arrive: whatever is written to its object meanwhile may meet it."""
    names, by_hand = {*_names(ask)}, situation.by_hand()
    if isinstance(by_hand, str):
        return f"what of people's writes may still arrive can't be read: {by_hand}"
    for attempt in (*situation.history.unfinished(), *by_hand):
        if found := names.intersection(attempt.writes):
            return (
                f"what came of attempt {attempt.id}, begun at {moment(attempt.at)}, is not known, and it writes to "
                f"{min(found)}; it ends once its request can't arrive any more: steward reconcile ledger {attempt.id}"
            )
    return None


def source_fresh(_: Ask, situation: Situation, config: SidecarConfig) -> str | None:
    age, oldest = situation.source_age, config.source.oldest
    if age is None:
        return "the exporter has not answered; look at its log, and at source.url"
    if not -60 <= age <= oldest.total_seconds():  # a clock that was set back makes it negative; nan is neither
        shown = write_duration(timedelta(seconds=round(age))) if 0 <= age < 1e9 else f"{age} s"
        return f"the exporter's last answer is {shown} old; at most {write_duration(oldest)} is allowed (source.oldest)"
    if not situation.ready:
        return "the exporter is not ready: it has not seen everything yet; its /readyz says what is missing"
    return None


def check_known(ask: Ask, situation: Situation, _: SidecarConfig) -> str | None:
    if situation.unknown_checks is None:
        return "which checks have no answer could not be asked of the exporter"
    if ask.check in situation.unknown_checks:
        return f"check {ask.check} has no answer for part of the cluster; `steward check` says why"
    return None


def no_upgrade(_: Ask, situation: Situation, __: SidecarConfig) -> str | None:
    if situation.upgrading is None:
        return "whether KubeVirt is being upgraded could not be seen"
    return "KubeVirt is being upgraded; wait until its Progressing condition is False" if situation.upgrading else None


def ledger_writable(_: Ask, situation: Situation, __: SidecarConfig) -> str | None:
    return f"the ledger can't be written: {situation.ledger}" if situation.ledger else None


def _names(ask: Ask) -> list[str]:
    return [str(each) for each in (ask.target, ask.subject) if each is not None]
