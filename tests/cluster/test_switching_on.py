"""The walk of docs/switching-on.md on a real API server: its commands are run, and print what it shows."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster import fleet
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_ground import ACCOUNT, Ground, ground_of
from tests.cluster.resources import IPAM_CLAIMS, VMS
from tests.cluster.sidecar import Sidecar, steward
from tests.cluster.stage import Stage
from tests.manifests import Object
from tests.shared import REPO
from tests.waiting import wait_until

pytestmark = pytest.mark.long

DOCUMENT = (REPO / "docs/switching-on.md").read_text("utf-8")
REPAIR = "repair_ipam_claim_metadata"
FINALIZER = "kubevirt.io/persistent-ipam"
# What waits for weeks, and is as long on a small fleet as on a large one: nothing else differs from the document.
QUICK = {"canary": {"stays": "1h"}, "verifyAfter": "1s", "budgets": {"fleetShare": 1.0}}
# What differs from run to run, and the options that say where things are.
_VARIES = (
    (r" --(config|exporter|ledger|dry-run=\S+) \S+| --yes\b", ""),
    (r"\b[0-9a-f]{16}(-\d+)?\b", "ID"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
    (r"\d{4}-\d\d-\d\d(T[\d:]+Z)?", "DATE"),
    (r"\bdb-\d\b", "db-N"),
    (r" by \w+( at| until|:|$)", r" by SOMEBODY\1"),
    (r"\s+", " "),
)


def plain(line: str) -> str:
    for pattern, instead in _VARIES:
        line = re.sub(pattern, instead, line)
    return line.strip()


@dataclass
class Walk:
    """A person who has seven VMs in namespace `shop` whose IPAMClaims lack the finalizer, and one in `bank` that has no
    UUID; what the person was told.
    """

    ground: Ground
    folder: Path
    told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name in ("shop", "bank", "kubevirt-steward"):
            self.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        stage = Stage(self.client, "shop")
        stage.nad()
        for number in range(7):
            vm = self.client.create(fleet.vm("shop", f"db-{number}", {"blue": "blue"}))
            stage.claim(vm, f"10.0.0.{number + 5}/24", finalizers=None)
        self.client.create(fleet.vm("bank", "web", firmware={}))
        wait_until(lambda: len(self.findings("UnprotectedClaim")) == 7, 30, "the findings of shop")
        wait_until(lambda: self.findings("NotPersisted"), 30, "the finding of bank")
        settings = {"lease": {"namespace": "kubevirt-steward"}, **QUICK, **self.blocks("shadow")}
        account = self.ground.server.kubeconfig(ACCOUNT)
        self.sidecar = Sidecar(self.folder, account, self.ground.exporter.url, settings)

    @property
    def client(self) -> Client:
        return self.ground.client

    def blocks(self, mode: str) -> Object:
        """The document's configuration with that mode; its findings need not be old here."""
        texts = re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL)
        (text,) = (each for each in texts if f"mode: {mode}" in each)
        found: Object = yaml.safe_load(text)
        for each in found["remediations"].values():
            each["minAge"] = "0s"
        return found

    def configure(self, **more: Any) -> None:
        given = json.loads(self.sidecar.config.read_text("utf-8"))
        self.sidecar.config.write_text(json.dumps(given | more), encoding="utf-8")
        if self.sidecar.process.running:
            os.kill(self.sidecar.process.pid or 0, signal.SIGHUP)

    def findings(self, reason: str) -> list[Object]:
        return [each for each in self.ground.exporter.report()["findings"] if each["reason"] == reason]

    def says(self, *words: str, own: bool = False) -> str:
        """What a command says, with the sidecar's configuration and so its ledger, or with the person's `own`."""
        done = steward("reconcile", *words, *(() if own else ("--config", str(self.sidecar.config))))
        assert done.returncode == 0, done.stderr
        command = " ".join(f'"{each}"' if " " in each else each for each in words)
        self.told |= {plain(each) for each in (f"$ steward reconcile {command}", *done.stdout.splitlines())}
        self.told |= {plain(each) for each in done.stderr.splitlines()}
        return done.stdout + done.stderr

    def written(self) -> list[str]:
        return [name for verb, _, name in self.ground.writes("shop") if verb == "patch"]

    def revert(self, name: str) -> None:
        self.client.patch(IPAM_CLAIMS, "shop", name, {"metadata": {"finalizers": None}})
        wait_until(lambda: len(self.findings("UnprotectedClaim")) == 7, 30, "it is found again")

    def canary(self, state: str) -> bool:
        return self.sidecar.value(f'kubevirt_steward_repair_canary{{remediation="{REPAIR}",state="{state}"}}') == 1

    def shown(self) -> Iterator[str]:
        """Lines of commands and what they print in the document, without those that are left out."""
        for block in re.findall(r"```\n(\$ steward .*?)```", DOCUMENT, re.DOTALL):
            yield from (each for each in map(plain, block.splitlines()) if each not in ("", "…"))


@pytest.fixture
def walk(own_api_server: MakeApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Walk]:
    with ground_of(own_api_server, tmp_path) as ground:
        monkeypatch.setenv("KUBECONFIG", str(ground.server.kubeconfig("admin")))
        monkeypatch.setenv("HOME", str(tmp_path))  # the person's own ledger is there
        yield Walk(ground, tmp_path / "sidecar")


