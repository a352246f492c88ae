"""After any storm the engine knows what a fresh one does: objects come, go and can't be read, watches are lost."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.findings.finding import Unknown
from exporter.kube.watch.decode import Decoder
from exporter.store.source import Source, SyncState
from tests.evaluation import Evaluation
from tests.rows import CLUSTER_WIDE, full
from tests.unit.test_engine import KINDS, START, comparable, rows

KUBEVIRT = {"kind": "KubeVirt", "namespace": "kubevirt", "name": "kubevirt", "version": "v1.8.4"}
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
        swap = self.evaluation.intake.swap(self.evaluation.kinds[kind], seen)
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


def unread(engine: Engine) -> list[Unknown]:
    """Without how far it reaches: what was readable once reaches as far as then, and counts as it was then."""
    then = re.compile("no answer either|.* KubeVirt objects? (is|are) deployed")
    return [each for each in engine.unknowns() if not then.match(each.why)]


@given(st.lists(rows(), min_size=5, max_size=40), st.integers(0, 2**32))
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
)
def test_after_the_storm(changes: list[dict[str, Any]], seed: int) -> None:
    storm = Storm([], seed)
    for row in changes:
        storm.change(row)
    for kind in sorted(storm.lost):
        storm.list_again(kind)
    storm.evaluation.evaluate()
    engine = storm.evaluation.engine
    assert unread(engine) == unread(storm.fresh().engine)  # all is watched, and not all can be read
    assert engine.caught_up

    for key, thing in list(storm.objects.items()):
        if "not" in str(thing["metadata"].get("creationTimestamp")):
            storm.delete(key)
    for key in [each for each in storm.objects if each[0] == "KubeVirt"]:
        storm.delete(key)
    storm.put(KUBEVIRT)  # without one nobody knows what VMs may ask for
    storm.evaluation.evaluate()
    fresh = storm.fresh().engine
    assert engine.unknowns() == fresh.unknowns() == []
    assert comparable(engine.findings()) == comparable(fresh.findings())
    assert engine.unknown_places() == fresh.unknown_places()
