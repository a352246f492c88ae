"""Plans to record, and a disk that loses its power."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from demo.fleet.sample import sample_fleet
from exporter.facts.record import Ref
from reconcile.carry_out.outcomes import AttemptOutcomes
from reconcile.ledger import Entry, Event, Ledger
from reconcile.ledger.history import History
from reconcile.ledger.writer import Disk
from reconcile.plan.plan import Patch, Plan, Remove, Replace, Risk, Test

__all__ = [
    "BEGIN",
    "ENTRIES_OF_ONE",
    "Power",
    "PowerLossError",
    "Unsynced",
    "long_ledger",
    "of_an_older_version",
    "opened",
    "plan",
    "rewrite",
    "vms",
]


def plan(name: str = "db.blue", value: Any = "x") -> Plan:
    target = Ref("IPAMClaim", "ns", name, f"uid-{name}")
    step = Patch(target=target, ops=(Test("/metadata/finalizers/0", value), Remove("/metadata/finalizers/0")))
    return Plan(
        remediation="release_ipam_claim",
        fingerprint="3f9c2a",
        check="ipam_claims",
        reason="OwnerGone",
        subject=target,
        step=step,
        why="its VM is gone",
        effect="the addresses are free",
        risk=Risk.ADDRESS,
        undo="none",
    )


def opened(directory: Path, **options: Any) -> Ledger:
    return Ledger.open(directory, clock=lambda: 1000.5, **options)


class PowerLossError(Exception):
    pass


class Power(Disk):
    """A real directory that knows what of it is on disk, and loses the rest when the power goes: before the operation
    of that number. Removed files are held open, so that no inode number is given out twice.
    """

    def __init__(self, directory: Path, lost_at: int) -> None:
        self.directory, self.left = directory, lost_at
        self.names = {each.name: each.stat().st_ino for each in directory.iterdir()}
        self.content = {each.stat().st_ino: each.read_bytes() for each in directory.iterdir()}
        self.held = [os.open(each, os.O_RDONLY) for each in directory.iterdir()]

    def create(self, path: Path) -> int:
        self._operate()
        file = super().create(path)
        self.held.append(os.dup(file))
        return file

    def open(self, path: Path) -> int:
        self._operate()
        return super().open(path)

    def write(self, file: int, content: bytes) -> None:
        self._operate()
        super().write(file, content)

    def sync(self, file: int) -> None:
        self._operate()
        super().sync(file)
        number = os.fstat(file).st_ino
        self.content[number] = Path(f"/proc/self/fd/{file}").read_bytes()

    def sync_directory(self, path: Path) -> None:
        self._operate()
        if path == self.directory:
            self.names = {each.name: each.stat().st_ino for each in path.iterdir()}

    def truncate(self, file: int, size: int) -> None:
        self._operate()
        super().truncate(file, size)

    def rename(self, source: Path, target: Path) -> None:
        self._operate()
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._operate()
        super().remove(path)

    def lose(self) -> None:
        """The directory is as it is found when the power is back."""
        for each in self.directory.iterdir():
            each.unlink()
        for name, number in self.names.items():
            (self.directory / name).write_bytes(self.content.get(number, b""))
        self.release()

    def release(self) -> None:
        for file in self.held:
            os.close(file)
        self.held.clear()

    def _operate(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise PowerLossError


def of_an_older_version(directory: Path) -> None:
    """As a version wrote it that did not state whose a ledger is."""
    rewrite(directory, lambda entry: entry.pop("opens", None))
    extent = json.loads((directory / "ledger.json").read_text("utf-8"))
    (directory / "ledger.json").write_text(json.dumps({"first": extent["first"], "last": extent["last"]}), "utf-8")


def rewrite(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """What somebody may do who knows the format: changes entries, and makes all checksums anew."""
    previous = ""
    files: dict[int, str] = {}
    for path in sorted(directory.glob("ledger-*.jsonl")):
        lines = []
        for line in path.read_text("utf-8").splitlines():
            entry = json.loads(line)
            change(entry)
            entry |= {"previous": previous} if previous else {}
            for number in entry.get("opens", {}).get("files", {}):
                entry["opens"]["files"][number] = files[int(number)]
            del entry["sum"]
            content = json.dumps(entry, separators=(",", ":"), ensure_ascii=False)
            previous = sha256(content.encode()).hexdigest()
            lines.append(f'{content[:-1]},"sum":"{previous}"}}\n')
        path.write_text("".join(lines), "utf-8")
        files[int(path.stem[-6:])] = sha256(path.read_bytes()).hexdigest()


# Ledgers of many attempts, each with whole VMs of six kilobytes, as years of repairs leave them.

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
