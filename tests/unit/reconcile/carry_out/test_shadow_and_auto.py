"""Mode `shadow` keeps what mode `auto` writes: both on the same drawn story of faults, on a clock that is set."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from demo.apiserver.errors import ApiError
from reconcile.ledger import Event
from reconcile.plan.annotations import PAUSED

from ....amounts import drawn, rounds
from ....evaluation import NOW
from ....fakeapi.faults import Fault
from ....rows import full
from ....sidecar_runs import KUBEVIRT, Running, on, orphan

STEPS = 12
BUDGETS = {"run": 2, "hour": 8, "namespaceHour": 4, "fleetShare": 0.5}
STORM = {"share": 0.1, "atLeast": 5, "cooldown": "15m"}
Write = tuple[float, str, str]
"""When, which object, and the plan's hash."""


def settings(mode: str) -> dict[str, Any]:
    own = {"delete_orphan_ipam_claim": {"mode": mode, "minAge": "5m"}}
    windows = [{"from": "02:00", "to": "23:00"}]
    return {"remediations": own, "budgets": BUDGETS, "storm": STORM, "windows": windows}


@dataclass
class Story:
    """What happens does not depend on what is written."""

    running: Running
    rng: Random
    claims: list[tuple[str, str]] = field(default_factory=list)  # namespace and name of the VM, of all there ever were
    faults: list[Fault] = field(default_factory=list)

    def goes_on(self) -> None:
        self.rng.choice((self.appear, self.appear, self.storm, *self._HAPPENS))()
        self.running.clock[0] += self.rng.choice((30.0, 300.0, 600.0, 1800.0))

    def appear(self, count: int = 2) -> None:
        made = [(self.rng.choice(("ns", "other")), f"vm{len(self.claims) + at}") for at in range(count)]
        self.claims += made
        self.running.appear(*(orphan(name, where) for where, name in made))

    def storm(self) -> None:
        self.appear(11)

    def vm_is_back(self) -> None:
        where, name = self.rng.choice(self.claims)
        vm = full({"kind": "VirtualMachine", "namespace": where, "name": name, "uid": f"gone-{name}"})
        if vm not in self.running.source.objects:
            self.running.appear(vm)

    def pause(self) -> None:
        where, why = self.rng.choice(("ns", "other")), self.rng.choice(("by hand", None, None))
        self.running.server.patch("namespaces", "", where, {"metadata": {"annotations": {PAUSED: why}}})

    def pause_all(self) -> None:
        self.running.leader.state["paused"] = self.rng.choice(("by hand", "false", "false"))

    def upgrade(self) -> None:
        target = self.rng.choice(("v9.9.9", KUBEVIRT["status"]["observedKubeVirtVersion"]))
        self.running.server.patch("kubevirts", "kubevirt", "kubevirt", {"status": {"targetKubeVirtVersion": target}})

    def age(self) -> None:
        self.running.source.age = self.rng.choice((0.0, 0.0, 3600.0))

    def forget(self) -> None:
        self.running.source.unknown = self.rng.choice((frozenset(), frozenset(), frozenset({"ipam_claims"})))

    def depose(self) -> None:
        self.running.leader.leading = self.rng.choice((True, True, False))

    def fail_reads(self) -> None:
        refusal = ApiError(500, "InternalError", "not now")
        kind = self.rng.choice(("/pods", "/virtualmachines", "/namespaces"))
        self.faults.append(self.running.server.faults.add(Fault(kind, method="GET", answer=lambda *_: refusal)))

    def mend_reads(self) -> None:
        while self.faults:
            self.running.server.faults.remove(self.faults.pop())

    @property
    def _HAPPENS(self) -> tuple[Any, ...]:
        faults = (self.vm_is_back, self.pause, self.pause_all, self.upgrade, self.age, self.forget, self.depose)
        return (*faults, self.fail_reads, self.mend_reads, self.mend_reads)


async def told(directory: Path, mode: str, seed: int) -> list[Write]:
    """What was written, or would have been, in the order of writing."""
    crowd = [full({"kind": "VirtualMachine", "namespace": where, "name": f"x{where}"}) for where in ("ns", "other")]
    async with on(directory, settings(mode), *crowd) as running:
        story = Story(running, Random(seed))
        story.appear(6)
        await running.run()
        running.clock[0] += 600.0
        for _ in range(STEPS):
            await running.run()
            _ended(running)
            story.goes_on()
        assert mode == "auto" or running.writes() == []
        kept = Event.SHADOWED if mode == "shadow" else Event.INTENDED
        return [
            (entry.at - NOW, str(entry.plan.target), entry.plan.hash)
            for entry in running.ledger.entries()
            if entry.event is kept and entry.plan is not None
        ]


def _ended(running: Running) -> None:
    """The finding of what was written is gone, as the exporter sees at once."""
    deleted = {name for method, name in running.writes() if method == "DELETE"}
    running.source.objects = [each for each in running.source.objects if each["metadata"]["name"] not in deleted]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "auto", tmp_path / "shadow"
    for each in made:
        each.mkdir()
    return made


@drawn
@pytest.mark.parametrize("seed", range(rounds(1, 4)))
async def test_what_shadow_keeps_is_what_auto_writes(folders: tuple[Path, Path], seed: int) -> None:
    auto = await told(folders[0], "auto", seed)
    assert auto
    assert await told(folders[1], "shadow", seed) == auto
