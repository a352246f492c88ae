"""Random faults on KubeVirt's own control plane, with every repair that loses nothing in `auto`: each write was right.

`STEWARD_FAULT_MINUTES=60` is an hour of it, `STEWARD_FAULT_SEED` another one. Processes are killed and stopped
meanwhile. What decides is the API server's audit log: each write of the sidecar's account is held against
`write_rules`, and against the ledger, which may neither lack one nor have one too many.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from reconcile.ledger import Entry, Event, verify
from reconcile.plan import Risk
from reconcile.remediations import all_remediations
from tests.cluster.exporter import Exporter
from tests.cluster.sidecar import Sidecar, steward
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.control_plane import SIDECAR, ControlPlane
from tests.kubevirt.fault_acts import Faulty, begin, happen
from tests.kubevirt.sizes import sized
from tests.kubevirt.stage import Stage
from tests.kubevirt.write_rules import RULES, broken
from tests.waiting import wait_until

MINUTES = float(os.environ.get("STEWARD_FAULT_MINUTES", "2"))
SEED = int(os.environ.get("STEWARD_FAULT_SEED", "1"))
HOUR = 3600.0
LOSELESS = (Risk.NONE, Risk.MIGRATION)
OURS = ("leases", "events", "selfsubjectreviews")
SETTLES = (Event.DONE, Event.FAILED, Event.RESOLVED)


def test_each_remediation_has_a_rule() -> None:
    assert {each.id for each in all_remediations()} == set(RULES)


@pytest.fixture
def faulty(stage: Stage) -> Iterator[Faulty]:
    with sized(stage) as sizes:
        yield Faulty(stage, sizes, Random(SEED))


def settings(namespace: str) -> dict[str, Any]:
    auto = {"mode": "off", "minAge": "0s", "namespaces": {namespace: "auto"}}
    chosen = [each for each in all_remediations() if each.risk in LOSELESS and not each.proposes_only]
    return {
        "mode": "off",
        "remediations": {each.id: auto for each in chosen},
        "budgets": {"run": 5, "hour": 10_000, "namespaceHour": 10_000, "fleetShare": 1.0},
        "storm": {"atLeast": 10_000},
        "breaker": {"failures": 1000},
        "editWar": {"returns": 1000},
        "lease": {"namespace": "kubevirt"},
    }


def granted(sidecar: Sidecar, kubevirt: ControlPlane) -> None:
    """The roles of exactly this configuration."""
    namespace, name = SIDECAR.split(":")[2:]
    printed = steward("reconcile", "role", "--config", str(sidecar.config), "-n", namespace, "--service-account", name)
    assert printed.returncode == 0, printed.stderr
    for each in yaml.safe_load_all(printed.stdout):
        kubevirt.admin.apply(each)


def test_each_write_of_an_hour_of_faults_was_right(
    kubevirt: ControlPlane, exporter: Exporter, faulty: Faulty, tmp_path: Path, record_property: Any
) -> None:
    begin(faulty)
    sidecar = Sidecar(tmp_path, kubevirt.kubeconfig(SIDECAR), exporter.url, settings(faulty.namespace), ahead=HOUR)
    granted(sidecar, kubevirt)
    with sidecar:
        ends, processes = time.monotonic() + 60 * MINUTES, Counter[str]()
        while time.monotonic() < ends:
            happen(faulty)
            if faulty.dice.random() < 0.1:
                processes[_disturbed(faulty.dice, sidecar, kubevirt)] += 1
        wait_until(lambda: not unfinished(sidecar.entries()), 180, "every attempt has an end", every=1)
    record_property("acts", f"{dict(faulty.done)}, refused {dict(faulty.failed)}, processes {dict(processes)}")

    history = AuditHistory(kubevirt.server.audit_events())
    entries = sidecar.entries()
    written = [each for each in history.writes if _counts(each)]
    wrong = [f"{each} {what}" for each in written for what in _wrong(each, entries, history)]
    wrong += _untrue(entries, written)
    remediations = Counter(each.plan.remediation for each in entries if each.plan is not None)
    record_property("writes", f"{len(written)}: {dict(remediations)}")
    print(f"{len(written)} writes of {dict(remediations)}; acts {dict(faulty.done)}, {dict(processes)}")
    assert not wrong, "\n".join(wrong)
    assert verify(sidecar.directory) == []
    assert len(written) >= 2 * MINUTES


def _disturbed(dice: Random, sidecar: Sidecar, kubevirt: ControlPlane) -> str:
    """What happens to a process; afterwards all run again."""
    what = dice.choice(("sidecar killed", "sidecar killed", "sidecar stopped", "API server", "virt-controller"))
    if what == "sidecar killed":
        sidecar.process.kill()
        sidecar.start()
    elif what == "sidecar stopped":
        assert sidecar.process.pid is not None
        os.kill(sidecar.process.pid, signal.SIGSTOP)
        _while_others_act(dice.uniform(1, 20))
        os.kill(sidecar.process.pid, signal.SIGCONT)
    elif what == "API server":
        kubevirt.server.kill()
        kubevirt.server.start()
    else:
        with kubevirt.without("virt-controller"):
            _while_others_act(dice.uniform(1, 10))
    return what


def _while_others_act(seconds: float) -> None:
    ends = time.monotonic() + seconds
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: time.monotonic() >= ends, seconds + 5, "the time is over", every=0.2)


def unfinished(entries: list[Entry]) -> set[str]:
    ended = {each.attempt for each in entries if each.event in SETTLES}
    return {each.attempt for each in entries if each.event is Event.INTENDED} - ended


def _counts(write: Taken) -> bool:
    return write.by == SIDECAR and not write.dry and write.key[1] not in OURS


def _request_of(entry: Entry) -> tuple[str, str, Any]:
    sent = entry.request or {}
    return sent["method"], sent["path"], sent["body"]


def _wrong(write: Taken, entries: list[Entry], history: AuditHistory) -> Iterator[str]:
    """What did not hold of a write; a pause after an edit war is no repair, and has no plan."""
    found = _intended(write, entries)
    if found is None or found.plan is None:
        yield "is in no entry of the ledger"
        return
    if found.at - HOUR > write.at + 1:
        yield f"was in the ledger only {found.at - HOUR - write.at:.1f} s later"
    yield from (f"({found.plan.remediation}) {what}" for what in broken(write, found.plan, history))


def _intended(write: Taken, entries: list[Entry]) -> Entry | None:
    intended = [each for each in entries if each.event is Event.INTENDED and each.request is not None]
    for each in reversed(intended):
        _, path, body = _request_of(each)
        if path.partition("?")[0] == write.path and body == write.body:
            return each
    return None


def _untrue(entries: list[Entry], written: list[Taken]) -> Iterator[str]:
    """Entries that say something else than what the API server took."""
    done = {each.attempt for each in entries if _says(each, happened=True)}
    not_done = {each.attempt for each in entries if _says(each, happened=False)}
    taken = Counter(found.attempt for each in written if (found := _intended(each, entries)) is not None)
    for attempt, times in taken.items():
        if times > 1:
            yield f"attempt {attempt} was taken {times} times"
    yield from (f"attempt {each} happened, says the ledger, and never was" for each in sorted(done - taken.keys()))
    yield from (f"attempt {each} did not happen, says the ledger, and was" for each in sorted(not_done & taken.keys()))


def _says(entry: Entry, *, happened: bool) -> bool:
    if entry.event is Event.RESOLVED:
        return entry.happened is happened
    return entry.event is (Event.DONE if happened else Event.FAILED)
