"""Constructs what evaluates a dump, without the Kubernetes client and the server, which are dear to import."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable
from typing import Any

from .checks import all_checks
from .config.settings import Config, acknowledgements_of
from .engine.engine import Engine
from .engine.intake import Intake
from .offline.files import files
from .offline.source import OfflineSource, Progress, ReadTally
from .offline.wanted import LabelledVMs
from .questions import all_views
from .store.kind import Kind
from .store.reader import watched


async def read_dump(
    path: str,
    now: float,
    config: Config,
    *,
    complete: bool,
    progress: Progress,
    also: Iterable[Kind[Any]] = (),
    labelled: LabelledVMs | None = None,
) -> tuple[Engine, ReadTally]:
    """Evaluates the dump at a path as of `now`, in seconds since 1970. Raises DumpError.

    `also` are kinds to read beside those of the checks. `labelled` notes the labels of VMs.
    """
    gc.set_threshold(10_000, 5, 5000)
    checks = [check for check in all_checks() if config.of(check.id).enabled]
    engine = Engine(checks, clock=lambda: now, timer=time.monotonic, readers=all_views(), initial=True)
    configure(engine, config)
    intake = Intake(engine, lambda: now)
    intake.assume(config.assume_upstream_version or "")
    kinds = {**watched(checks), **dict.fromkeys(also)}
    source = OfflineSource(kinds, intake, complete=complete, labelled=labelled)
    await source.read(files(path), progress)
    while engine.step():
        pass
    return engine, source.tally


def configure(engine: Engine, config: Config) -> None:
    """Gives each check its settings, and says what is acknowledged."""
    engine.acknowledge(acknowledgements_of(config.acknowledged))
    for check in engine.checks:
        if check.settings:
            engine.configure(check.id, config.of(check.id).settings or check.settings())
