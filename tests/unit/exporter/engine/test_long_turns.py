"""However many objects there are about one VM, node, network or value: the event loop goes on."""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.findings.check import PER_FLEET
from exporter.kube.watch.listing import Decoder
from exporter.questions import drain
from exporter.store.reader import Reading
from exporter.store.source import SyncState
from tests.evaluation import NOW, api_kinds
from tests.unit.exporter.engine.stall_scenes import SCENES, crowd, slower

pytestmark = pytest.mark.long

_CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]
_SIZE = 5000
_LONGEST = 0.05  # seconds of CPU between two looks at the event loop
# A single object of so many entries is taken in at once, and so is what a NAD's going means for 10,000 pods and claims.
_LONGER = {"excludes", "subnets_and_excludes", "interfaces_of_one_vm", "leftover_claims_and_pods", "pods_of_one_claim"}
_ATTEMPTS = 3  # a busy host makes a turn longer, and never shorter


class Turns:
    """An engine as the steward runs it, whose turns are timed by the CPU that they take."""

    def __init__(self, things: list[dict[str, Any]]) -> None:
        readers = [Reading("test", (), tuple(drain.READER.indexes))]
        self.engine = Engine(_CHECKS, clock=lambda: NOW, timer=time.thread_time, readers=readers, initial=True)
        self.intake, self.kinds = Intake(self.engine, lambda: NOW), api_kinds()
        self._decoders = {name: Decoder(kind) for name, kind in self.kinds.items()}
        self.longest = 0.0
        for kind in self.kinds.values():
            self.intake.sync_state(kind, SyncState.LIVE)
        for thing in things:
            self.seen(thing)
        self.evaluate()

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.thread_time()
        yield
        self.longest = max(self.longest, time.thread_time() - began)

    def seen(self, thing: dict[str, Any]) -> None:
        name, line = thing["kind"], json.dumps(thing).encode()
        with self._timed():
            self.intake.seen(self.kinds[name], self._decoders[name].object(line))

    def gone(self, thing: dict[str, Any]) -> None:
        kind, meta = self.kinds[thing["kind"]], thing["metadata"]
        with self._timed():
            self.intake.gone(kind, meta.get("namespace", ""), meta["name"])

    def evaluate(self) -> None:
        more = True
        while more:
            with self._timed():
                more = self.engine.step()


@contextmanager
def collected_as_in_the_steward() -> Iterator[None]:
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 5, 5000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def longest(scene: str) -> float:
    things = crowd(scene, _SIZE)
    with collected_as_in_the_steward():
        turns = Turns(things)
        for thing in (things[0], things[-1]):  # what all share, and one of the many
            turns.gone(thing)
            turns.evaluate()
            turns.seen(thing)
            turns.evaluate()
    return turns.longest


@pytest.mark.parametrize("scene", SCENES if os.environ.get("FUZZ") == "all" else list(SCENES)[::4])
def test_no_turn_is_long(scene: str) -> None:
    taken: list[tuple[float, float]] = []
    most = _LONGEST * (2 if scene in _LONGER else 1)
    while len(taken) < _ATTEMPTS:
        taken.append((longest(scene), slower()))
        if taken[-1][0] < most * taken[-1][1]:
            return
    pytest.fail(f"seconds, and how much slower than nominal the host is: {taken}")
