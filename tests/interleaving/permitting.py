"""Which of the product's gates are asked here: those without which a write can do harm.

They are that no earlier write to the object may still arrive, that clocks agree, that the object is not paused, and
that a canary begins with one repair. The pause of its VM, and the gates that only hold something up, are left out: here
everything is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from exporter.kube.clocks import ServerClocks
from reconcile.config.settings import Mode, SidecarConfig
from reconcile.confirm.confirm import Confirmed
from reconcile.decide.canary import on_trial
from reconcile.decide.gates import GATES, Ask, QueryAnswer, Situation
from reconcile.decide.storm import Storm
from reconcile.ledger import Entry
from reconcile.ledger.history import History
from reconcile.plan.annotations import annotations_of
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import Remediation

from .clocks import WallClock

__all__ = ["Leave"]

_GATES = tuple(each for each in GATES if each.id in ("unclear", "clock", "object_paused", "canary"))
_CONFIG = SidecarConfig()
_QUIET = Situation(
    now=0.0,
    leading=True,
    paused="",
    namespaces={},
    history=History(),
    storm=Storm(),
    fleet=None,
    source_age=None,
    ready=True,
    unknown_checks=None,
    upgrading=None,
    silenced=lambda _: None,
    query=QueryAnswer(),
    firing=None,
    ledger="",
    skew=None,
    by_hand=tuple,
)


@dataclass
class Leave:
    """To write: `entries` are those of the ledger, `by_hand` those of a ledger beside it."""

    clocks: ServerClocks
    wall: WallClock
    entries: Callable[[], Iterable[Entry]]
    by_hand: Callable[[], Iterable[Entry]]
    but: str = ""  # a gate that is not asked

    def tries(self, remediation: Remediation) -> str:
        """What the next write tries."""
        return on_trial(_CONFIG, remediation, History.of(self.entries(), self.wall.now()))

    def refused(self, made: Confirmed, remediation: Remediation, mode: Mode) -> Refused | None:
        now, plan = self.wall.now(), made.plan
        situation = replace(
            _QUIET,
            now=now,
            skew=self.clocks.skew(now),
            history=History.of(self.entries(), now),
            by_hand=lambda: History.of(self.by_hand(), now).unfinished(),
        )
        ask = Ask(
            remediation=remediation,
            namespace=plan.subject.namespace,
            subject=plan.subject,
            check=plan.check,
            fingerprint=plan.fingerprint,
            mode=mode,
            target=plan.bound_to,
            annotations={str(plan.bound_to): annotations_of(made.whole)},
        )
        for gate in _GATES:
            if gate.id != self.but and mode in gate.modes and (found := gate(ask, situation, _CONFIG)):
                return Refused(found.gate, found.why)
        return None
