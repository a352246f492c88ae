"""A healthy fleet to which the usual things happen: nothing worse than information is ever found."""

from __future__ import annotations

import os
import random
import time
from typing import Any

from tests.cluster.exporter import Exporter, grant
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.stage import Answer, Stage

MINUTES = float(os.environ.get("STEWARD_QUIET_MINUTES", "10"))
VMS = {
    "web-1": {"eviction": "LiveMigrate"},
    "web-2": {"eviction": "LiveMigrate"},
    "db-1": {"eviction": "LiveMigrateIfPossible"},
    "db-2": {"strategy": "RerunOnFailure", "eviction": "LiveMigrate"},
    "batch": {"strategy": "Manual"},
    "old": {},
}


def test_starts_stops_migrations_restarts_and_evictions_are_no_findings(
    kubevirt: ControlPlane, stage: Stage, record_property: Any
) -> None:
    grant(kubevirt.admin)
    with Exporter(kubevirt.kubeconfig("steward-exporter")) as exporter:
        exporter.wait_ready()
        for name, how in VMS.items():
            stage.vm(name, **how)  # type: ignore[arg-type]
        assert stage.act("batch", "start") == Answer()
        for name in VMS:
            stage.wait_running(name)

        dice, acts, ends = random.Random(20), 0, time.monotonic() + 60 * MINUTES
        while time.monotonic() < ends:
            happen, name = dice.choice(ACTS), dice.choice(list(VMS))
            if name == "batch" and happen in ENDS:
                continue  # what ends by itself stays, and is started by hand
            happen(stage, name)
            acts += 1

        record_property("acts", acts)
        worse = [f"{f.check} {f.reason}: {f.message}" for f in exporter.opened if f.severity != "info"]
        assert not worse
        assert acts >= 4 * MINUTES
        assert not exporter.report()["unknown"]


def restarted(stage: Stage, name: str) -> None:
    before = stage.wait_running(name)
    assert stage.act(name, "restart") == Answer()
    stage.wait_ended(before)
    stage.wait_running(name)


def stopped_and_started(stage: Stage, name: str) -> None:
    stage.wait_running(name)
    assert stage.act(name, "stop") == Answer()
    stage.wait_gone(name)
    assert stage.act(name, "start") == Answer()
    stage.wait_running(name)


def migrated(stage: Stage, name: str) -> None:
    source = stage.wait_running(name)["status"]["nodeName"]
    assert stage.act(name, "migrate") == Answer()
    stage.wait_moved(name, source)


def evicted(stage: Stage, name: str) -> None:
    """Instead of one that can't migrate by its strategy another VMI is made."""
    before = stage.wait_running(name)
    if stage.evict(name) == Answer():
        stage.wait_ended(before)
        stage.wait_running(name)
    else:
        stage.wait_moved(name, before["status"]["nodeName"])


def powered_off(stage: Stage, name: str) -> None:
    before = stage.wait_running(name)
    stage.orders.powers_off.add(stage.key(name))
    stage.wait_ended(before)
    stage.orders.powers_off.discard(stage.key(name))
    if name == "db-2":  # it stays off
        stage.wait_gone(name)
        assert stage.act(name, "start") == Answer()
    stage.wait_running(name)


ACTS = (restarted, stopped_and_started, migrated, evicted, powered_off)
ENDS = (evicted, powered_off)
