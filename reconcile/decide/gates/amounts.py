"""Gates of how much is written, how often in vain, and against whom."""

from __future__ import annotations

import math
from collections.abc import Sequence

from exporter.config.forms import write_duration
from exporter.config.mistakes import quoted

from ...config.settings import Mode, SidecarConfig
from ...ledger.history import Failures
from ...ledger.trials import STEPS, Canary, Strike
from ...plan.plan import moment
from ...plan.remediation import Remediation
from ..canary import tried
from ..storms import Storm, StormState
from .base import Ask, Situation

_HOUR, _DAY = 3600.0, 86_400.0

Why = tuple[str, float | None]


def no_storm(ask: Ask, situation: Situation, _: SidecarConfig) -> Why | None:
    own = situation.storms.get(ask.namespace, Storm())
    return _stormy(situation.storm, "", "") or _stormy(own, f" in namespace {ask.namespace}", f" -n {ask.namespace}")


def _stormy(storm: Storm, where: str, option: str) -> Why | None:
    if storm.state is StormState.STORM:
        resume = f"To repair these findings anyway: steward reconcile resume{option}"
        return f"there is a storm{where}: {storm.why}. Find the common cause first. {resume}", None
    if storm.state is StormState.COOLDOWN:
        end = f"until {moment(storm.until)}" if storm.until is not None else "for an unknown time"
        return f"{storm.why}; nothing is written{where} {end} (storm.cooldown)", storm.until
    return None


def run_left(ask: Ask, _: Situation, config: SidecarConfig) -> str | None:
    limit = config.budgets.run
    if ask.planned < limit:
        return None
    return f"this run has made {ask.planned} {_writes(ask)} of at most {limit} (budgets.run). The next run continues"


def hour_left(ask: Ask, situation: Situation, config: SidecarConfig) -> Why | None:
    limit, since = config.budgets.hour, situation.now - _HOUR
    if why := _within_an_hour(situation, None, limit, f"{_writes(ask)} in all namespaces", "budgets.hour"):
        return why
    used, own = situation.history.executed(since), situation.history.executed(since, ask.namespace)
    until = _part_used(ask, situation, used, own, limit)
    if until is None:
        return None
    what = f"{len(used)} {_writes(ask)} in all namespaces within the last hour, at most {limit} (budgets.hour)"
    return f"{what}; {_reserved(ask, situation, limit, len(own))} until {moment(until + _HOUR)}", until + _HOUR


def namespace_left(ask: Ask, situation: Situation, config: SidecarConfig) -> Why | None:
    what = f"{_writes(ask)} {f'in namespace {ask.namespace}' if ask.namespace else 'to objects without namespace'}"
    return _within_an_hour(situation, ask.namespace, config.budgets.namespace_hour, what, "budgets.namespaceHour")


def _writes(ask: Ask) -> str:
    """What the numbers of a mode are of: in `shadow` also of what was only shadowed."""
    return "real or shadowed writes" if ask.mode is Mode.SHADOW else "writes"


def _within_an_hour(situation: Situation, namespace: str | None, limit: int, what: str, key: str) -> Why | None:
    done = situation.history.executed(situation.now - _HOUR, namespace)
    if len(done) < limit:
        return None
    until = done[len(done) - limit] + _HOUR if limit else None
    end = f"until {moment(until)}" if until is not None else "as long as that is 0"
    return f"{len(done)} {what} within the last hour, at most {limit} ({key}); nothing is written {end}", until


def fleet_share_left(ask: Ask, situation: Situation, config: SidecarConfig) -> Why | None:
    if not ask.vm:
        return None
    limit = _fleet_limit(situation, config)
    if limit is None:
        return ("the number of VMs is unknown, and so is the limit of VMs to touch (budgets.fleetShare)", None)
    touched = situation.history.vms_touched(situation.now - _DAY)
    if f"{ask.namespace}/{ask.vm}" in touched:
        return None
    allowed = f"at most {limit} (budgets.fleetShare {config.budgets.fleet_share:g})"
    touch = "were touched by real or shadowed writes" if ask.mode is Mode.SHADOW else "were touched"
    what = f"{len(touched)} of {situation.fleet} VMs {touch} within the last day, {allowed}"
    used = sorted(touched.values())
    if len(touched) >= limit:
        until = used[len(touched) - limit] + _DAY if limit else None
        end = f"until {moment(until)}" if until is not None else "as long as that is 0"
        return f"{what}; no other VM is {end}", until
    own = sorted(at for vm, at in touched.items() if vm.partition("/")[0] == ask.namespace)
    until = _part_used(ask, situation, used, own, limit)
    if until is None:
        return None
    return f"{what}; {_reserved(ask, situation, limit, len(own))} until {moment(until + _DAY)}", until + _DAY


def half_used(situation: Situation, config: SidecarConfig) -> bool:
    """Whether a limit of all namespaces is used by half: what is left of it is shared out by VMs."""
    hour, day = situation.history.executed(situation.now - _HOUR), situation.history.vms_touched(situation.now - _DAY)
    return 2 * len(hour) >= config.budgets.hour or 2 * len(day) >= (_fleet_limit(situation, config) or 0)


