"""Random faults on KubeVirt's own control plane, with every repair that loses nothing in `auto`: each write was right.

`STEWARD_FAULT_MINUTES=60` is an hour of it, `STEWARD_FAULT_SEED` another one. Processes are killed and stopped
meanwhile. What decides is the API server's audit log: each write of the sidecar's account is held against
`write_rules`, and against the ledger, which may neither lack one nor have one too many.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from reconcile.ledger import verify
from tests.cluster.exporter import Exporter
from tests.cluster.sidecar import Sidecar
from tests.kubevirt import write_rules
from tests.kubevirt.audit_history import AuditHistory
from tests.kubevirt.control_plane import SIDECAR, ControlPlane
from tests.kubevirt.fault_acts import FAULTS, QUICK_FAULTS
from tests.kubevirt.fault_settings import AHEAD, chosen, granted, settings
from tests.kubevirt.faulty import Act, Faulty, begin, happen, troubled
from tests.kubevirt.life_acts import LIFE
from tests.kubevirt.stage import Stage
from tests.kubevirt.write_verdict import Verdict, unfinished
from tests.waiting import wait_until

MINUTES = float(os.environ.get("STEWARD_FAULT_MINUTES", "2"))
SEED = int(os.environ.get("STEWARD_FAULT_SEED", "1"))
ARRIVES = 20.0  # seconds
ACTS = (*FAULTS, *FAULTS, *LIFE, *write_rules.ACTS)


@pytest.fixture
def faulty(stage: Stage) -> Iterator[Faulty]:
    with troubled(stage, SEED) as made:
        yield made


def test_each_write_of_an_hour_of_faults_was_right(
    kubevirt: ControlPlane, exporter: Exporter, faulty: Faulty, tmp_path: Path, record_property: Any
) -> None:
    begin(faulty)
    kubeconfig, ends = kubevirt.kubeconfig(SIDECAR), time.monotonic() + 60 * MINUTES
    sidecar = Sidecar(
        tmp_path,
        kubeconfig,
        exporter.url,
        settings(faulty.namespace, "auto"),
        ahead=AHEAD,
        forked=True,
        arrives=ARRIVES,
    )
    granted(sidecar, kubevirt)
    processes: Counter[str] = Counter()
    with sidecar:
        while time.monotonic() < ends:
            happen(faulty, ACTS)
            if faulty.dice.random() < 0.05:
                processes[disturbed(faulty, sidecar, kubevirt)] += 1
            elif faulty.dice.random() < 0.5:
                with contextlib.suppress(TimeoutError, OSError):
                    sidecar.runs_again(1)
        wait_until(lambda: not unfinished(sidecar.entries()), 180, f"every attempt has an end; {sidecar}", every=1)

    verdict = Verdict(AuditHistory(kubevirt.server.audit_events()), sidecar.entries(), SIDECAR, AHEAD, faulty.namespace)
    rare = sorted(each.id for each in chosen() if not verdict.counts[each.id])
    shown = {
        "writes": f"{verdict.counts.total()}: {dict(verdict.counts)}, none of {rare}",
        "acts": f"{dict(faulty.done)}, failed {dict(faulty.failed)}, processes {dict(processes)}",
    }
    for name, what in shown.items():
        record_property(name, what)
        print(f"{name}: {what}")
    if verdict.wrong:
        shutil.copy(kubevirt.server.audit_log, tmp_path)
    assert not verdict.wrong, "\n".join((*verdict.wrong, f"audit log, ledger and the sidecar's log are in {tmp_path}"))
    assert verify(sidecar.directory) == []
    assert verdict.counts.total() >= 2 * MINUTES
    assert not rare or MINUTES < 60, f"tests/kubevirt/write_rules/{rare[0]}.py needs ACTS after which it is needed"


def disturbed(at: Faulty, sidecar: Sidecar, kubevirt: ControlPlane) -> str:
    """What happens to a process; afterwards all run again."""
    what = at.dice.choice(("sidecar killed", "sidecar killed", "sidecar stopped", "API server", "virt-controller"))
    if what == "sidecar killed":
        sidecar.process.kill()
        sidecar.start()
    elif what == "sidecar stopped":
        assert sidecar.process.pid is not None
        os.kill(sidecar.process.pid, signal.SIGSTOP)
        act_for(at, at.dice.uniform(1, 20), QUICK_FAULTS)
        os.kill(sidecar.process.pid, signal.SIGCONT)
    elif what == "API server":
        kubevirt.server.kill()
        kubevirt.server.start()
    else:
        with kubevirt.without("virt-controller"):
            act_for(at, at.dice.uniform(1, 10), QUICK_FAULTS)
    assert sidecar.process.running
    return what


def act_for(at: Faulty, seconds: float, acts: Sequence[Act]) -> None:
    """Things happen at intervals, for so long."""
    ends = time.monotonic() + seconds

    def over() -> bool:
        happen(at, acts)
        return time.monotonic() >= ends

    wait_until(over, seconds + 120, "the time is over", every=2)
