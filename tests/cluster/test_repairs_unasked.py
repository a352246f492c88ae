"""What somebody needs who lets the sidecar write unasked: canary, blackout, selector, and a mode that is taken back."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import fleet
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import settings
from tests.cluster.repair_ground import ACCOUNT, Ground, ground_of
from tests.cluster.resources import IPAM_CLAIMS, NAMESPACES
from tests.cluster.sidecar import Sidecar, steward, unaimed
from tests.cluster.stage import Stage
from tests.waiting import wait_until

pytestmark = pytest.mark.long

REPAIR = "repair_ipam_claim_metadata"


@pytest.fixture(scope="module")
def ground(module_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(module_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


def bare(ground: Ground, count: int) -> Stage:
    """VMs whose IPAMClaims lack the finalizer."""
    stage = ground.stage()
    stage.nad()
    for number in range(count):
        vm = stage.client.create(fleet.vm(stage.namespace, f"vm{number}", {"blue": "blue"}))
        stage.claim(vm, f"10.0.0.{number + 5}/24", finalizers=None)
    wait_until(lambda: len(findings(ground, stage)) == count, 60, f"{count} findings")
    return stage


def findings(ground: Ground, stage: Stage) -> list[Any]:
    found = ground.exporter.report(f"?namespace={stage.namespace}")["findings"]
    return [each for each in found if each["reason"] == "UnprotectedClaim"]


def auto(stage: Stage, **more: Any) -> dict[str, Any]:
    return settings({(REPAIR, stage.namespace): "auto"}, verifyAfter="1s", **more)


def gates(sidecar: Sidecar) -> dict[str, dict[str, Any]]:
    return {gate["gate"]: gate for each in sidecar.plans() for gate in each.get("blocked", ())}


def canary(sidecar: Sidecar, state: str) -> float | None:
    return sidecar.value(f'kubevirt_steward_repair_canary{{remediation="{REPAIR}",state="{state}"}}')


def test_a_canary_is_one_then_two_then_all(ground: Ground) -> None:
    stage = bare(ground, 6)
    with ground.sidecar(stage.namespace, auto(stage, canary={"stays": "3s"})) as sidecar:
        sidecar.wait_for("stayed", 3)
        wait_until(lambda: len(ground.writes(stage.namespace)) == 6, 60, "all are repaired")
        done: list[int] = []
        held = 0
        for event in sidecar.events():
            held += event == "stayed"
            done += [held] if event == "intended" else []
        assert done[:4] == [0, 1, 1, 3]
        wait_until(lambda: canary(sidecar, "over") == 1, 30, "it is over")


def test_a_canary_stops_at_the_first_finding_that_comes_back(ground: Ground) -> None:
    stage = bare(ground, 3)
    given = auto(stage, canary={"stays": "1h"})
    with ground.sidecar(stage.namespace, given) as sidecar:
        sidecar.wait_for("verified")
        ((_, _, name),) = ground.writes(stage.namespace)
        stage.client.patch(IPAM_CLAIMS, stage.namespace, name, {"metadata": {"finalizers": None}})
        sidecar.wait_for("returned")
        wait_until(lambda: canary(sidecar, "stopped") == 1, 30, "it has stopped")
        why = f"IPAMClaim {stage.namespace}/{name}: the finding came back"
        wait_until(lambda: why in gates(sidecar).get("canary", {}).get("why", ""), 30, "the gate says so")
        own = ("--kubeconfig", str(ground.server.kubeconfig("admin")), "--config", str(sidecar.config))
        ledger = ("--ledger", str(sidecar.directory))
        shown = steward("reconcile", "plan", *own, *ledger, "--exporter", ground.exporter.url, "-n", stage.namespace)
        assert why in shown.stdout
        assert f"steward reconcile resume --remediation {REPAIR}" in unaimed(shown.stdout)
        (stop,) = json.loads(steward("reconcile", "ledger", "--summary", *ledger, "-o", "json").stdout)["canaries"]
        assert (stop["remediation"], f"{stop['object']}: {stop['why']}"[: len(why)]) == (REPAIR, why)
        assert "resumed" not in stop
        sidecar.runs_again(3)
    with ground.sidecar(stage.namespace, given) as sidecar:
        wait_until(lambda: "canary" in gates(sidecar), 40, "it is stopped after a restart as well")
        sidecar.runs_again(3)
        assert sidecar.events() == ["intended", "done", "verified", "returned"]
        done = steward("reconcile", "resume", "--remediation", REPAIR, "--because", "mended", *own)
        assert (done.returncode, "starts again" in done.stdout) == (0, True), done.stderr
        sidecar.wait_for("intended", 2)
        resumed = next(each for each in sidecar.entries() if each.event == "resumed")
        assert (resumed.by, resumed.why) == ("admin", "mended")


def test_in_a_blackout_nothing_is_written_and_it_says_until_when(ground: Ground) -> None:
    stage = bare(ground, 1)
    freeze = {"from": "2020-01-01", "to": "2999-12-30", "timeZone": "Europe/Berlin", "reason": "year end freeze"}
    with ground.sidecar(stage.namespace, auto(stage, blackouts=[freeze])) as sidecar:
        wait_until(lambda: "blackout" in gates(sidecar), 40, "the gate is closed")
        assert gates(sidecar)["blackout"]["why"] == (
            'a blackout is active until 2999-12-30T23:00:00Z: "year end freeze" (blackouts)'
        )
        sidecar.runs_again(2)
        assert ground.writes(stage.namespace) == []
    with ground.sidecar(stage.namespace, auto(stage, blackouts=[{**freeze, "to": "2020-01-02"}])) as sidecar:
        sidecar.wait_for("verified")


def test_what_a_label_selects_is_written_until_it_loses_the_label(ground: Ground) -> None:
    stage = bare(ground, 1)
    own = {"mode": "off", "minAge": "0s", "namespaceSelectors": [{"matchLabels": {"tier": "test"}, "mode": "auto"}]}
    given = {**settings({}), "verifyAfter": "1s", "remediations": {REPAIR: own}}
    with ground.sidecar(stage.namespace, given) as sidecar:
        sidecar.runs_again(3)
        assert sidecar.events() == []
        stage.client.patch(NAMESPACES, None, stage.namespace, {"metadata": {"labels": {"tier": "test"}}})
        sidecar.wait_for("verified")
        stage.client.patch(NAMESPACES, None, stage.namespace, {"metadata": {"labels": {"tier": None}}})
        sidecar.runs_again(2)
        stage.client.patch(IPAM_CLAIMS, stage.namespace, "vm0.blue", {"metadata": {"finalizers": None}})
        wait_until(lambda: len(findings(ground, stage)) == 1, 30, "it is found again")
        sidecar.runs_again(3)
        assert sidecar.events().count("intended") == 1


def test_auto_that_becomes_off_in_the_middle_of_ten_ends_them(ground: Ground, tmp_path: Path) -> None:
    stage = bare(ground, 10)
    given = {"lease": {"namespace": stage.namespace, "name": "steward"}, **auto(stage)}
    with Sidecar(tmp_path, ground.server.kubeconfig(ACCOUNT), ground.exporter.url, given) as sidecar:
        sidecar.wait_for("intended")  # the first of a queue of ten
        written = json.loads(sidecar.config.read_text("utf-8"))
        written["remediations"][REPAIR]["namespaces"][stage.namespace] = "off"
        sidecar.config.write_text(json.dumps(written), encoding="utf-8")
        os.kill(sidecar.process.pid or 0, signal.SIGHUP)
        sidecar.runs_again(3)  # the one that was under way, and more
        assert [each for each in sidecar.plans() if each["namespace"] == stage.namespace] == []
        before = sidecar.events()
        sidecar.config.write_text("mode: atuo\n", encoding="utf-8")
        os.kill(sidecar.process.pid or 0, signal.SIGHUP)
        reloaded = "kubevirt_steward_repair_config_reload_success"
        wait_until(lambda: sidecar.value(reloaded) == 0, 30, "a bad one is refused")
        assert sidecar.events() == before
        assert before.count("intended") == before.count("done") + before.count("failed")
        assert before.count("done") < 10
        assert len(ground.writes(stage.namespace)) == before.count("done")
