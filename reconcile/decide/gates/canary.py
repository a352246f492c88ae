"""The gate of a remediation that begins in mode `auto`: one repair, then two, each followed until it held."""

from __future__ import annotations

from exporter.config.forms import write_duration

from ...config.settings import SidecarConfig
from ...ledger.trials import STEPS, Canary, Strike
from ...plan.remediation import Remediation
from ...plan.time_text import moment
from ..canary import tried
from .base import Ask, Situation

Why = tuple[str, float | None]


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
    return f"{what} (attempt {strike.attempt}); see to that, then: {resume}"


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
        what += f": the finding is not gone yet, and then has to stay gone {long}"
    else:
        what += f" until {moment(until)}: the finding has to stay gone {long}"
    return f"{what}; step {step} of {len(STEPS)} is {size}", until
