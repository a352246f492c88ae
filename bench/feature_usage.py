"""What it costs to know who asks for which feature: VMs of a given number, each with a VMI, no I/O.

`python -m bench.feature_usage 20000`. One VM in four has an instancetype, out of 50, and one in a hundred asks for a
feature that few ask for; one alone asks for another, so that the view walks over all. Measured are the counts that are
updated with each change, and the view: CPU, memory, and the longest turn without a look at the event loop.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from bench.instancetype_usage import turns
from bench.usage import rss
from exporter.counts.features import STATE, FeatureUsage
from exporter.facts.record import Record
from exporter.questions.features import READER, Features, steps
from exporter.store.cluster import Change, Cluster
from exporter.store.kinds.instancetypes import VirtualMachineClusterInstancetype
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.reader import cluster_of
from exporter.store.source import Source, SyncState
from tests.evaluation import api_kinds

OBJECTS, SIZED, RARE, CHANGES = 50, 4, 100, 2000
_FEW: tuple[dict[str, Any], ...] = (
    {"devices": {"downwardMetrics": {}}},
    {"devices": {"autoattachVSOCK": True}},
    {"devices": {"gpus": [{"name": "g", "deviceName": "nvidia.com/A100"}]}},
)


def _domain(each: int) -> dict[str, Any]:
    usual = {"machine": {"type": "q35"}, "cpu": {"model": "host-model"}}
    return usual | _FEW[each // RARE % len(_FEW)] if each % RARE == 0 else usual


def objects(count: int) -> Iterator[dict[str, Any]]:
    status = {"phase": "Deployed", "observedKubeVirtVersion": "v1.8.4", "targetKubeVirtVersion": "v1.8.4"}
    yield {"kind": "KubeVirt", "metadata": {"namespace": "kubevirt", "name": "kubevirt"}, "status": status}
    for each in range(OBJECTS):
        gives = {"cpu": {"guest": 1, "dedicatedCPUPlacement": each == 0}, "memory": {"guest": "1Gi"}}
        meta = {"name": f"u1.{each}", "uid": f"t-{each}"}
        yield {"kind": "VirtualMachineClusterInstancetype", "metadata": meta, "spec": gives}
    for each in range(count):
        meta = {"namespace": f"tenant-{each // 100}", "name": f"vm-{each}", "uid": f"vm-{each}"}
        spec: dict[str, Any] = {"domain": _domain(each), "architecture": "amd64"}
        if each == count - 1:
            spec["volumes"] = [{"name": "v", "hostDisk": {}}]
        owner = {"kind": "VirtualMachine", "name": f"vm-{each}", "uid": f"vm-{each}", "controller": True}
        sized = {"instancetype": {"name": f"u1.{each // SIZED % OBJECTS}"}} if each % SIZED == 0 else {}
        yield {"kind": "VirtualMachine", "metadata": meta, "spec": {"template": {"spec": spec}, **sized}}
        vmi = meta | {"uid": f"vmi-{each}", "ownerReferences": [owner]}
        yield {"kind": "VirtualMachineInstance", "metadata": vmi, "spec": spec, "status": {"phase": "Running"}}


def filled(count: int) -> Cluster:
    cluster = cluster_of([STATE, READER])
    kinds = api_kinds()
    for kind in kinds.values():
        cluster.put(Source("", kind.name, "", 0, kind.resource, SyncState.LIVE, "", 0.0, kind.optional))
    for thing in objects(count):
        kind = kinds[thing["kind"]]
        record = kind.reduce(msgspec.json.decode(json.dumps(thing), type=kind.wire))
        assert isinstance(record, Record)
        cluster.put(record)
    return cluster


def changed(cluster: Cluster, usage: FeatureUsage, record: Record) -> float:
    """CPU in seconds of an object that goes and comes back, until the counts are updated; half of it."""
    spent = 0.0
    for change in (cluster.remove(type(record), record.namespace, record.name), cluster.put(record)):
        assert isinstance(change, Change)
        began = time.thread_time()
        usage.changed(change)
        for _ in usage.settle():
            pass
        spent += time.thread_time() - began
    return spent / 2


def main(count: int) -> None:
    gc.set_threshold(10_000, 5, 5000)  # as in the steward
    empty = rss()
    cluster = filled(count)
    gc.collect()
    gc.freeze()
    held = rss()
    began = time.thread_time()
    usage = FeatureUsage.over(cluster)
    noted = time.thread_time() - began
    settled, settling, _ = turns(usage.settle())
    gc.collect()
    counted = rss()
    viewed, viewing, found = turns(steps(cluster, usage, [], 1))
    assert isinstance(found, Features)
    machines = next(each for each in found.features if each.feature == "emulated_machines")
    assert (machines.vms, machines.vmis, len(machines.first)) == (count, count, 10)
    dedicated = next(each for each in found.features if each.feature == "cpu_manager")
    assert dedicated.vms == count // SIZED // OBJECTS
    began = time.thread_time()
    samples = sum(len(group) for gauge in STATE.gauges for group in gauge.samples(usage))
    scraped = time.thread_time() - began
    vms = [each for at, each in enumerate(cluster.all(VirtualMachine)) if at % max(1, count // CHANGES) == 0]
    spent = sorted(changed(cluster, usage, each) for each in vms)
    size = next(iter(cluster.all(VirtualMachineClusterInstancetype)))
    resized, longest, _ = turns(_resized(cluster, usage, size))
    figures = {
        "records and indexes (MiB)": held - empty,
        "counts (MiB)": counted - held,
        "every change noted, CPU (s)": noted,
        "every VM looked at, CPU (s)": settled,
        "longest turn of it (ms)": settling * 1000,
        "one VM goes or comes, median (µs)": spent[len(spent) // 2] * 1e6,
        "maximum (µs)": spent[-1] * 1e6,
        f"an instancetype of {count // SIZED // OBJECTS} VMs, CPU (ms)": resized * 1000,
        "longest turn of it (ms) ": longest * 1000,
        "samples of a scrape, CPU (ms)": scraped * 1000,
        "samples": samples,
        "view, CPU (ms)": viewed * 1000,
        "longest turn of it (ms)  ": viewing * 1000,
        "encoded (KiB)": len(msgspec.json.encode(found)) / 1024,
    }
    for name, value in figures.items():
        print(f"{name:42} {value:10.3f}")


def _resized(cluster: Cluster, usage: FeatureUsage, size: Record) -> Iterator[None]:
    change = cluster.remove(type(size), size.namespace, size.name)
    assert isinstance(change, Change)
    usage.changed(change)
    yield
    yield from usage.settle()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vms", type=int)
    main(parser.parse_args().vms)
