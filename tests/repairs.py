"""A remediation, a plan, entries of the ledger and a situation in which nothing is in the way, for tests of gates."""

from __future__ import annotations

from typing import Any

from exporter.facts.record import Ref
from exporter.facts.times import Skew
from reconcile.config.settings import Mode, SidecarConfig, model_of
from reconcile.decide.gates import Ask, Situation
from reconcile.decide.storms import Storm
from reconcile.ledger.entry import Entry, Event
from reconcile.ledger.history import History
from reconcile.plan.annotations import PREFIX
from reconcile.plan.guards import Guard, Needs
from reconcile.plan.plan import Delete, Plan, Refused, Risk
from reconcile.plan.remediation import Remediation

__all__ = ["CLAIM", "NOW", "REPAIR", "VM", "ask", "config", "entry", "plan", "situation", "written"]

NOW = 1_780_000_000.0  # 2026-05-28T20:26:40Z, a Thursday
CLAIM = Ref("IPAMClaim", "shop", "db.blue", "u1")
VM = "VirtualMachine shop/db"
REPAIR = Remediation(
    id="repair",
    title="Repairs",
    writes=(),
    plan=Guard(lambda _, __: Refused("never", "it is only gated"), Needs()),
    risk=Risk.NONE,
    undo="none",
    opt_in=f"{PREFIX}allowed",
)


def entry(event: str, at: float = NOW, **fields: Any) -> Entry:
    """One of the ledger."""
    return Entry(seq=0, at=at, event=Event(event), **fields)


def plan(
    *, target: Ref = CLAIM, vm: str = "db", remediation: str = "repair", fingerprint: str = "f1", settles: bool = True
) -> Plan:
    return Plan(
        remediation=remediation,
        fingerprint=fingerprint,
        check="ipam_claims",
        reason="OrphanClaim",
        subject=target,
        step=Delete(target=target),
        why="its VM is gone",
        effect="it goes",
        risk=Risk.NONE,
        undo="none",
        vm=vm,
        settles=settles,
    )


def written(
    number: int, at: float, *after: str, why: str = "", mode: str = "auto", canary: str = "", **more: Any
) -> list[Entry]:
    """The entries of one attempt: that it was intended, and what came after."""
    attempt = f"a{number}"
    events = [entry(event, at, attempt=attempt, why=why, mode=mode) for event in after]
    return [entry("intended", at, attempt=attempt, plan=plan(**more), mode=mode, canary=canary), *events]


def config(**values: Any) -> SidecarConfig:
    """`values` are as in the file."""
    return model_of([REPAIR]).model_validate(values, by_alias=True, by_name=False)


def ask(**values: Any) -> Ask:
    known: dict[str, Any] = {
        "remediation": REPAIR,
        "namespace": "shop",
        "subject": CLAIM,
        "target": CLAIM,
        "check": "ipam_claims",
        "fingerprint": "f1",
        "mode": Mode.AUTO,
        "vm": "db",
        "since": NOW - 86_400,
        "labels": {"alertname": ("VMIPAMClaimLeftBehind",), "namespace": ("shop",), "vm": ("db", "")},
        "annotations": {str(CLAIM): {}, VM: {REPAIR.opt_in: "true"}},
    }
    return Ask(**(known | values))


def situation(*entries: Entry, **values: Any) -> Situation:
    known: dict[str, Any] = {
        "now": NOW,
        "leading": True,
        "paused": "",
        "namespaces": {"shop": {}},
        "history": History.of(entries, NOW),
        "storm": Storm(),
        "fleet": 100,
        "vms": {"shop": 100},
        "source_age": 1.0,
        "ready": True,
        "unknown_checks": frozenset(),
        "upgrading": False,
        "silenced": lambda _: "",
        "ledger": "",
        "skew": Skew(0.2, 0.1, "node-1"),
        "by_hand": tuple,
    }
    return Situation(**(known | values))
