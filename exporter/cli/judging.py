"""Dumps, judged one after the other, each on its own; then what can be seen of them together.

Of a dump that is judged there remain what was chosen of its findings and which machines have which UUID: the memory
that is needed is that of the largest dump, not of all.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from ..across import ACROSS, READS, duplicates, unknowns
from ..app import read_dump
from ..config.settings import Config
from ..model.identified import Identified, machines
from ..model.source import FILE
from ..offline.files import DumpError
from ..report import Report, UndecodableReport, merged, reported, rfc3339, take
from .choice import Choice
from .dumps import Dump
from .progress import progress_line

__all__ = ["Reading", "judge_each"]


@dataclass(frozen=True)
class Reading:
    """How each dump is read. `complete` says that each holds the whole of its cluster."""

    config: Config
    choice: Choice
    complete: bool


@dataclass(frozen=True)
class _Judged:
    report: Report
    read: str
    machines: tuple[Identified, ...] = ()


def judge_each(dumps: Sequence[Dump], reading: Reading) -> tuple[Report, dict[str, str]]:
    """What is chosen of all of them, and in words what each held. One of several that can't be read is told at once,
    and counts as a file that was not read. Raises DumpError where none could be read.
    """
    compares = len(dumps) > 1 and ACROSS.id in reading.choice.checks
    judged: dict[str, _Judged] = {}
    failed: list[DumpError] = []
    for dump in dumps:
        try:
            judged[dump.name] = _judge(dump, reading, compares)
        except DumpError as error:
            failed.append(error)
            if len(dumps) > 1:
                print(f"steward: {dump.name}: {error}", file=sys.stderr)
            judged[dump.name] = _Judged(_unreadable(dump, error, reading.choice.now), "")
    if len(failed) == len(dumps) == 1:
        raise failed[0]
    report = merged(each.report for each in judged.values())
    if compares:
        found = [
            msgspec.structs.replace(reported(finding, name), since=rfc3339(reading.choice.now))
            for name, finding in duplicates({name: each.machines for name, each in judged.items()})
        ]
        report = merged((report, reading.choice.of(Report(0, found, [], [], []))))
    return report, {name: each.read for name, each in judged.items()}


def _judge(dump: Dump, reading: Reading, compares: bool) -> _Judged:
    with progress_line(dump.name) as progress:
        engine, tally = asyncio.run(
            read_dump(
                dump.path,
                reading.choice.now,
                reading.config,
                complete=reading.complete,
                progress=progress,
                also=READS if compares else (),
            )
        )
    report = reading.choice.of(take(engine, cluster=dump.name))
    if not compares:
        return _Judged(report, f"read {tally}")
    report.unknown.extend(unknowns(dump.name, engine.cluster))
    return _Judged(report, f"read {tally}", tuple(machines(engine.cluster)))


def _unreadable(dump: Dump, error: DumpError, now: float) -> Report:
    odd = UndecodableReport(FILE, "", dump.path, "", str(error), rfc3339(now), dump.name)
    return Report(0, [], [], [], [odd])
