"""What one changed firmware UUID costs in a fleet of a given size: the engine alone, with every check, no I/O.

`python -m bench.identities 100000`. All VMs run, one in a thousand with the UUID of another. Then UUIDs change one by
one: every other change creates a duplicate, and the next one resolves it. Measured is the time from the record to the
findings, which are counted.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Iterator
from uuid import UUID

import msgspec

from bench.usage import rss
from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.facts.firmware import comparable
from exporter.facts.record import Record
from exporter.store.kinds.virtual_machine import KIND as VMS
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import KIND as VMIS
from exporter.store.source import SyncState
from tests.evaluation import api_kinds

CHANGES, SHARED = 2000, 1000  # one VM in this many has the UUID of the next one
_BORN, _BORN_TEXT = 1_790_000_000.0, "2026-05-04T08:12:31Z"


def uuid_of(number: int) -> str:
    return str(UUID(int=number + 1, version=4))


def records(count: int) -> Iterator[Record]:
    for number in range(count):
        shared = number % SHARED == 0
        uuid = uuid_of(number + 1 if shared else number)
        meta = {
            "namespace": f"tenant-{number // 100}",
            "name": f"vm-{number}",
            "creationTimestamp": "2026-05-04T08:12:31Z",
        }
        domain = {"domain": {"firmware": {"uuid": uuid, "serial": f"serial-{number}"}}}
        owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": meta["name"], "uid": f"vm-{number}"}
        vm = {
            "metadata": {**meta, "uid": f"vm-{number}"},
            "spec": {"runStrategy": "Always", "template": {"spec": domain}},
        }
        vmi = {
            "metadata": {**meta, "uid": f"vmi-{number}", "ownerReferences": [{**owner, "controller": True}]},
            "spec": domain,
            "status": {"phase": "Running", "nodeName": f"node-{number % 100}"},
        }
        for kind, thing in ((VMS, vm), (VMIS, vmi)):
            record = kind.reduce(msgspec.convert(thing, kind.wire))
            assert isinstance(record, Record)
            yield record


def filled(count: int) -> Engine:
    engine = Engine(all_checks(), clock=lambda: _BORN, timer=time.perf_counter, initial=True)
    intake = Intake(engine, lambda: _BORN)
    for kind in api_kinds().values():
        intake.sync_state(kind, SyncState.LIVE)
    for record in records(count):
        engine.put(record)
    return engine


def evaluate(engine: Engine) -> None:
    while engine.step():
        pass


def changed(engine: Engine, number: int, uuid: str) -> float:
    """Seconds of CPU from the changed record to its findings; wall time would include other processes."""
    before = engine.cluster.get(VirtualMachine, f"tenant-{number // 100}", f"vm-{number}")
    assert before is not None
    record = msgspec.structs.replace(before, uuid=uuid, identity=comparable(uuid), rv=before.rv + 1)
    began = time.thread_time()
    engine.put(record)
    evaluate(engine)
    return time.thread_time() - began


def main(count: int) -> None:
    empty, began = rss(), time.perf_counter()
    engine = filled(count)
    fed = time.perf_counter()
    evaluate(engine)
    evaluated = time.perf_counter()
    gc.collect()
    gc.freeze()  # as the steward does once it is ready
    figures = {"fed (s)": fed - began, "first evaluation (s)": evaluated - fed, "memory (MiB)": rss() - empty}
    found = sum(finding.reason == "Duplicate" for finding in engine.findings())
    assert found == 2 * (count // SHARED), found
    spent: list[float] = []
    for turn in range(CHANGES // 2):
        number = (turn * 7919) % count // SHARED * SHARED + 500  # one that has its own UUID
        before = sum(1 for _ in engine.findings())
        spent.append(changed(engine, number, uuid_of(number + 1)))
        assert sum(1 for _ in engine.findings()) > before
        spent.append(changed(engine, number, uuid_of(number)))
        assert sum(1 for _ in engine.findings()) == before
    spent.sort()
    figures |= {"one change, CPU, median (ms)": statistics.median(spent) * 1000}
    # Two of 2,000 take longer, most likely because a dict grows or the garbage collector runs just then.
    figures |= {"99.8 % of them (ms)": spent[-len(spent) // 500 - 1] * 1000, "maximum (ms)": spent[-1] * 1000}
    for name, value in figures.items():
        print(f"{name:28} {value:10.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vms", type=int)
    main(parser.parse_args().vms)
