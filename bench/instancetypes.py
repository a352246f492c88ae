"""What instancetypes cost: the same fleet without them, and with 50, a copy of which each VM has; then one changes.

`python -m bench.instancetypes 100000`. Each VM runs, with a VMI, a launcher pod and a claim; with instancetypes it
refers to one and to a preference, and has a ControllerRevision of each and one of the spec that it started with, as
KubeVirt makes them. Measured are decoding and evaluation from scratch, memory, what one changed instancetype evaluates
again, and the preview of deleting one. Each fleet has a process of its own.
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
from collections.abc import Iterator
from typing import Any

import msgspec

from bench.usage import rss
from bench.whole import evaluated, objects
from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.questions.impact import Impact, steps, without
from exporter.store.decode import ObjectDecoder
from exporter.store.source import SyncState
from tests.evaluation import api_kinds

_BORN = 1_790_000_000.0
_SIZES = 50
_GROUP = "instancetype.kubevirt.io"
_SLICE = 1000  # objects decoded between two looks at the clock
_KINDS = {"instancetype": "VirtualMachineClusterInstancetype", "preference": "VirtualMachineClusterPreference"}

Object = dict[str, Any]


def kept(role: str, number: int, generation: int = 1) -> Object:
    sized = {"cpu": {"guest": 1 + number % 8}, "memory": {"guest": f"{generation * (1 + number)}Gi"}}
    tuned = {"devices": {"preferredDiskBus": "virtio"}, "requirements": {"cpu": {"guest": 1}}}
    name = f"{role}-{number}"
    meta = {"name": name, "uid": f"uid-{name}", "generation": generation}
    spec = sized if role == "instancetype" else tuned
    return {"apiVersion": f"{_GROUP}/v1beta1", "kind": _KINDS[role], "metadata": meta, "spec": spec}


def revision(vm: Object, of: Object) -> Object:
    meta, inner = vm["metadata"], of["metadata"]
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": meta["name"], "uid": meta["uid"]}
    name = f"{meta['name']}-{inner['name']}-v1beta1-{inner['uid']}-1"
    labels = {"name": inner["name"], "kind": of["kind"], "uid": inner["uid"], "generation": "1", "version": "v1beta1"}
    return {
        "kind": "ControllerRevision",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "uid": f"uid-{name}",
            "labels": {f"{_GROUP}/object-{key}": value for key, value in labels.items()},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "data": of,
    }


def sized(things: Iterator[Object]) -> Iterator[Object]:
    """The same fleet, of VMs that refer to instancetypes and preferences."""
    for role in _KINDS:
        yield from (kept(role, number) for number in range(_SIZES))
    number = 0
    for thing in things:
        if thing["kind"] == "VirtualMachineInstance":
            owner = thing["metadata"]["ownerReferences"][0]
            thing["status"]["virtualMachineRevisionName"] = f"revision-start-vm-{owner['uid']}-1"
        if thing["kind"] == "VirtualMachine":
            saved: Object = {}
            domain = thing["spec"]["template"]["spec"]["domain"]
            for given in ("cpu", "memory", "resources"):  # the instancetype gives them
                domain.pop(given, None)
            for role in _KINDS:
                of = kept(role, number % _SIZES)
                made = revision(thing, of)
                yield made
                name = of["metadata"]["name"]
                ref = {"name": name, "controllerRevisionRef": {"name": made["metadata"]["name"]}}
                thing["spec"][role] = {"name": name}
                thing.setdefault("status", {})[f"{role}Ref"] = ref
                saved[role] = {"name": name, "revisionName": made["metadata"]["name"]}
            start = revision(thing, {"metadata": {"name": "", "uid": ""}, "kind": ""})
            start["metadata"] |= {"name": f"revision-start-vm-{thing['metadata']['uid']}-1", "labels": None}
            start["data"] = {"spec": {**thing["spec"], **saved}}
            yield start
            number += 1
        yield thing


def measure(count: int, with_sizes: bool) -> dict[str, float]:
    gc.set_threshold(10_000, 5, 5000)  # as in the steward
    engine = Engine(all_checks(), clock=lambda: _BORN, timer=time.perf_counter, initial=True)
    intake, kinds = Intake(engine, lambda: _BORN), api_kinds()
    decoders = {name: ObjectDecoder(kind) for name, kind in kinds.items()}
    for kind in kinds.values():
        intake.sync_state(kind, SyncState.LIVE)
    things, spent, empty, number = (sized(objects(count)) if with_sizes else objects(count)), 0.0, rss(), 0
    while part := [(each["kind"], json.dumps(each).encode()) for each in itertools.islice(things, _SLICE)]:
        number += len(part)
        before = time.process_time()
        for name, raw in part:
            intake.seen(kinds[name], decoders[name].object(raw))
        spent += time.process_time() - before
    before = time.process_time()
    asyncio.run(evaluated(engine))
    figures = {
        "objects": float(number),
        "decoded and indexed, CPU (s)": spent,
        "evaluated from scratch, CPU (s)": time.process_time() - before,
        "memory (MiB)": rss() - empty,
    }
    if with_sizes:
        earlier = {check.id: engine.evaluated[check.id].partitions for check in engine.checks}
        changed = json.dumps(kept("instancetype", 1, generation=2)).encode()
        before = time.process_time()
        intake.seen(kinds[_KINDS["instancetype"]], decoders[_KINDS["instancetype"]].object(changed))
        longest = asyncio.run(evaluated(engine))
        figures |= {
            "one instancetype changes, CPU (s)": time.process_time() - before,
            "longest step (ms)": longest * 1e3,
        }
        for check, once in earlier.items():
            again = engine.evaluated[check].partitions - once
            if again:
                figures[f"partitions again, {check}"] = float(again)
        figures |= deleted(engine)
        figures["findings"] = float(sum(1 for _ in engine.findings()))
    return figures


def deleted(engine: Engine) -> dict[str, float]:
    """What the preview of deleting one instancetype costs."""
    longest, slices, before = 0.0, 0, time.process_time()
    work = steps(engine, without(engine.cluster, ["instancetype-2"]))
    while True:
        started = time.process_time()
        try:
            next(work)
        except StopIteration as end:
            impact: Impact = end.value
            break
        finally:
            longest, slices = max(longest, time.process_time() - started), slices + 1
    return {
        "impact of a deleted one, CPU (ms)": (time.process_time() - before) * 1e3,
        "longest slice of it (ms)": longest * 1e3,
        "slices of it": float(slices),
        "findings that it changes": float(len(impact.findings)),
    }


def main(count: int) -> None:
    found = []
    for with_sizes in ("", "sized"):
        command = [sys.executable, "-m", "bench.instancetypes", str(count), "--only", with_sizes or "plain"]
        found.append(msgspec.json.decode(subprocess.check_output(command), type=dict[str, float]))
    plain, rich = found
    for name, value in rich.items():
        beside = f"{plain[name]:12.1f} {value / plain[name]:8.2f}" if plain.get(name) else ""
        print(f"{name:46} {value:12.1f} {beside}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vms", type=int)
    parser.add_argument("--only", choices=("plain", "sized"))
    given = parser.parse_args()
    if given.only:
        print(json.dumps(measure(given.vms, given.only == "sized")))
    else:
        main(given.vms)
