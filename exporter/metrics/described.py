"""Every metric family of the exporter by its name, with its labels and what it means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..checks import all_checks
from ..counts import all_states
from ..findings.check import PER_FLEET
from . import exposition
from .exposition import LABELS
from .telemetry import METRICS, PREFIX


class DescribedFamily(NamedTuple):
    """`of` is the section of docs/metrics.md that has it."""

    name: str
    labels: tuple[str, ...]
    help: str
    of: str


def families() -> dict[str, DescribedFamily]:
    return {each.name: each for each in _families()}


def _families() -> Iterator[DescribedFamily]:
    for check in all_checks():
        if check.scope is not PER_FLEET:  # Prometheus finds it in states
            for reason in check.reasons.values():
                yield DescribedFamily(reason.family.name, tuple(LABELS), reason.family.help, "findings")
    yield DescribedFamily(exposition.NAME, tuple(exposition.CAUSE_LABELS), exposition.HELP, "causes")
    for state in all_states():
        yield from (DescribedFamily(each.name, tuple(each.labels), each.help, "states") for each in state.gauges)
    for name, each in METRICS.items():
        total = "_total" if each.type == "counter" else ""
        yield DescribedFamily(f"{PREFIX}{name}{total}", tuple(each.labels), each.help, "the-steward-itself")
