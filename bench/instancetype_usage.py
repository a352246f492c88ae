"""What it costs to know who uses which instancetype: a fleet of a given size over 50 of them, no I/O.

`python -m bench.instancetype_usage 20000`. Each VM has a ControllerRevision, but for one in twenty, which gets the live
object; one instancetype in five has changed since the copies were made. Measured are the counts that are updated with
each change, and the view: CPU, memory, and the longest turn without a look at the event loop.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Generator, Iterator
from typing import Any

import msgspec

from bench.usage import rss
from exporter.counts.instancetypes import STATE, InstancetypeUsage
from exporter.facts.record import Record
from exporter.questions.instancetypes import READER, Instancetypes, steps
from exporter.store.cluster import Change, Cluster
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.reader import cluster_of
from exporter.store.source import Source, SyncState
from tests.evaluation import api_kinds

OBJECTS, UNVERSIONED, CHANGED, CHANGES = 50, 20, 5, 2000
_KIND, _GROUP = "VirtualMachineClusterInstancetype", "instancetype.kubevirt.io"


def _spec(number: int, generation: int) -> dict[str, Any]:
    return {"cpu": {"guest": generation}, "memory": {"guest": f"{number + 1}Gi"}}


def objects(count: int) -> Iterator[dict[str, Any]]:
    for each in range(OBJECTS):
        generation = 2 if each % CHANGED == 0 else 1
        meta = {"name": f"u1.{each}", "uid": f"t-{each}", "generation": generation}
        yield {"kind": _KIND, "metadata": meta, "spec": _spec(each, generation)}
    for each in range(count):
        of = each % OBJECTS
        meta = {"namespace": f"tenant-{each // 100}", "name": f"vm-{each}", "uid": f"vm-{each}"}
        revision = f"vm-{each}-u1.{of}-t-{of}-1"
        ref = {"name": f"u1.{of}", "controllerRevisionRef": {"name": revision}} if each % UNVERSIONED else None
        spec = {"instancetype": {"name": f"u1.{of}"}, "template": {"spec": {"domain": {}}}}
        yield {"kind": "VirtualMachine", "metadata": meta, "spec": spec, "status": {"instancetypeRef": ref}}
        if ref is not None:
            saved = {"name": f"u1.{of}", "uid": f"t-{of}", "generation": 1}
            labels = {f"{_GROUP}/object-{key}": str(value) for key, value in saved.items()}
            labels |= {f"{_GROUP}/object-kind": _KIND, f"{_GROUP}/object-version": "v1beta1"}
            yield {
                "kind": "ControllerRevision",
                "metadata": {"namespace": meta["namespace"], "name": revision, "uid": revision, "labels": labels},
                "data": {"apiVersion": f"{_GROUP}/v1beta1", "kind": _KIND, "metadata": saved, "spec": _spec(of, 1)},
            }


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


def turns(work: Generator[None, None, Any] | Iterator[None]) -> tuple[float, float, Any]:
    """CPU in seconds of all turns, and of the longest one; what the work returns."""
    spent, longest, made = 0.0, 0.0, None
    while True:
        began = time.thread_time()
        try:
            next(work)
        except StopIteration as end:
            made = end.value
            return spent + time.thread_time() - began, max(longest, time.thread_time() - began), made
        took = time.thread_time() - began
        spent, longest = spent + took, max(longest, took)


def revised(cluster: Cluster, usage: InstancetypeUsage, revision: ControllerRevision) -> float:
    """CPU in seconds of a ControllerRevision that goes, until the counts are updated."""
    change = cluster.remove(ControllerRevision, revision.namespace, revision.name)
    assert isinstance(change, Change)
    began = time.thread_time()
    usage.changed(change)
    for _ in usage.settle():
        pass
    return time.thread_time() - began


def main(count: int) -> None:
    gc.set_threshold(10_000, 5, 5000)  # as in the steward
    empty = rss()
    cluster = filled(count)
    gc.collect()
    gc.freeze()
    held = rss()
    began = time.thread_time()
    usage = InstancetypeUsage.over(cluster)
    noted = time.thread_time() - began
    settled, settling, _ = turns(usage.settle())
    gc.collect()
    counted = rss()
    viewed, viewing, found = turns(steps(cluster, usage, [], 1))
    assert isinstance(found, Instancetypes)
    assert len(found.objects) == OBJECTS
    assert sum(each.vms for each in found.objects) == count
    assert sum(each.dependents for each in found.objects) == count // UNVERSIONED
    encoded = time.thread_time()
    size = len(msgspec.json.encode(found))
    encoded = time.thread_time() - encoded
    began = time.thread_time()
    samples = sum(len(group) for gauge in STATE.gauges for group in gauge.samples(usage))
    scraped = time.thread_time() - began
    revisions = [each for at, each in enumerate(cluster.all(ControllerRevision)) if at % max(1, count // CHANGES) == 0]
    spent = sorted(revised(cluster, usage, each) for each in revisions)
    figures = {
        "records and indexes (MiB)": held - empty,
        "counts (MiB)": counted - held,
        "every change noted, CPU (s)": noted,
        "every VM resolved, CPU (s)": settled,
        "longest turn of it (ms)": settling * 1000,
        "one ControllerRevision gone, median (µs)": spent[len(spent) // 2] * 1e6,
        "maximum (µs)": spent[-1] * 1e6,
        "samples of a scrape, CPU (ms)": scraped * 1000,
        "samples": samples,
        "view, CPU (ms)": viewed * 1000,
        "longest turn of it (ms)  ": viewing * 1000,
        f"encoded, {size / 1024:.0f} KiB, CPU (ms)": encoded * 1000,
    }
    for name, value in figures.items():
        print(f"{name:42} {value:10.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vms", type=int)
    main(parser.parse_args().vms)
