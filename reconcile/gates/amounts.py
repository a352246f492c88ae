"""Gates of how much is written, how often in vain, and against whom."""

from __future__ import annotations

import math

from exporter.config.forms import write_duration
from exporter.config.mistakes import quoted

from ..config import Config
from ..moments import moment
from ..storm import Weather
from .base import Ask, Situation

__all__ = ["fleet_share_left", "hour_left", "namespace_left", "no_edit_war", "no_failures", "no_storm", "run_left"]

_HOUR, _DAY = 3600.0, 86_400.0

Why = tuple[str, float | None]


def no_storm(_: Ask, situation: Situation, __: Config) -> Why | None:
    storm = situation.storm
    if storm.weather is Weather.STORM:
        return f"there is a storm: {storm.why}; find the common cause", None
    if storm.weather is Weather.COOLDOWN:
        end = f"until {moment(storm.until)}" if storm.until is not None else "for an unknown time"
        return f"{storm.why}; nothing is written {end} (storm.cooldown)", storm.until
    return None


def run_left(ask: Ask, _: Situation, config: Config) -> str | None:
    limit = config.budgets.run
    if ask.planned < limit:
        return None
    return f"this run has made {ask.planned} writes of at most {limit} (budgets.run); the next run goes on"


def hour_left(_: Ask, situation: Situation, config: Config) -> Why | None:
    return _within_an_hour(situation, None, config.budgets.hour, "in all namespaces", "budgets.hour")


def namespace_left(ask: Ask, situation: Situation, config: Config) -> Why | None:
    where = f"in namespace {ask.namespace}" if ask.namespace else "to objects without namespace"
    return _within_an_hour(situation, ask.namespace, config.budgets.namespace_hour, where, "budgets.namespaceHour")


def _within_an_hour(situation: Situation, namespace: str | None, limit: int, where: str, key: str) -> Why | None:
    done = situation.history.executed(situation.now - _HOUR, namespace)
    if len(done) < limit:
        return None
    until = done[len(done) - limit] + _HOUR if limit else None
    end = f"until {moment(until)}" if until is not None else "as long as that is 0"
    return f"{len(done)} writes {where} within the last hour, at most {limit} ({key}); nothing is written {end}", until


def fleet_share_left(ask: Ask, situation: Situation, config: Config) -> Why | None:
    if not ask.vm:
        return None
    share, fleet = config.budgets.fleet_share, situation.fleet
    if fleet is None:
        return (
            "how many VMs there are could not be seen, and with it how many may be touched (budgets.fleetShare)",
            None,
        )
    limit = max(1, math.floor(share * fleet)) if share else 0
    touched = situation.history.vms_touched(situation.now - _DAY)
    if f"{ask.namespace}/{ask.vm}" in touched or len(touched) < limit:
        return None
    until = sorted(touched.values())[len(touched) - limit] + _DAY if limit else None
    end = f"until {moment(until)}" if until is not None else "as long as that is 0"
    allowed = f"at most {limit} (budgets.fleetShare {share:g})"
    what = f"{len(touched)} of {fleet} VMs were touched within the last day, {allowed}"
    return f"{what}; no other VM is {end}", until


def no_failures(ask: Ask, situation: Situation, config: Config) -> Why | None:
    failures, settings = situation.history.failures(ask.remediation.id), config.breaker
    until = failures.last + settings.pause.total_seconds()
    if failures.count < settings.failures or situation.now >= until:
        return None
    what = (
        f"{ask.remediation} failed {failures.count} times in a row; {settings.failures} are enough (breaker.failures)"
    )
    rest = f"it rests until {moment(until)}, {write_duration(settings.pause)} after the last one"
    return f"{what}; {rest}; the ledger says why it failed", until


def no_edit_war(ask: Ask, situation: Situation, config: Config) -> str | None:
    settings = config.edit_war
    keys = [ask.fingerprint, *(str(each) for each in (ask.target, ask.subject) if each is not None)]
    war = situation.history.edit_war(keys, settings.returns, settings.within.total_seconds())
    if war is None:
        return None
    subject = ask.target or ask.subject
    what = f"what was repaired of {subject} came back {war.times} times, last {moment(war.last)}"
    why = quoted(war.why) if war.why else "somebody else writes it"
    limit = f"(editWar: {settings.returns} in {write_duration(settings.within)})"
    return f"{what}: {why} {limit}; change it where it comes from, then: steward reconcile resume {subject}"
