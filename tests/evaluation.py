"""An engine for tests: fed with objects as a source would, evaluated at once, on a clock that stands."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.findings.check import Check
from exporter.kube.watch.decode import Decoder
from exporter.store.index import Index
from exporter.store.kind import ApiKind
from exporter.store.reader import Reader, Reading
from exporter.store.source import SyncState
from exporter.views import all_views, drain

__all__ = ["NOW", "Evaluation", "api_kinds"]

NOW = 1_790_000_000.0


def api_kinds() -> dict[str, ApiKind[Any]]:
    readers: tuple[Reader, ...] = (*all_checks(), *all_views())
    kinds = (*(kind for reader in readers for kind in reader.reads), *drain.KINDS)
    return {kind.name: kind for kind in kinds if isinstance(kind, ApiKind)}


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
    ) -> None:
        """An `initial` engine opens at once what has no known beginning; what has one waits for its grace.

        `indexes` are kept beside those of the checks. By the `timer` that there is without one no turn is over.
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
        self._decoders = {name: Decoder(kind) for name, kind in self.kinds.items()}
        for name in self.kinds:
            self.sync_state(name, SyncState.STARTING if name in unsynced else SyncState.LIVE)

    def sync_state(self, name: str, sync_state: SyncState) -> None:
        why = "" if sync_state is SyncState.LIVE else f"{self.kinds[name].resource} is {sync_state.value}"
        self.intake.sync_state(self.kinds[name], sync_state, why)

    def seen(self, thing: dict[str, Any]) -> None:
        kind = thing["kind"]
        self.intake.seen(self.kinds[kind], self._decoders[kind].object(json.dumps(thing).encode()))

    def gone(self, kind: str, namespace: str, name: str) -> None:
        self.intake.gone(self.kinds[kind], namespace, name)

    def evaluate(self) -> None:
        while self.engine.step():
            pass

    def found(self) -> list[tuple[str, str, str, str]]:
        """(namespace, name, reason, severity) of each open finding, in order."""
        self.evaluate()
        return sorted((f.subject.namespace, f.subject.name, f.reason, f.severity.value) for f in self.engine.findings())