def _fleet_limit(situation: Situation, config: SidecarConfig) -> int | None:
    share, fleet = config.budgets.fleet_share, situation.fleet
    if fleet is None:
        return None
    return max(1, math.floor(share * fleet)) if share else 0


def _part(ask: Ask, situation: Situation, limit: int) -> int:
    """What of a limit is a namespace's, by its VMs: at least one."""
    vms = situation.vms.get(ask.namespace)
    if situation.fleet == 0:
        return limit
    return max(1, limit * vms // situation.fleet) if vms is not None and situation.fleet else 1


def _part_used(ask: Ask, situation: Situation, used: Sequence[float], own: Sequence[float], limit: int) -> float | None:
    """The first half of a limit is whose turn it is, the second is shared out: what a namespace has provoked all day
    leaves something for others. When the write was that has to be long ago; None where it need not be.
    """
    part, half = _part(ask, situation, limit), math.ceil(limit / 2)
    if ask.mode is Mode.APPLY or len(used) < half or len(own) < part:
        return None
    return min(used[len(used) - half], own[len(own) - part])


def _reserved(ask: Ask, situation: Situation, limit: int, own: int) -> str:
    part = _part(ask, situation, limit)
    where = f"namespace {ask.namespace}" if ask.namespace else "objects without namespace"
    return f"their second half is shared out by VMs: {where} has used {own} of {part}, no more there"


def no_failures(ask: Ask, situation: Situation, config: SidecarConfig) -> Why | None:
    """In the namespace, or in so many namespaces: whoever makes it fail in one stops no other."""
    history, limit = situation.history, config.breaker.failures
    own, namespaces = history.failures(ask.remediation.id, ask.namespace), history.failed_in(ask.remediation.id)
    where = f"in namespace {ask.namespace}" if ask.namespace else "on objects without namespace"
    found = _rests(ask, situation, config, own, f"{own.count} times in a row {where}") if own.count >= limit else None
    if found is not None or len(namespaces) < limit:
        return found
    return _rests(
        ask, situation, config, history.failures(ask.remediation.id), f"in {len(namespaces)} namespaces in a row"
    )


def _rests(ask: Ask, situation: Situation, config: SidecarConfig, failures: Failures, what: str) -> Why | None:
    settings = config.breaker
    until = failures.last + settings.pause.total_seconds()
    if situation.now >= until:
        return None
    rest = f"it rests until {moment(until)}, {write_duration(settings.pause)} after the last failure"
    enough = f"the limit is {settings.failures} (breaker.failures)"
    return f"{ask.remediation} failed {what}; {enough}; {rest}. The ledger has the errors", until


def no_edit_war(ask: Ask, situation: Situation, config: SidecarConfig) -> str | None:
    settings = config.edit_war
    keys = [ask.fingerprint, *(str(each) for each in (ask.target, ask.subject) if each is not None)]
    war = situation.history.edit_war(keys, settings.returns, settings.within.total_seconds())
    if war is None:
        return None
    subject = ask.target or ask.subject
    what = f"repairs of {subject} were reverted {war.times} times, last {moment(war.last)}"
    why = quoted(war.why) if war.why else "another client writes it"
    limit = f"(editWar: {settings.returns} in {write_duration(settings.within)})"
    return f"{what}: {why} {limit}. Change it at its source, then: steward reconcile resume {subject}"


# The gate of a remediation that begins in mode `auto`: one repair, then two, each followed until it held.


def canary_held(ask: Ask, situation: Situation, config: SidecarConfig) -> Why | None:
    remediation = ask.remediation
    if not config.canary_of(remediation.id).enabled:
        return None
    found, of = situation.history.canary(remediation.id), tried(config, remediation)
    if found.strike:
        return _stopped(remediation, found.strike), None
    step = found.step(of)
    if not step or found.may_go_on(ask.fingerprint) or found.room(of):
        return None
    return _waits(remediation, found, step, config)


def _stopped(remediation: Remediation, strike: Strike) -> str:
    since, resume = moment(strike.at), f"steward reconcile resume --remediation {remediation.id}"
    what = f"the canary of {remediation} stopped at {since}: {strike.object}: {strike.why}"
    return f"{what} (attempt {strike.attempt}). Resolve the failure, then: {resume}"


def _waits(remediation: Remediation, found: Canary, step: int, config: SidecarConfig) -> Why:
    """Until when is known once all findings are gone."""
    stays = config.canary_of(remediation.id).stays
    trials = [each for own in found.pending.values() for each in own]
    followed = all(each.state == "gone" or (each.state == "done" and not each.settles) for each in trials)
    until = max(each.since for each in trials) + stays.total_seconds() if followed else None
    objects = ", ".join(sorted({each.object for each in trials}))
    size = ("one repair", "two repairs")[STEPS[step - 1] - 1]
    what = f"the canary of {remediation} follows {objects}"
    long = f"for {write_duration(stays)} (canary.stays)"
    if until is None:
        what += f": the finding isn't resolved yet, and must then stay resolved {long}"
    else:
        what += f" until {moment(until)}: the finding must stay resolved {long}"
    return f"{what}; step {step} of {len(STEPS)} is {size}", until
