"""What features cost: a fleet in which a few VMs ask for some; then a gate goes off and on, and a node is cordoned.

`python -m bench.features 100000 --peer FOLDER`. Each VM runs, with a VMI, a launcher pod and a claim; one in forty asks
for DownwardMetrics, and one in fifty for a device that one node in ten has. Measured are decoding, evaluation from
scratch and memory; the same of another checkout of the steward in FOLDER, such as one before a change, and then what
the changes evaluate again. Checks, states, views and the text of /metrics are kept as in the steward, without I/O; each
checkout has a process of its own, which runs this file.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.usage import rss
from bench.whole import objects
from exporter.checks import all_checks
from exporter.config.settings import Config, MetricsSettings
from exporter.counts import all_states
from exporter.counts.base import Aggregates
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.metrics.exposition import Exposition
from exporter.metrics.states import States
from exporter.metrics.text import SeriesLimit
from exporter.questions import all_views
from exporter.store.decode import ObjectDecoder
from exporter.store.reader import Reader
from exporter.store.source import SyncState
from tests.evaluation import api_kinds

_BORN = 1_790_000_000.0
_METRICS, _DEVICES, _EQUIPPED = 40, 50, 10  # one in so many VMs, VMs, nodes
_DEVICE = "example.com/nic"
_SLICE = 1000  # objects decoded between two looks at the clock
_GATES = ("DownwardMetrics", "HostDevices")

Object = dict[str, Any]


def kubevirt(*gates: str) -> Object:
    permitted = {"pciHostDevices": [{"pciVendorSelector": "8086:1572", "resourceName": _DEVICE}]}
    developer = {"featureGates": list(gates)}
    return {
        "kind": "KubeVirt",
        "metadata": {"namespace": "kubevirt", "name": "kubevirt", "uid": "kubevirt"},
        "spec": {"configuration": {"developerConfiguration": developer, "permittedHostDevices": permitted}},
        "status": {
            "phase": "Deployed",
            "observedKubeVirtVersion": "v1.8.4",
            "targetKubeVirtVersion": "v1.8.4",
            "defaultArchitecture": "amd64",
        },
    }


def asking(things: Iterator[Object]) -> Iterator[Object]:
    """The same fleet, in which some ask for features, on nodes that take launcher pods."""
    yield kubevirt(*_GATES)
    for thing in things:
        kind, name = thing["kind"], thing["metadata"]["name"]
        number = int(tail) if (tail := name.rpartition("-")[2]).isdigit() else 0
        if kind == "VirtualMachineInstance":  # comes before its VM, and shares the domain with it
            devices = thing["spec"]["domain"]["devices"]
            if number % _METRICS == 0:
                devices["downwardMetrics"] = {}
            if number % _DEVICES == 0:
                devices["hostDevices"] = [{"name": "nic", "deviceName": _DEVICE}]
        elif kind == "Node":
            thing["metadata"]["labels"]["kubevirt.io/schedulable"] = "true"
            if number % _EQUIPPED == 0:
                thing["status"]["allocatable"][_DEVICE] = "8"
        yield thing


class Bench:
    """What the steward consists of, fed by hand."""

    def __init__(self) -> None:
        states = [each for each in all_states() if each.wanted(MetricsSettings())]
        readers: tuple[Reader, ...] = (*states, *all_views())
        self.engine = Engine(all_checks(), clock=lambda: _BORN, timer=time.perf_counter, readers=readers, initial=True)
        self.aggregates = Aggregates(self.engine.cluster, states)
        limit = SeriesLimit(Config().series_limit.family, Config().series_limit.total)
        exposition = Exposition(self.engine.checks, limit, States(self.engine.cluster, self.aggregates, limit))
        self.engine.listen(exposition.update)
        self.engine.observe(self.aggregates.changed)
        self.intake, self.kinds = Intake(self.engine, lambda: _BORN), api_kinds()
        self.decoders = {name: ObjectDecoder(kind) for name, kind in self.kinds.items()}
        for kind in self.kinds.values():
            self.intake.sync_state(kind, SyncState.LIVE)

    def seen(self, kind: str, raw: bytes) -> None:
        self.intake.seen(self.kinds[kind], self.decoders[kind].object(raw))

    def synced(self, count: int) -> dict[str, float]:
        things, spent, empty, number = asking(objects(count)), 0.0, rss(), 0
        while part := [(each["kind"], json.dumps(each).encode()) for each in itertools.islice(things, _SLICE)]:
            number += len(part)
            before = time.process_time()
            for kind, raw in part:
                self.seen(kind, raw)
            spent += time.process_time() - before
        before = time.process_time()
        asyncio.run(self.caught_up())
        evaluated = time.process_time() - before
        before = time.process_time()
        for _ in self.aggregates.settle():
            pass
        settled = time.process_time() - before
        return {
            "objects": float(number),
            "decoded and indexed, CPU (s)": spent,
            "evaluated from scratch, CPU (s)": evaluated,
            "states settled, CPU (s)": settled,
            "sync, CPU (s)": spent + evaluated + settled,
            "memory (MiB)": rss() - empty,
        }

    async def caught_up(self) -> tuple[float, float]:
        """Evaluates all as the steward does; the longest step in seconds, by the wall and by this thread's CPU."""
        longest, busiest = 0.0, 0.0
        task = asyncio.create_task(self.engine.run())
        while not self.engine.caught_up:
            wall, cpu = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0)
            longest, busiest = max(longest, time.perf_counter() - wall), max(busiest, time.thread_time() - cpu)
        task.cancel()
        return longest, busiest

    def changed(self, what: str, thing: Object) -> dict[str, float]:
        """What one changed object costs until the findings are up to date."""
        earlier = {check.id: self.engine.evaluated[check.id].partitions for check in self.engine.checks}
        raw = json.dumps(thing).encode()
        began, wall, cpu = time.perf_counter(), time.perf_counter(), time.thread_time()
        self.seen(thing["kind"], raw)
        taken, taking = time.perf_counter() - wall, time.thread_time() - cpu
        longest, busiest = asyncio.run(self.caught_up())
        settling = 0.0
        turns = self.aggregates.settle()
        while True:
            turn = time.thread_time()
            if next(turns, turns) is turns:
                break
            settling = max(settling, time.thread_time() - turn)
        figures = {
            f"{what}: CPU (s)": time.thread_time() - cpu,
            f"{what}: until evaluated (s)": time.perf_counter() - began,
            f"{what}: taken in, wall (ms)": taken * 1e3,
            f"{what}: taken in, CPU (ms)": taking * 1e3,
            f"{what}: longest step, wall (ms)": longest * 1e3,
            f"{what}: longest step, CPU (ms)": busiest * 1e3,
            f"{what}: longest turn of the states, CPU (ms)": settling * 1e3,
        }
        for check, once in earlier.items():
            if again := self.engine.evaluated[check].partitions - once:
                figures[f"{what}: partitions, {check}"] = float(again)
        reasons = Counter(each.reason for each in self.engine.findings() if each.check.startswith("feature_"))
        return figures | {f"{what}: {reason}": float(found) for reason, found in sorted(reasons.items())}


