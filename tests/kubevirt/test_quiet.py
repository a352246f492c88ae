"""A healthy fleet to which the usual things happen, migrations of every kind among them: nothing worse than information
is ever found.
"""

from __future__ import annotations

import os
import random
import time
from typing import Any

import pytest

from tests.cluster.exporter import Exporter, grant
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.quiet_acts import ACTS, CLAIMS, QUIET, Act, started
from tests.kubevirt.settings import Settings
from tests.kubevirt.stage import Stage
from tests.kubevirt.updates import make_disk, remove_disks

MINUTES = float(os.environ.get("STEWARD_QUIET_MINUTES", "10"))
SEED = int(os.environ.get("STEWARD_QUIET_SEED", "20"))


def test_starts_stops_migrations_restarts_and_evictions_are_no_findings(
    kubevirt: ControlPlane, stage: Stage, settings: Settings, record_property: Any, caplog: pytest.LogCaptureFixture
) -> None:
    grant(kubevirt.admin)
    settings.updates("LiveMigrate")
    for claim in CLAIMS:
        make_disk(stage, claim)
    try:
        with Exporter(kubevirt.kubeconfig("steward-exporter")) as exporter:
            exporter.wait_ready()
            for name, how in QUIET.items():
                stage.vm(name, **how)
            started(stage)
            acts = until(stage, time.monotonic() + 60 * MINUTES)
            for act in ACTS:
                record_property(act.__name__, acts.count(act))
            # What an earlier test has left may still be going: its pools, after the instancetype of all namespaces.
            here = [f for f in exporter.opened if f.subject.namespace in ("", stage.namespace)]
            worse = [f"{f.check} {f.reason}: {f.message}" for f in here if f.severity != "info"]
            assert not worse
            assert set(acts) == set(ACTS)
            assert not exporter.report()["unknown"]
            assert not [each for each in caplog.messages if "check crashed" in each]
    finally:
        remove_disks(stage.client, stage.namespace)


def until(stage: Stage, ends: float) -> list[Act]:
    """Lets them happen in turns, each turn in another order, the first one whole; answers with what has happened."""
    dice, done, turn = random.Random(SEED), list[Act](), list[Act]()
    while len(done) < len(ACTS) or time.monotonic() < ends:
        turn = turn or dice.sample(list(ACTS), len(ACTS))
        act = turn.pop()
        act(stage, dice.choice(list(ACTS[act])))
        done.append(act)
    return done
