"""Storms of objects, watches and faults, drawn for an engine."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.kube.watch.listing import Decoder
from exporter.store.decode import by_name
from exporter.store.source import Source, SyncState
from tests.engine_rows import KINDS, START
from tests.evaluation import Evaluation
from tests.rows import CLUSTER_WIDE, full

LOST = (SyncState.BEHIND, SyncState.STALE, SyncState.FORBIDDEN)


class Storm:
    """A cluster, what the engine has seen of it, and chance."""

    def __init__(self, objects: list[dict[str, Any]], seed: int) -> None:
        self.evaluation = Evaluation(all_checks())
        self.chance = random.Random(seed)
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.lost: set[str] = set()
        for row in (*START, *objects):
            self.put(row)

    def put(self, row: dict[str, Any]) -> None:
        thing = full(row)
        namespace = "" if row["kind"] in CLUSTER_WIDE and row["kind"] != "Namespace" else row["namespace"]
        self.objects[row["kind"], namespace, row["name"]] = thing
        if row["kind"] not in self.lost:
            self.evaluation.seen(thing)

    def change(self, row: dict[str, Any]) -> None:
        act = self.chance.random()
        if act < 0.5:
            self.put(row | {"undecodable": self.chance.random() < 0.3})
        elif act < 0.65 and self.objects:
            self.delete(self.chance.choice(sorted(self.objects)))
        elif act < 0.75:
            self.lose(self.chance.choice(KINDS), self.chance.choice(LOST))
        elif act < 0.9 and self.lost:
            self.list_again(self.chance.choice(sorted(self.lost)))
        for _ in range(self.chance.choice((0, 0, 1, 3))):
            self.evaluation.engine.step()

    def delete(self, key: tuple[str, str, str]) -> None:
        del self.objects[key]
        if key[0] not in self.lost:
            self.evaluation.gone(*key)

    def lose(self, kind: str, sync_state: SyncState) -> None:
        self.lost.add(kind)
        self.evaluation.sync_state(kind, sync_state)

    def list_again(self, kind: str) -> None:
        self.lost.discard(kind)
        decoder = Decoder(self.evaluation.kinds[kind])
        seen = [decoder.object(json.dumps(o).encode()) for key, o in self.objects.items() if key[0] == kind]
        swap = self.evaluation.intake.swap(self.evaluation.kinds[kind], by_name(seen))
        with pytest.raises(StopIteration):
            swap.send(None)  # few objects: it never waits
        self.evaluation.sync_state(kind, SyncState.LIVE)

    def fresh(self) -> Evaluation:
        fresh = Evaluation(all_checks())
        for kind in sorted(self.lost):
            source = self.evaluation.engine.cluster.get(Source, "", kind)
            assert source
            fresh.sync_state(kind, source.sync_state)
        for thing in self.objects.values():
            fresh.seen(thing)
        fresh.evaluate()
        return fresh
