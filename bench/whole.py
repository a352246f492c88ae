"""Everything evaluated from scratch: a fleet of a given size in every area, every check, no I/O.

`python -m bench.whole 100000`. Each VM runs, with a VMI, a launcher pod and a claim, on one of many nodes; one in a
thousand has the UUID of the next one, and one node in a hundred is being drained. Measured are the evaluation and its
longest step, during which the event loop waits.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import gc
import json
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from bench.identities import uuid_of
from bench.plain_fleet import vms
from bench.usage import rss
from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.store.kind import ApiKind
from exporter.store.source import SyncState
from tests.evaluation import api_kinds

_BORN = 1_790_000_000.0
_PER_NODE, _DRAINED, _SHARED = 60, 100, 1000
_TEXT = "2026-05-04T08:12:31Z"


def node(name: str, drained: bool) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"unschedulable": drained},
        "status": {"allocatable": {"cpu": "64", "memory": "512Gi"}, "conditions": [ready]},
    }


def running(vm: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """The VMI and the launcher pod of a VM."""
    meta, name = vm["metadata"], vm["metadata"]["name"]
    on, pod = f"node-{number // _PER_NODE}", {"name": f"virt-launcher-{name}", "uid": f"pod-{number}"}
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": name, "uid": meta["uid"]}
    place = {"namespace": meta["namespace"], "creationTimestamp": _TEXT}
    yield {
        "kind": "VirtualMachineInstance",
        "metadata": {**place, "name": name, "uid": f"vmi-{number}", "ownerReferences": [{**owner, "controller": True}]},
        "spec": {**vm["spec"]["template"]["spec"], "evictionStrategy": "LiveMigrate"},
        "status": {
            "phase": "Running",
            "nodeName": on,
            "conditions": [{"type": "LiveMigratable", "status": "True"}, {"type": "Ready", "status": "True"}],
        },
    }
    labels = {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": f"vmi-{number}"}
    selected = [{"name": "blue", "namespace": meta["namespace"], "ipam-claim-reference": f"{name}.blue"}]
    notes = {"kubevirt.io/domain": name, "k8s.v1.cni.cncf.io/networks": json.dumps(selected)}
    yield {
        "kind": "Pod",
        "metadata": {**place, **pod, "labels": labels, "annotations": notes},
        "spec": {"nodeName": on, "containers": [{"resources": {"requests": {"cpu": "1", "memory": "4Gi"}}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def objects(count: int) -> Iterator[dict[str, Any]]:
    number = 0
    for thing in vms(count):
        if thing["kind"] == "VirtualMachine":
            shared = number % _SHARED == 0
            firmware = {"uuid": uuid_of(number + 1 if shared else number), "serial": f"serial-{number}"}
            thing["spec"]["template"]["spec"]["domain"]["firmware"] = firmware
            thing["spec"]["runStrategy"] = "Always"
            yield from running(thing, number)
            number += 1
        yield thing
    for each in range(-(-count // _PER_NODE)):
        yield node(f"node-{each}", each % _DRAINED == 0)


def fed(count: int) -> Engine:
    engine = Engine(all_checks(), clock=lambda: _BORN, timer=time.perf_counter, initial=True)
    intake, kinds = Intake(engine, lambda: _BORN), api_kinds()
    for kind in kinds.values():
        intake.sync_state(kind, SyncState.LIVE)
    for thing in objects(count):
        of: ApiKind[Any] = kinds[thing["kind"]]
        record = of.reduce(msgspec.json.decode(json.dumps(thing), type=of.wire))
        if record is not None:
            engine.put(record)
    return engine


async def evaluated(engine: Engine) -> float:
    """Evaluates everything as the steward does; gives the longest step in seconds."""
    longest = 0.0
    task = asyncio.create_task(engine.run())
    while not engine.caught_up:
        before = time.perf_counter()
        await asyncio.sleep(0)
        longest = max(longest, time.perf_counter() - before)
    task.cancel()
    return longest


def main(count: int) -> None:
    gc.set_threshold(10_000, 5, 5000)  # as in the steward
    empty = rss()
    engine = fed(count)
    held, before = rss(), time.process_time()
    longest = asyncio.run(evaluated(engine))
    spent = time.process_time() - before
    figures = {
        "evaluated from scratch, CPU (s)": spent,
        "longest step (ms)": longest * 1000,
        "memory of the records (MiB)": held - empty,
        "memory with the findings (MiB)": rss() - empty,
    }
    for name, value in figures.items():
        print(f"{name:32} {value:10.1f}")
    for check in engine.checks:
        work = engine.evaluated[check.id]
        print(f"  {check.id:30} {work.partitions:8} partitions {work.seconds:8.2f} s")
    for reason, number in sorted(collections.Counter(finding.reason for finding in engine.findings()).items()):
        print(f"  {reason:30} {number:8}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vms", type=int)
    main(parser.parse_args().vms)
