"""Ledgers of many attempts, each with whole VMs of six kilobytes, as years of repairs leave them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from demo.fleet.sample import sample_fleet
from exporter.facts.record import Ref
from reconcile.ledger import Entry, Event, Ledger
from reconcile.ledger.disk import Disk
from reconcile.ledger.history import History
from reconcile.plan.plan import Patch, Plan, Replace, Risk, Test
from reconcile.run.outcomes import AttemptOutcomes

__all__ = ["BEGIN", "ENTRIES_OF_ONE", "Unsynced", "long_ledger", "vms"]

BEGIN = 1_790_000_000.0
ENTRIES_OF_ONE = 3  # intended, done, verified
_UUID = "/spec/template/spec/domain/firmware/uuid"


class Unsynced(Disk):
    """For a ledger that nobody will miss."""

    def sync(self, file: int) -> None:
        pass

    def sync_directory(self, path: Path) -> None:
        pass


def vms() -> list[dict[str, Any]]:
    """Those of the sample fleet, with the managedFields that an API server keeps."""
    found = [
        each for each in sample_fleet(datetime.fromtimestamp(BEGIN, UTC)).objects if each["kind"] == "VirtualMachine"
    ]
    for number, each in enumerate(found):
        each["metadata"]["managedFields"] = [
            _managed(manager, number) for manager in ("kubectl", "virt-api", "virt-controller")
        ]
    return found


def _managed(manager: str, number: int) -> dict[str, Any]:
    fields: dict[str, Any] = {
        f"f:{name}-{number}": {".": {}, "f:value": {}, f'k:{{"name":"{name}"}}': {}} for name in _NAMES
    }
    return {"manager": manager, "operation": "Update", "apiVersion": "kubevirt.io/v1", "fieldsV1": {"f:spec": fields}}


_NAMES = (
    "domain",
    "devices",
    "interfaces",
    "disks",
    "networks",
    "volumes",
    "resources",
    "firmware",
    "cpu",
    "memory",
    "features",
    "machine",
    "affinity",
    "nodeSelector",
    "tolerations",
    "readinessProbe",
    "accessCredentials",
    "clock",
)


def _plan(vm: dict[str, Any], number: int) -> Plan:
    meta = vm["metadata"]
    target = Ref("VirtualMachine", meta["namespace"], meta["name"], meta["uid"])
    uuid = f"00000000-0000-4000-8000-{number:012d}"
    return Plan(
        remediation="persist_firmware_uuid",
        fingerprint=f"{number:016x}",
        check="firmware_vms",
        reason="NotPersisted",
        subject=target,
        vm=meta["name"],
        step=Patch(target=target, ops=(Test("/metadata/name", meta["name"]), Replace(_UUID, uuid))),
        why=f"The firmware UUID of VM {target.path} is in no spec, and changes with its next start.",
        effect="It keeps the UUID that its guest has now.",
        risk=Risk.NONE,
        undo="take it out of the spec again",
    )


def long_ledger(directory: Path, attempts: int, *, days: float = 91.0, **options: Any) -> float:
    """So many attempts over so many days, done and verified; the time of the last entry."""
    now, fleet = BEGIN, vms()
    with Ledger.open(directory, clock=lambda: now, disk=Unsynced(), cluster="c1", **options) as ledger:
        history, following = History(keep=86_400.0, clock=lambda: now), AttemptOutcomes(keep=86_400.0)
        ledger.recall(history=history, following=following)
        for number in range(attempts):
            now += days * 86_400.0 / attempts
            following.forget(now)
            for entry in _attempt(ledger, fleet[number % len(fleet)], number):
                history.add(entry)
                following.add(entry)
    return now


def _attempt(ledger: Ledger, vm: dict[str, Any], number: int) -> Iterator[Entry]:
    plan = _plan(vm, number)
    request = {"method": "PATCH", "path": f"/apis/kubevirt.io/v1/{plan.target.path}", "body": [{"op": "replace"}]}
    intended = ledger.append(Event.INTENDED, plan=plan, mode="auto", whole=vm, request=request)
    yield intended
    yield ledger.append(Event.DONE, attempt=intended.attempt, whole=vm)
    yield ledger.append(Event.VERIFIED, attempt=intended.attempt, why="the finding is gone")
