"""Plans for several findings: which there are, one an object, as many as are wanted at once.

Texts are as wide as the terminal, and nothing is cut off them: what has no room is broken between words. Where they go
elsewhere they are whole, a line each.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.layout import paragraph
from exporter.cli.output.text.screen import width
from exporter.cli.output.text.terminal import one_line
from exporter.findings.severity import Severity

from ..carry_out.confirm import Confirmed
from ..carry_out.finding_source import Observed
from ..config.settings import Mode
from ..decide.repair import Found, Repair
from ..plan.plan import Refused
from ..plan.remediation import Remediation
from .session import Session


@dataclass(frozen=True)
class Chosen:
    """A finding, and the plan for it as it is shown."""

    found: Found
    made: Confirmed
    repair: Repair


@dataclass
class Listed:
    """The plans in their order. `refused` counts what has none, by preconditions; `proposed` what is for somebody else
    to write, `same` further plans for the same objects, `skipped` what needs none, and `left` what was not looked at.
    """

    chosen: list[Chosen] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    proposed: int = 0
    same: int = 0
    skipped: int = 0
    left: int = 0

    def others(self, selection: str) -> str:
        """What is not among the plans, with the command that shows it by the same selection; empty for nothing."""
        why = ", ".join(f"{count} {name}" for name, count in sorted(self.refused.items()))
        parts = (
            (self.refused.total(), f"refused ({why})"),
            (self.proposed, "for another owner to write"),
            (self.same, "for an object with a plan above"),
            (self.skipped, "approved already"),
            (self.left, "not planned (--limit)"),
        )
        listed = "; ".join(f"{count:,} {what}" for count, what in parts if count)
        return f"Not included: {listed}. To list them: steward reconcile plan {selection}" if listed else ""


async def listed(
    at: Session,
    findings: Iterable[Found],
    remediation: Remediation,
    mode: Mode,
    limit: int,
    needless: Callable[[Confirmed], bool] = lambda _: False,
) -> Listed:
    """The first plans for findings, in their order, each on fresh reads; those that are `needless` are only counted."""
    plans, objects = Listed(), set[str]()
    for found in findings:
        if len(plans.chosen) >= limit:
            plans.left += 1
            continue
        made = await at.planned(found, remediation)
        if isinstance(made, Refused):
            plans.refused[made.precondition] += 1
        elif made.plan.proposal is not None:
            plans.proposed += 1
        elif str(made.plan.bound_to) in objects:
            plans.same += 1
        elif needless(made):
            plans.skipped += 1
        else:
            objects.add(str(made.plan.bound_to))
            plans.chosen.append(Chosen(found, made, repair_of(found, remediation, made, mode)))
    return plans


def repair_of(found: Found, remediation: Remediation, made: Confirmed | Refused, mode: Mode) -> Repair:
    repair = Repair.of(found, remediation.id, mode, time.time())
    return repair.unplanned(made) if isinstance(made, Refused) else repair.planned(made.plan)


# Findings by their causes: in the order of page and command line, and those of one cause. Pure.

_RANKS = {each.value: each.rank for each in Severity}


def in_order(findings: Iterable[Found]) -> list[Found]:
    """The findings of the worst cause first, then those of the cause with most VMs, then of the oldest, as
    `exporter.questions.causes.cause_order` has them; within a cause by namespace and name.
    """
    causes: dict[str, list[Found]] = {}
    for each in findings:
        causes.setdefault(each.cause or each.hint.fingerprint, []).append(each)
    ordered = sorted(causes, key=lambda cause: (*_standing(causes[cause]), cause))
    return [found for cause in ordered for found in sorted(causes[cause], key=_place)]


def _standing(findings: list[Found]) -> tuple[int, int, float]:
    worst = max(_RANKS.get(each.severity, -1) for each in findings)
    vms = len({(each.namespace, each.vm) for each in findings if each.vm})
    return -worst, -vms, min(math.inf if each.since is None else each.since for each in findings)


def _place(found: Found) -> tuple[str, str, str]:
    return found.namespace, found.hint.subject.name, found.hint.fingerprint


def of_cause(observed: Observed, cause: str) -> list[Found]:
    """The findings of the cause whose id begins so; none where no cause's does.

    Raises ValueError where several do, or a finding's fingerprint begins so too.
    """
    found = {each.cause for each in observed.findings if cause and each.cause.startswith(cause)}
    same = [each for each in observed.findings if each.hint.fingerprint.startswith(cause)] if found else []
    if len(found) + len(same) > 1:
        causes, findings = (
            f"{count} {what}{'' if count == 1 else 's'}"
            for count, what in ((len(found), "cause"), (len(same), "finding"))
        )
        what = f"{causes} and {findings} have IDs"
        raise ValueError(f"{what} that begin with {cause}. Give more digits")
    return in_order(each for each in observed.findings if each.cause in found)


_LABELLED = re.compile(r"  (?!run )[a-z]+ +(?=\S)")  # a command that is to be copied stays in one line
_COMMAND = re.compile(r"(?:steward reconcile|kubectl) [a-z-](?:[^;,`\n]*[^;,`\n\s.])?")
_JOINT = "\u2423"  # in place of a space of a command
_MARGIN = 4


def readable(text: str, arguments: argparse.Namespace) -> str:
    """A text with its commands for the cluster that was asked, as wide as the terminal."""
    return fitted(aim_of(arguments).command(text), width())


def fitted(text: str, columns: int | None) -> str:
    """Sentences, and rows of a label and a sentence, are broken; manifests, differences and commands are not."""
    if columns is None:
        return text
    return "".join(_fitted(line, columns) for line in text.splitlines())


def indented(text: str, columns: int | None) -> str:
    """A row of a list under its title."""
    return f"  {text}\n" if columns is None else _broken(text, "  ", "      ", columns)


def _fitted(line: str, columns: int) -> str:
    label = _LABELLED.match(line)
    if len(line) <= columns or (line[0] == " " and label is None):
        return f"{line}\n"
    if label is None:
        return _broken(line, "", "  ", columns)
    return _broken(line[label.end() :], label[0], " " * label.end(), columns)


def rows_whole(head: Sequence[str], rows: Sequence[Sequence[str]], columns: int | None) -> str:
    """Left-aligned columns. Where a row is wider than the terminal, as many of its cells as every row has room for
    stand beside each other, and the others under them.
    """
    whole = [tuple(head), *(tuple(map(one_line, row)) for row in rows)]
    widths = [max(len(row[at]) for row in whole) for at in range(len(head))]
    beside = len(head) if columns is None else max(1, sum(end <= columns for end in _ends(widths)))
    return "".join(_row(row, widths, min(beside, len(head) - 1), columns) for row in whole)


def _ends(widths: Sequence[int]) -> Iterator[int]:
    """Where each column ends."""
    end = -2
    for size in widths:
        end += 2 + size
        yield end


def _row(row: Sequence[str], widths: Sequence[int], beside: int, columns: int | None) -> str:
    padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
    line = "  ".join((*padded[:-1], row[-1])).rstrip()
    if columns is None or len(line) <= columns:
        return f"{line}\n"
    margin, under = " " * _MARGIN, "  ".join(cell for cell in row[beside:] if cell)
    return f"{'  '.join(padded[:beside]).rstrip()}\n{_broken(under, margin, margin, columns)}"


def _broken(text: str, first: str, rest: str, columns: int) -> str:
    """Between words, and not within a command."""
    joined = _COMMAND.sub(lambda found: found[0].replace(" ", _JOINT), text)
    return paragraph(joined, first, rest, columns).replace(_JOINT, " ")
