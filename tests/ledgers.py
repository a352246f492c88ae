"""Plans to record, and a disk that loses its power."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from exporter.facts.record import Ref
from reconcile.ledger import Ledger
from reconcile.ledger.disk import Disk
from reconcile.plan.plan import Patch, Plan, Remove, Risk, Test

__all__ = ["Power", "PowerLossError", "of_an_older_version", "opened", "plan", "rewrite"]


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
