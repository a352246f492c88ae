"""`steward upgrade`: whether KubeVirt can be upgraded, and what to do before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...facts.naming import counted, kind_word, named
from ...questions.impact import READER
from ...questions.upgrade import QUESTION, ReleaseStep, Upgrade, exit_code, headline, workloads_said
from ..asking import CommandQuestion
from ..output.text.layout import grid, paragraph
from ..output.text.terminal import one_line

_SHOWN = 50  # rows of a terminal
_UNDER = "    "


def upgraded(found: Upgrade, columns: int | None) -> str:
    """`columns` of the terminal; None where it goes elsewhere."""
    parts = [_prose(headline(found), columns)]
    for each in found.obstacles:
        head = f"{each.reason + ': ' if each.reason else ''}{kind_word(each.subject.kind)} {each.subject.path}: "
        parts[0] += _prose(f"{head}{each.message}", columns, "  - ", _UNDER) + _prose(
            each.next, columns, f"{_UNDER}=> "
        )
    for number, act in enumerate(found.acts, 1):
        whom = named([each.path for each in act.first], act.objects)
        head = f"Before {act.release}, for {counted(act.objects, kind_word(act.first[0].kind))} ({whom}): "
        parts[0] += _prose(f"{head}{act.next} ({act.reason})", columns, f"{number:3}. ", "     ")
    parts += _table(found, columns)
    parts.append("".join(_prose(each, columns) for each in (*map(_step, found.steps), *_workloads(found))))
    parts += [_prose(f"Known bug: {each}", columns) for each in found.bugs]
    parts += _unknown(found, columns)
    parts.append(_prose("Nothing was changed.", columns))
    return "\n".join(parts)


def _prose(text: str, columns: int | None, first: str = "", rest: str = "") -> str:
    return f"{first}{one_line(text)}\n" if columns is None else paragraph(text, first, rest or first, columns)


def _table(found: Upgrade, columns: int | None) -> Iterator[str]:
    shown = found.rows if columns is None else found.rows[:_SHOWN]
    rows = [
        (
            *(each.release, each.severity, each.reason, f"{kind_word(each.subject.kind)} {each.subject.path}"),
            *(each.when or "-", each.message),
        )
        for each in shown
    ]
    if rows:
        yield grid(("WITH", "SEVERITY", "REASON", "OBJECT", "WHEN", "WHAT"), rows, columns)
    if more := found.rows_in_all - len(shown):
        yield f"and {more:,} more: steward upgrade --to {found.to} -o json\n"


def _step(step: ReleaseStep) -> str:
    used = [each.name for each in step.gates if each.used]
    gates = f"{counted(len(step.gates), 'feature gate')} {'switches' if len(step.gates) == 1 else 'switch'}"
    gates += f" ({named([each.name for each in step.gates])})" if step.gates else ""
    whom = f", of which VMs use {named(used)}" if used else ""
    unruled = sum(1 for each in step.gates if not each.ruled)
    unknown = f"; who uses {unruled} of them is not known" if unruled else ""
    breaks = f"{counted(step.breaks, 'object')} {'breaks' if step.breaks == 1 else 'break'}"
    return f"{step.release}: {breaks}. {gates}{whom}{unknown}."


def _workloads(found: Upgrade) -> Iterator[str]:
    yield " ".join(workloads_said(found.workloads))
    if found.unstored:
        has = "has" if found.unstored == 1 else "have"
        yield f"{counted(found.unstored, 'VM')} {has} no firmware UUID in the spec: steward check --reason NotPersisted"
    elif found.unstored is None:
        yield "How many VMs have no firmware UUID in their spec is not known."


def _unknown(found: Upgrade, columns: int | None) -> Iterator[str]:
    if found.unknown:
        rows = [(each.check, each.partition or "everywhere", each.why) for each in found.unknown]
        yield f"Could not say:\n{grid(('CHECK', 'WHERE', 'WHY'), rows, columns)}"
        if (more := found.unknown_in_all - len(found.unknown)) > 0:
            yield f"and {more} more.\n"
    if found.unread:
        yield f"Not read, and may hold anything: {one_line(', '.join(each.name for each in found.unread))}.\n"


def _looks(_: Any) -> Mapping[str, Any]:
    return {"views": [READER]}


run = CommandQuestion(
    QUESTION,
    text=lambda found, _, columns, __: upgraded(found, columns),
    code=lambda found, in_time: exit_code(found, whole=in_time),
    looks=_looks,
).run
