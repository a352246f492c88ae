"""Mode `shadow` and mode `auto` on the same random faults, on KubeVirt's own control plane, with each repair that loses
nothing: in `shadow` nothing is written, and what it keeps is what `auto` then writes, but for what a canary holds back.

In a round things happen at random, under the eyes of a sidecar in `shadow`. What is left of it gets another one, until
that has nothing more to add, and then one in `auto`: in every other round first with a canary, and then without.

`STEWARD_FAULT_MINUTES=60` is an hour of it, `STEWARD_FAULT_SEED` another one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from reconcile.ledger import verify
from tests.cluster.exporter import Exporter
from tests.cluster.resources import CONTROLLER_REVISIONS, IPAM_CLAIMS, LEASES, PDBS, PODS, VMIMS, VMIS, VMS, Resource
from tests.cluster.sidecar import Sidecar
from tests.kubevirt import write_rules
from tests.kubevirt.audit_history import AuditHistory
from tests.kubevirt.control_plane import SIDECAR, ControlPlane
from tests.kubevirt.fault_acts import QUICK_FAULTS, WHILE_AWAY, pdb_is_left_over
from tests.kubevirt.fault_settings import AHEAD, granted, settings
from tests.kubevirt.faulty import Faulty, begin, happen, troubled
from tests.kubevirt.life_acts import LIFE
from tests.kubevirt.side_by_side import Comparison, Round, Shift, worked
from tests.kubevirt.sizes import INSTANCETYPE, KINDS
from tests.kubevirt.stage import Stage
from tests.kubevirt.write_verdict import OURS
from tests.manifests import Object
from tests.waiting import wait_until

MINUTES = float(os.environ.get("STEWARD_FAULT_MINUTES", "6"))
SEED = int(os.environ.get("STEWARD_FAULT_SEED", "1"))
LEASE = "kubevirt-steward-reconcile"
LEAST = 4  # rounds
FAULTS = 12  # in one round, with what else happens
ACTS = (*QUICK_FAULTS, *QUICK_FAULTS, *QUICK_FAULTS, *LIFE, *write_rules.ACTS)
WRITES = ("create", "update", "patch", "delete", "deletecollection")
# Objects to which nobody but the sidecar writes while no test does.
LEFT_ALONE = (IPAM_CLAIMS, KINDS[INSTANCETYPE])
# KubeVirt writes to these, a ControllerRevision for each start of a VM, also one that it tries again after a while.
MOVING = (VMS, VMIS, VMIMS, PDBS, PODS, CONTROLLER_REVISIONS)
QUIET = 4  # looks in a row, one second apart


@pytest.fixture
def faulty(stage: Stage) -> Iterator[Faulty]:
    with troubled(stage, SEED) as made:
        yield made


class Rounds:
    """One ledger for each, so that canaries begin anew. Between the times of `in_shadow` a sidecar was in that mode;
    `meanwhile` is how much it kept while things happened.
    """

    def __init__(self, at: Faulty, exporter: Exporter, folder: Path) -> None:
        self._at, self._exporter, self._folder = at, exporter, folder
        self._kubevirt = at.stage.control_plane
        self.played: list[Round] = []
        self.in_shadow: list[tuple[float, float]] = []
        self.meanwhile = 0

    @property
    def in_auto(self) -> list[tuple[float, float]]:
        return [(shift.began, shift.ended) for each in self.played for shift in each.auto]

    def sidecar(self, number: int, mode: str, ledger: str = "", *, canary: bool = False) -> Sidecar:
        given = {**settings(self._at.namespace, mode), "canary": {"enabled": canary, "stays": "4h"}}
        kubeconfig = self._kubevirt.kubeconfig(SIDECAR)
        folder = self._folder / f"round{number}{ledger}"
        return Sidecar(folder, kubeconfig, self._exporter.url, given, ahead=AHEAD, forked=True)

    def play(self) -> None:
        number, began = len(self.played), time.time()
        live = self.sidecar(number, "shadow", "live")
        with live:
            for _ in range(FAULTS):
                happen(self._at, ACTS)
            if number % 2:  # there is something for a canary to hold back
                pdb_is_left_over(self._at)
                pdb_is_left_over(self._at)
            live.runs_again()
        self.in_shadow.append((began, time.time()))
        self.meanwhile += live.events().count("shadowed")
        with contextlib.ExitStack() as away:
            if number % 3 == 2:
                program = self._at.dice.choice(sorted(WHILE_AWAY))
                away.enter_context(self._kubevirt.without(program))
                WHILE_AWAY[program](self._at)
            settled(self._at)
            self.played.append(self._compared(number))

    def _compared(self, number: int) -> Round:
        self._kubevirt.admin.remove(LEASES, "kubevirt", LEASE)  # it names the ledger of the round before
        before = versions(self._at, *LEFT_ALONE)
        shadow = worked(self.sidecar(number, "shadow"), "shadow")
        self.in_shadow.append((shadow.began, shadow.ended))
        assert versions(self._at, *LEFT_ALONE) == before
        auto = [self._auto(number, canary=True)] if number % 2 else []
        return Round(shadow, (*auto, self._auto(number)))

    def _auto(self, number: int, *, canary: bool = False) -> Shift:
        return worked(self.sidecar(number, "auto", canary=canary), "auto", canary=canary)


def test_shadow_keeps_what_auto_then_writes(
    kubevirt: ControlPlane, exporter: Exporter, faulty: Faulty, tmp_path: Path, record_property: Any
) -> None:
    begin(faulty)
    rounds, ends = Rounds(faulty, exporter, tmp_path), time.monotonic() + 60 * MINUTES
    granted(rounds.sidecar(0, "auto"), kubevirt)
    try:
        while time.monotonic() < ends or len(rounds.played) < LEAST:
            rounds.play()
    finally:  # the rounds before one that can't go on are compared, too
        shutil.copy(kubevirt.server.audit_log, tmp_path)
        events = list(kubevirt.server.audit_events())
        compared = Comparison(AuditHistory(events), AHEAD)
        for number, each in enumerate(rounds.played):
            compared.add(number, each)
        tell(rounds, compared, faulty, record_property)

    assert list(sent(events, rounds.in_shadow)) == []
    assert list(sent(events, rounds.in_auto))
    assert not compared.wrong, "\n".join((*compared.wrong, f"audit log, ledgers and logs are in {tmp_path}"))
    assert compared.counts["the same"] >= 2 * len(rounds.played)
    assert compared.counts["the same"] >= 0.8 * compared.counts["shadowed"]
    assert compared.counts["held back by a canary"]
    assert rounds.meanwhile
    assert [verify(each) for each in tmp_path.glob("round*/ledger")] == [[]] * 2 * len(rounds.played)


def tell(rounds: Rounds, compared: Comparison, faulty: Faulty, record_property: Any) -> None:
    shown = {
        "compared": f"{len(rounds.played)} rounds: {dict(compared.counts)}; the same: {dict(compared.remediations)}",
        "while things happened": f"{rounds.meanwhile} shadowed",
        "wrong": f"{len(compared.wrong)} {compared.wrong[:5]}",
        "acts": f"{faulty.done.total()}: {dict(faulty.done)}, failed {dict(faulty.failed)}",
    }
    for name, what in shown.items():
        record_property(name, what)
        print(f"{name}: {what}")


def sent(events: list[Object], during: list[tuple[float, float]]) -> Iterator[str]:
    """What the sidecar's account sent within these times that would write, also what was refused or only tried."""
    for event in events:
        if event["user"].get("username") == SIDECAR and event["verb"] in WRITES:
            at = datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp()
            if event["objectRef"]["resource"] not in OURS and any(since <= at <= until for since, until in during):
                yield f"{event['verb']} {event['requestURI']}"


def settled(at: Faulty) -> None:
    """Until KubeVirt and the exporter have nothing more to do, or go on and on."""
    seen: list[object] = []

    def quiet() -> bool:
        seen.append(versions(at, *LEFT_ALONE, *MOVING))
        return seen[-QUIET:] == [seen[-1]] * QUIET

    with contextlib.suppress(TimeoutError):
        wait_until(quiet, 45, "nothing moves", every=1)


def versions(at: Faulty, *resources: Resource) -> dict[str, str]:
    """The resourceVersion of each object of the namespace, by its UID."""
    found = (each["metadata"] for kind in resources for each in at.stage.client.list(kind, at.namespace)["items"])
    return {meta["uid"]: meta["resourceVersion"] for meta in found}
