"""A healthy fleet to which the usual things happen: nothing worse than information is ever found of it.

`STEWARD_NETWORK_MINUTES=10` is ten minutes of it, and `STEWARD_NETWORK_SEED` draws others.
"""

from __future__ import annotations

import os
import random
import time
from typing import Any

from tests.cluster.exporter import Exporter
from tests.cluster.resources import IPAM_CLAIMS, VMS
from tests.networks.annotations import given
from tests.networks.findings import Findings
from tests.networks.stage import Stage

MINUTES = float(os.environ.get("STEWARD_NETWORK_MINUTES", "0.5"))
SEED = int(os.environ.get("STEWARD_NETWORK_SEED", "20"))
NAMES = ("web-1", "web-2", "db-1", "db-2", "batch")


def test_starts_stops_migrations_deletions_and_restarts_are_no_findings(
    stage: Stage, patient: Exporter, record_property: Any
) -> None:
    before = len(patient.opened)
    fleet = Fleet(stage)
    for name in NAMES:
        fleet.make(name)

    dice, acts, ends = random.Random(SEED), 0, time.monotonic() + 60 * MINUTES
    while time.monotonic() < ends:
        dice.choices(*zip(*fleet.acts, strict=True))[0](dice.choice(NAMES))
        fleet.holds()
        acts += 1

    record_property("acts", acts)
    opened = [each for each in patient.opened[before:] if each.subject.namespace in ("", stage.namespace)]
    assert not [f"{each.reason} of {each.subject}: {each.message}" for each in opened if each.severity != "info"]
    running = sum(ips is not None and name in fleet.running for name, ips in fleet.kept.items())
    wanted = {"vm_running": running, "vm_stopped": len(NAMES) - running}
    Findings(patient, stage.namespace).wait_counted(stage.network, {use: n for use, n in wanted.items() if n})
    assert not patient.report()["unknown"]
    assert acts >= 4 * MINUTES


class Fleet:
    """VMs on one network, and the addresses that each of them has to keep."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.kept: dict[str, list[str]] = {}
        self.running: set[str] = set()
        # What happens, and how often.
        self.acts = (
            (self.restart, 6),
            (self.stop_or_start, 6),
            (self.migrate, 6),
            (self.make_again, 3),
            (self.restart_ovn, 1),
            (self.restart_ipam, 1),
        )
        stage.nad(subnets="192.168.200.0/28")

    def make(self, name: str) -> None:
        self.stage.run(name)
        self.kept[name] = self.stage.wait_ips(f"{name}.blue")
        self.running.add(name)

    def holds(self) -> None:
        """Each VM has its address, and no other one has it."""
        held = [ip for name in self.kept for ip in self.stage.ips(f"{name}.blue")]
        assert sorted(held) == sorted(ip for ips in self.kept.values() for ip in ips)
        assert len(set(held)) == len(held)
        for name in self.running:
            for pod in self.stage.pods(name):
                assert given(pod)[f"{self.stage.namespace}/blue"] == self.kept[name]

    def restart(self, name: str) -> None:
        self.stage.restart(name)
        self.running.add(name)

    def stop_or_start(self, name: str) -> None:
        if name in self.running:
            self.stage.stop(name)
            self.running.remove(name)
        else:
            self.restart(name)

    def migrate(self, name: str) -> None:
        if name in self.running:
            self.stage.migrate(name)

    def make_again(self, name: str) -> None:
        self.stage.delete(name)
        self.stage.wait_gone(IPAM_CLAIMS, f"{name}.blue")
        self.stage.wait_gone(VMS, name)
        self.make(name)

    def restart_ovn(self, _: str) -> None:
        self.stage.plane.restart_ovn()

    def restart_ipam(self, _: str) -> None:
        self.stage.plane.ipam.stop()
        self.stage.plane.start_ipam()
