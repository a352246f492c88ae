"""An engine for tests: fed with objects as a source would, evaluated at once, on a clock that stands."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Callable, Iterable
from copy import copy
from functools import cache, lru_cache
from typing import Any

from msgspec.structs import replace

from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.findings.check import Check
from exporter.kube.watch.listing import Decoded, Decoder
from exporter.questions import all_views, drain
from exporter.store.index import Index
from exporter.store.kind import ApiKind
from exporter.store.reader import Reader, Reading
from exporter.store.source import Source, SyncState
from tests.rows import full

__all__ = ["NOW", "Evaluation", "api_kinds", "decoded"]

NOW = 1_790_000_000.0


def api_kinds() -> dict[str, ApiKind[Any]]:
    """All that is read of an API server, by name."""
    return dict(_api_kinds())


@cache
def _api_kinds() -> dict[str, ApiKind[Any]]:
    readers: tuple[Reader, ...] = (*all_checks(), *all_views())
    kinds = (*(kind for reader in readers for kind in reader.reads), *drain.KINDS)
    return {kind.name: kind for kind in kinds if isinstance(kind, ApiKind)}


@cache
def _decoder(kind: ApiKind[Any]) -> Decoder:
    return Decoder(kind)


def decoded(kind: ApiKind[Any], thing: dict[str, Any]) -> Decoded:
    """An object as a source has it."""
    return _decoder(kind).object(json.dumps(thing).encode())


@lru_cache(8192)
def _of_row(pickled: bytes) -> tuple[ApiKind[Any], Decoded]:
    thing = full(pickle.loads(pickled))
    kind = _api_kinds()[thing["kind"]]
    return kind, decoded(kind, thing)


class Evaluation:
    def __init__(
        self,
        checks: Iterable[Check],
        unsynced: Iterable[str] = (),
        now: float = NOW,
        *,
        initial: bool = True,
        indexes: Iterable[Index] = (),
        timer: Callable[[], float] | None = None,
        only_read: bool = False,
    ) -> None:
        """An `initial` engine opens at once what has no known beginning; what has one waits for its grace.

        `indexes` are kept beside those of the checks. By the `timer` that there is without one no turn is over. With
        `only_read` nobody looks for kinds that none of the checks reads, which takes a third of the time.
        """
        self.now = now
        ticks = itertools.count()
        self.engine = Engine(
            checks,
            clock=lambda: self.now,
            timer=timer or (lambda: next(ticks) * 1e-9),
            initial=initial,
            readers=[Reading("test", (), tuple(indexes))],
        )
        self.intake = Intake(self.engine, lambda: self.now)
        self.kinds = api_kinds()
        read = {kind.name for check in self.engine.checks for kind in (*check.reads, *check.requires)}
        every = not only_read or Source.__name__ in read
        for name in (name for name in self.kinds if every or name in read):
            # At once, since nobody has looked yet: thousands of these are made.
            state = SyncState.STARTING if name in unsynced else SyncState.LIVE
            self.engine.cluster.put(self._source(name, state))

    def sync_state(self, name: str, sync_state: SyncState) -> None:
        self.intake.sync_state(self.kinds[name], sync_state, self._source(name, sync_state).why)

    def _source(self, name: str, state: SyncState) -> Source:
        kind = self.kinds[name]
        why = "" if state is SyncState.LIVE else f"{kind.resource} is {state.value}"
        return Source("", name, "", 0, kind.resource, state, why, self.now, kind.optional)

    def seen(self, thing: dict[str, Any]) -> None:
        kind = self.kinds[thing["kind"]]
        self.intake.seen(kind, decoded(kind, thing))

    def given(self, rows: Iterable[dict[str, Any]]) -> None:
        """The objects of rows, as by `seen`; those of a case are made and decoded once, and a case is tried often."""
        for row in rows:
            kind, found = _of_row(pickle.dumps(row))
            # The record is its own: a cluster notes in it which version it has seen.
            self.intake.seen(kind, replace(found, record=copy(found.record)))

    def gone(self, kind: str, namespace: str, name: str) -> None:
        self.intake.gone(self.kinds[kind], namespace, name)

    def evaluate(self) -> None:
        while self.engine.step():
            pass

    def found(self) -> list[tuple[str, str, str, str]]:
        """(namespace, name, reason, severity) of each open finding, in order."""
        self.evaluate()
        return sorted((f.subject.namespace, f.subject.name, f.reason, f.severity.value) for f in self.engine.findings())
