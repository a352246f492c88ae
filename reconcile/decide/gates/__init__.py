"""Gates: what must hold of us before anything is written. Pure; every one that is closed is reported, in order.

What could not be seen closes a gate. A plan that is only shown passes none. What a person asks for (`apply`) needs no
Lease, and skips what holds up the sidecar: storms, windows, blackouts, the least age and silences.
Taking a write back (`undo`) asks only for what makes the write itself safe: the ledger, the clocks, attempts on the
object of which it is not known what came of them, and KubeVirt's upgrade. Who pauses repairs may have to take one back.
Mode `shadow` asks what `auto` asks, but for the canary: nothing of it is written, so nothing can hold.
"""

from __future__ import annotations

from ...config.settings import Mode, SidecarConfig
from . import amounts, standing, timing
from .amounts import half_used
from .base import Ask, Blocked, Gate, Labels, Situation

__all__ = ["GATES", "Ask", "Blocked", "Gate", "Labels", "Situation", "blocked", "half_used"]

_ALL = frozenset({Mode.SHADOW, Mode.APPROVE, Mode.AUTO, Mode.APPLY, Mode.UNDO})
_REPAIRS = _ALL - {Mode.UNDO}
_UNASKED = _REPAIRS - {Mode.APPLY}

GATES: tuple[Gate, ...] = (
    Gate("paused", "repairs aren't paused everywhere or in the namespace", standing.not_paused, _REPAIRS, lasts=True),
    Gate(
        "object_paused",
        "the object and its VM aren't paused",
        standing.object_not_paused,
        _REPAIRS,
        reads=True,
        lasts=True,
    ),
    Gate("opt_in", "the VM allows the repair, if it needs that", standing.opted_in, _REPAIRS, reads=True, lasts=True),
    Gate("labels", "the namespace's labels are known, if its mode depends on them", standing.labels_known, _UNASKED),
    Gate("unclear", "no earlier write to the object can still arrive", standing.nothing_unclear, _ALL),
    Gate("leading", "this replica holds the Lease", standing.leading, _UNASKED),
    Gate("ledger", "the ledger can be written", standing.ledger_writable, _ALL),
    Gate("clock", "the clocks of the sidecar and the API server are at most 30 s apart", timing.clocks_agree, _ALL),
    Gate("source_age", "the exporter is ready, and its response is recent", standing.source_fresh, _REPAIRS),
    Gate("unknown_check", "the check is complete", standing.check_known, _REPAIRS),
    Gate("upgrade", "KubeVirt is not being upgraded", standing.no_upgrade, _ALL),
    Gate("storm", "few findings are new at once, in the namespace and in all namespaces", amounts.no_storm, _UNASKED),
    Gate("budget_run", "the run has writes left", amounts.run_left, _REPAIRS),
    Gate("budget_hour", "the hour has writes left, in the namespace's share too", amounts.hour_left, _REPAIRS),
    Gate("budget_namespace", "the hour has writes left in the namespace", amounts.namespace_left, _REPAIRS),
    Gate(
        "budget_fleet",
        "few VMs were touched within the last day, in the namespace too",
        amounts.fleet_share_left,
        _REPAIRS,
    ),
    Gate("window", "a maintenance window is open", timing.window_open, _UNASKED),
    Gate("blackout", "no blackout is active", timing.no_blackout, _UNASKED),
    Gate("min_age", "the finding is old enough", timing.old_enough, _UNASKED),
    Gate(
        "breaker", "the remediation doesn't fail repeatedly, in the namespace or in many", amounts.no_failures, _REPAIRS
    ),
    Gate("edit_war", "no other client reverts the repair", amounts.no_edit_war, _REPAIRS, lasts=True),
    Gate("canary", "the first repairs succeeded: one, then two", amounts.canary_held, frozenset({Mode.AUTO})),
    Gate("silence", "no silence in Alertmanager matches", timing.not_silenced, _UNASKED),
)


def blocked(ask: Ask, situation: Situation, config: SidecarConfig, *, reads: bool = True) -> tuple[Blocked, ...]:
    """All that is in the way, in the order of the gates; empty where the write may go on.

    `reads=False` leaves out what needs the object's annotations: a look before anything is read, not a leave to write.
    """
    if ask.mode is Mode.OFF:
        return (Blocked("mode", f"{ask.remediation} is off in namespace {ask.namespace}. Set another mode"),)
    found = (gate(ask, situation, config) for gate in GATES if ask.mode in gate.modes and (reads or not gate.reads))
    return tuple(each for each in found if each is not None)
