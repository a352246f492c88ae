"""VMIs and their failed migrations, as KubeVirt reports them, and an exporter that looks at them."""

from __future__ import annotations

import json
from typing import Any

from exporter.counts.migrations import READING, MigrationFailures
from exporter.engine.evaluate import at_once
from exporter.kube.watch.listing import Decoder
from exporter.questions.migrations import steps
from exporter.store.decode import by_name
from exporter.store.source import SyncState
from tests.evaluation import Evaluation
from tests.rows import full

__all__ = ["CPU", "MIGRATION", "STUCK", "VMI", "Fleet", "failed", "minute", "status_of", "vmi"]

VMI, MIGRATION = "VirtualMachineInstance", "VirtualMachineInstanceMigration"
CPU = "operation failed: guest CPU doesn't match specification: extra features: vmx-ept"
STUCK = "Live migration stuck for 150 seconds and has been aborted"

Obj = dict[str, Any]


def minute(at: int) -> str:
    return f"2026-06-01T10:{at:02}:00Z"


def vmi(name: str = "db", **more: Any) -> Obj:
    return full({"kind": VMI, "name": name, "uid": f"u-{name}"} | more)


def failed(name: str, at: int, text: str | None = None, vmi: str = "db", **more: Any) -> Obj:
    """A migration that failed in a minute; its UID is its name."""
    row = {"kind": MIGRATION, "name": name, "uid": name, "vmi": vmi, "phase": "Failed", "failed": text}
    return full(row | {"created": minute(at), "phaseSince": minute(at)} | more)


def status_of(uid: str, at: int, text: str = "") -> Obj:
    """What the status of a VMI says of its last migration, where that failed."""
    return {
        "migrationUid": uid,
        "startTimestamp": minute(at),
        "endTimestamp": minute(at),
        "completed": True,
        "failed": True,
        "failureReason": text or None,
    }


class Fleet:
    """With `listed` false it has seen nothing yet, as after a start. The timer goes when it is told to."""

    def __init__(self, *, listed: bool = True) -> None:
        self.evaluation = Evaluation([], () if listed else (VMI, MIGRATION), indexes=READING.indexes)
        self.seconds = 0.0
        self.failures = MigrationFailures(self.evaluation.engine.cluster, lambda: self.seconds)
        self.evaluation.engine.observe(self.failures.changed)
        self.objects: dict[tuple[str, str, str], Obj] = {}

    def see(self, *objects: Obj) -> None:
        for each in objects:
            meta = each["metadata"]
            self.objects[each["kind"], meta["namespace"], meta["name"]] = each
            self.evaluation.seen(each)

    def gone(self, kind: str, *names: str) -> None:
        for name in names:
            del self.objects[kind, "ns", name]
            self.evaluation.gone(kind, "ns", name)

    async def relist(self, *kinds: str) -> None:
        """Lists kinds, in this order, as they are now."""
        for name in kinds:
            kind = self.evaluation.kinds[name]
            decoder = Decoder(kind)
            objects = [each for (of, _, _), each in self.objects.items() if of == name]
            listed = by_name(decoder.object(json.dumps(each).encode()) for each in objects)
            await self.evaluation.intake.swap(kind, listed)
            self.evaluation.sync_state(name, SyncState.LIVE)

    async def restarted(self, *kinds: str) -> Fleet:
        """Another exporter, which lists the same objects, in the order of these kinds."""
        made = Fleet(listed=False)
        made.objects = dict(self.objects)
        await made.relist(*(kinds or (VMI, MIGRATION)))
        return made

    def kept(self, name: str = "db") -> list[tuple[str, str]]:
        """Names and classes of what is kept of a VMI, newest first."""
        return [(each.migration, each.failure) for each in self.failures.of("ns", name)]

    def counted(self) -> dict[str, int]:
        """By class, without those at 0."""
        return {failure: count for failure, count in self.failures.by_class().items() if count}

    def report(self) -> Any:
        made = steps(self.evaluation.engine.cluster, self.failures, lambda _: True)
        return at_once(made)
