"""The answer on one VM of a cluster that rows describe."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from exporter.checks import all_checks
from exporter.counts.base import Aggregates
from exporter.counts.networks import STATE, AddressUsage
from exporter.engine.evaluate import at_once
from exporter.metrics.states import States
from exporter.metrics.text import SeriesLimit
from exporter.questions import vm
from exporter.questions.networks import NetworkReport, Networks, steps
from exporter.questions.vm import VMWhole
from exporter.store.source import SyncState

from .drain_rows import Row, guest, node
from .evaluation import NOW, Evaluation
from .rows import full

__all__ = ["OneVMStage", "Viewed", "obstacles", "running"]


def running(name: str = "a", pod: Row | None = None, **more: object) -> list[Row]:
    """A VM with its VMI and its launcher pod, on node01."""
    of_vm = {"kind": "VirtualMachine", "name": name, "uid": f"vm-{name}", "runStrategy": "Always", "networks": {}}
    uuid = f"11111111-2222-4333-8444-{sum(map(ord, name)):012d}"
    vm_row = of_vm | {"uuid": uuid, "serial": f"s-{name}"}
    return [vm_row, *guest(name, pod, **{"networks": {}, "uuid": uuid, "serial": f"s-{name}"} | more)]


class OneVMStage(Evaluation):
    """By default node01, node02 and node03, which are alike, and KubeVirt 1.7."""

    def __init__(
        self, *rows: Row, nodes: Iterable[Row] | None = None, unseen: Iterable[str] = (), now: float = NOW
    ) -> None:
        super().__init__(all_checks(), indexes=vm.INDEXES, now=now)
        for row in [node(f"node0{n}") for n in (1, 2, 3)] if nodes is None else nodes:
            self.seen(full(row))
        if not any(row["kind"] == "KubeVirt" for row in rows):
            self.seen(full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"}))
        for row in rows:
            self.seen(row if "apiVersion" in row else full(row))
        for name in unseen:
            self.sync_state(name, SyncState.MISSING)

    def take(self, name: str = "a", namespace: str = "ns") -> VMWhole:
        self.evaluate()
        return at_once(vm.steps(self.engine, namespace, name))

    def propose(self, manifest: Row, namespace: str = "ns") -> VMWhole:
        self.evaluate()
        kind = next(kind for kind in vm.OF_MANIFESTS if kind.name == manifest["kind"])
        return vm.propose(self.engine, vm.manifest_of(kind, json.dumps(manifest).encode(), namespace))


def obstacles(places: vm.Places | None) -> dict[str, list[str]]:
    """Of each node the kinds of what rules it out."""
    assert places is not None
    return {each.node: [obstacle.kind for obstacle in each.obstacles] for each in places.nodes}


# An engine for tests with the view of networks, and what the app puts beside it for that.


class Viewed(Evaluation):
    """With what the app puts beside the engine."""

    def __init__(self, rows: Iterable[dict[str, Any]] = ()) -> None:
        super().__init__(all_checks())
        self.keepers = Aggregates(self.engine.cluster, [STATE])
        self.engine.observe(self.keepers.changed)
        self.usage = self.keepers.of(AddressUsage)
        for row in rows:
            self.seen(full(row))

    def take(self, only: str = "") -> Networks:
        self.evaluate()
        list(self.usage.settle())
        return at_once(steps(self.engine.cluster, self.usage, self.engine.findings(), self.engine.generation, only))

    def one(self) -> NetworkReport:
        (report,) = self.take().networks
        return report

    def used(self) -> dict[str, int]:
        return {use: count for use, count in self.one().subnets[0].usage.items() if count}

    def scrape(self, limit: int = 50_000) -> tuple[list[str], States]:
        states = States(self.engine.cluster, self.keepers, SeriesLimit(family=limit))

        async def text() -> str:
            return b"".join([part async for part in states.render()]).decode()

        return asyncio.run(text()).splitlines(), states