def test_the_walk_of_who_switches_repairs_on(walk: Walk) -> None:
    by_hand(walk)
    with walk.sidecar:
        in_shadow(walk)
        auto_needs_a_restart(walk)
    with walk.sidecar:
        stops_at_what_comes_back(walk)
        one_two_and_the_limit(walk)
        approved(walk)
        taken_back(walk)
        switched_off(walk)
    walk.says("ledger", "--summary", "--since", "30d")
    missing = [line for line in walk.shown() if not told(walk, line)]
    assert missing == []


def told(walk: Walk, line: str) -> bool:
    """Whether it was said, or begins what was said where the document cuts it."""
    if line.endswith("…"):
        return any(each.startswith(line.removesuffix("…").strip()) for each in walk.told)
    return line in walk.told


def by_hand(walk: Walk) -> None:
    walk.says("plan", "--by-cause", own=True)
    assert "accept 7 of 7 writes" in walk.says("plan", "-n", "shop", "--remediation", REPAIR, "--dry-run", own=True)
    assert walk.client.get(IPAM_CLAIMS, "shop", "db-0.blue")["metadata"].get("finalizers") is None
    done = walk.says("apply", "--remediation", REPAIR, "-n", "shop", "--limit", "1", "--yes", own=True)
    (attempt,) = re.findall(r"steward reconcile undo (\S+)", done)
    (name,) = re.findall(r"^patch IPAMClaim shop/(\S+):", done, re.MULTILINE)
    assert walk.client.get(IPAM_CLAIMS, "shop", name)["metadata"]["finalizers"] == [FINALIZER]
    walk.says("undo", attempt, "--yes", own=True)
    walk.says("resume", "IPAMClaim", f"shop/{name}")
    wait_until(lambda: len(walk.findings("UnprotectedClaim")) == 7, 30, "all are found again")


def in_shadow(walk: Walk) -> None:
    walk.sidecar.wait_for("shadowed", 5)
    walk.sidecar.runs_again(2)
    assert walk.says("ledger", "--shadow").count(" open ") == 5  # the limit of a namespace and an hour
    walk.says("ledger", "--shadow", "--by-cause")
    walk.says("ledger", "--daily")
    walk.says("plan", "-n", "shop")
    assert walk.ground.sent() == []


def auto_needs_a_restart(walk: Walk) -> None:
    walk.configure(**walk.blocks("auto"))
    wait_until(lambda: walk.sidecar.value("kubevirt_steward_repair_config_reload_success") == 0, 30, "it is refused")
    assert "it holds no Lease; restart it" in walk.sidecar.log.read_text("utf-8")
    assert walk.ground.sent() == []


def stops_at_what_comes_back(walk: Walk) -> None:
    walk.sidecar.wait_for("verified")
    walk.sidecar.runs_again(2)
    (name,) = walk.written()
    assert walk.canary("first")
    walk.says("plan", "-n", "shop", "--remediation", REPAIR)
    walk.revert(name)
    wait_until(lambda: walk.canary("stopped"), 30, "it has stopped")
    wait_until(lambda: "came back" in walk.says("plan", "-n", "shop", "--remediation", REPAIR), 30, "it says so")
    assert walk.written() == [name]


def one_two_and_the_limit(walk: Walk) -> None:
    walk.configure(canary={"stays": "3s"})
    walk.says("resume", "--remediation", REPAIR, "--because", "the restore job keeps finalizers now")
    wait_until(lambda: len(walk.written()) == 5, 60, "the limit of a namespace and an hour is reached")
    wait_until(lambda: walk.canary("over"), 30, "the canary is over")
    walk.sidecar.runs_again(2)
    assert len(walk.written()) == 5
    held = [str(each.event) for each in walk.sidecar.entries() if each.event in ("intended", "stayed", "returned")]
    assert held == ["intended", "returned", "intended", "stayed", *["intended"] * 2, *["stayed"] * 2, "intended"]
    walk.says("plan", "-n", "shop", "--remediation", REPAIR)
    walk.says("ledger")


def approved(walk: Walk) -> None:
    (finding,) = walk.findings("NotPersisted")
    walk.says("approve", finding["fingerprint"])
    wait_until(lambda: walk.ground.writes("bank"), 30, "the sidecar carries it out")
    vm = walk.client.get(VMS, "bank", "web")
    assert vm["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"]
    wait_until(lambda: walk.findings("NotPersisted") == [], 30, "the finding is gone")


def taken_back(walk: Walk) -> None:
    done = [each for each in walk.sidecar.entries() if each.event == "intended" and each.plan is not None]
    attempt = [each for each in done if each.plan and each.plan.remediation == REPAIR][-1].attempt
    assert "is paused. To resume" in walk.says("undo", attempt, "--yes")
    walk.sidecar.runs_again(2)
    assert walk.ground.writes("shop")[5:] == []  # what was taken back is not repaired again


def switched_off(walk: Walk) -> None:
    enabled = f'kubevirt_steward_repair_enabled{{remediation="{REPAIR}"}}'
    assert walk.sidecar.value(enabled) == 1
    walk.configure(remediations={})
    wait_until(lambda: walk.sidecar.value(enabled) == 0, 30, "nothing may be written")
