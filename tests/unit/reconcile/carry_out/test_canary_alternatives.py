"""Where two remediations answer a finding, what waits for the canary of one is not written by the other instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.errors import ApiError

from ....fakeapi.faults import Fault
from ....rows import full
from ....sidecar_runs import Running, on

CANCEL, MIGRATE = "cancel_stale_evacuation", "migrate_marked_vmi"
NODES = [full({"kind": "Node", "name": name}) for name in ("node01", "node02")]


def stale(name: str, asked: str = "node01") -> dict[str, Any]:
    """A VMI that is asked to leave a node that it has left. Only a migration clears a request for one that is gone."""
    row = {"kind": "VirtualMachineInstance", "name": name, "strategy": "LiveMigrate", "migratable": True}
    return full({**row, "evacuation": asked, "node": "node02"})


def crowd() -> list[dict[str, Any]]:
    return [full({"kind": "VirtualMachine", "namespace": "kubevirt", "name": f"crowd{at}"}) for at in range(50)]


def settings(**modes: str) -> dict[str, Any]:
    own = {name: {"mode": mode, "minAge": "0s"} for name, mode in modes.items()}
    many = {"run": 10, "hour": 100, "namespaceHour": 100, "fleetShare": 1.0}
    return {"remediations": own, "budgets": many, "canary": {"stays": "1h"}}


def serve(running: Running) -> None:
    """Findings of evictions, and KubeVirt's subresource: first a dry run, then db's request is gone."""
    running.source.check = "evictions"
    taken, cleared = ApiError(202, "Accepted", ""), {"status": {"evacuationNodeName": None}}

    def clear() -> None:
        running.server.patch("virtualmachineinstances", "ns", "db", cleared)

    cancel = "/evacuate/cancel"
    running.server.faults.add(Fault(cancel, method="PUT", skip=1, times=1, before=clear, answer=lambda *_: taken))
    running.server.faults.add(Fault(cancel, method="PUT", answer=lambda *_: taken))


def shown(running: Running, remediation: str) -> dict[str, list[str]]:
    """The gates in the way of a remediation, by the names of the VMIs."""
    found = {each.hint.subject.name: each.hint.fingerprint for each in running.source.found()}
    rows = {name: running.board.get(fingerprint, remediation) for name, fingerprint in found.items()}
    return {name: [each.gate for each in row.blocked] for name, row in rows.items() if row is not None}


async def test_a_migration_does_not_take_what_waits_for_the_canary_of_the_cancellation(tmp_path: Path) -> None:
    vmis = [stale("db"), stale("web")]
    async with on(tmp_path, settings(**{CANCEL: "auto", MIGRATE: "auto"}), *NODES, *crowd(), *vmis) as running:
        serve(running)
        await running.run()
        assert [path for method, path in running.writes() if method == "POST"] == []
        assert sorted(shown(running, CANCEL).values()) == [[], ["canary"]]
        (held,) = [name for name, gates in shown(running, CANCEL).items() if gates]
        assert shown(running, MIGRATE)[held] == ["canary"]


@pytest.mark.parametrize("mode", ["plan", "off"])
async def test_what_the_other_one_would_not_write_anyway_holds_back_nothing(tmp_path: Path, mode: str) -> None:
    vmis = [stale("db"), stale("web")]
    async with on(tmp_path, settings(**{CANCEL: mode, MIGRATE: "auto"}), *NODES, *crowd(), *vmis) as running:
        serve(running)
        await running.run()
        assert [method for method, _ in running.writes()] == ["POST"]


async def test_what_the_other_one_refuses_it_holds_back_nothing_of(tmp_path: Path) -> None:
    async with on(tmp_path, settings(**{CANCEL: "auto", MIGRATE: "auto"}), *NODES, *crowd(), stale("db")) as running:
        serve(running)
        await running.run()
        running.appear(stale("web", asked="gone"))
        await running.run()
        assert shown(running, CANCEL)["web"] == ["canary"]
        assert [method for method, _ in running.writes()] == ["PUT", "POST"]
