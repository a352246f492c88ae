"""What each write does to its object, as a unified diff of YAML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from typing import Any

from exporter.cli.output.text.structured import yaml_of
from exporter.cli.output.text.terminal import one_line

from ..confirm.confirm import Confirmed
from ..plan.outcome import before_and_after, shareable
from ..plan.plan import Plan
from ..show.plans import Repair
from .plan_text import heading, reservations

_CONTEXT = 3


def diffs(plans: Iterable[tuple[Repair, Confirmed | None]]) -> str:
    """Of all plans, each after comments that name it; of a finding without a plan why there is none."""
    parts = ["".join(f"{one_line(line)}\n" for line in _lines(*each)) for each in plans]
    return "\n".join(parts) or "# There is nothing to repair.\n"


def _lines(repair: Repair, made: Confirmed | None) -> Iterator[str]:
    yield f"# {heading(repair)}"
    if made is not None:
        yield f"# plan {repair.hash}: {repair.effect}"  # the write itself may say what is withheld
    yield from (f"# {name}: {text}" for name, text in reservations(repair))
    if made is not None:
        yield from _diff(made.plan, made.whole)


def _diff(plan: Plan, whole: Mapping[str, Any]) -> Iterator[str]:
    try:
        before, after = before_and_after(plan.step, whole)
    except ValueError as error:
        yield f"# no diff: {error}"
        return
    now, then = (f"{plan.target} {word}" if of else "/dev/null" for word, of in (("now", before), ("then", after)))
    lines = list(unified_diff(_yaml(before), _yaml(after), now, then, n=_CONTEXT, lineterm=""))
    if not lines and before != after:
        yield "# what it changes is not shown: it may be a secret"
    yield from lines


def _yaml(whole: Mapping[str, Any] | None) -> list[str]:
    return yaml_of(shareable(whole)).splitlines() if whole is not None else []