def measure(count: int, changes: bool) -> dict[str, float]:
    gc.set_threshold(10_000, 5, 5000)  # as in the steward
    bench = Bench()
    figures = bench.synced(count)
    for check in bench.engine.checks:
        figures[f"evaluated from scratch, {check.id} (s)"] = bench.engine.evaluated[check.id].seconds
    gc.collect()
    gc.freeze()
    if changes:
        nodes = (each for each in asking(objects(min(count, 1000))) if each["kind"] == "Node")
        node = [each for each in nodes if not each["spec"]["unschedulable"]][-1]
        cordoned = {**node, "spec": {"unschedulable": True}}
        figures |= bench.changed("gate off", kubevirt("HostDevices"))
        figures |= bench.changed("gate on", kubevirt(*_GATES))
        figures |= bench.changed("node cordoned", cordoned)
        figures |= bench.changed("node back", {**node, "spec": {}})
    return figures


def run(folder: Path, count: int, only: str) -> dict[str, float]:
    from bench.children import environment  # not at the top: this file runs in a peer's checkout too, which may lack it

    command = [sys.executable, str(Path(__file__).resolve()), str(count), "--only", only]
    where = environment(PYTHONPATH=str(folder))
    return msgspec.json.decode(subprocess.check_output(command, cwd=folder, env=where), type=dict[str, float])


def least(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: min(each.get(name, value) for each in rounds) for name, value in (rounds or [{}])[-1].items()}


def main(count: int, peer: Path | None, rounds: int) -> None:
    found: tuple[list[dict[str, float]], ...] = ([], [])
    for number in range(rounds):
        if peer:
            found[0].append(run(peer.resolve(), count, "sync"))
        last = number == rounds - 1
        found[1].append(run(Path(__file__).resolve().parents[1], count, "all" if last else "sync"))
    before, after = map(least, found)
    for name, value in after.items():
        earlier = before.get(name)
        beside = "" if earlier is None else f"{earlier:12.2f} {value / earlier if earlier else 0.0:8.2f}"
        print(f"{name:62} {value:12.2f} {beside}".rstrip())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vms", type=int)
    parser.add_argument("--peer", type=Path, help="another checkout of the steward")
    parser.add_argument("--rounds", type=int, default=1, help="in turns, of which the least figures are printed")
    parser.add_argument("--only", choices=("sync", "all"))
    given = parser.parse_args()
    if given.only:
        print(json.dumps(measure(given.vms, given.only == "all")))
    else:
        main(given.vms, given.peer, given.rounds)
