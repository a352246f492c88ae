"""`steward reconcile ledger`: what was written, and what came of it."""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import msgspec

from exporter.cli.output.structured import json_of, written, yaml_of
from exporter.cli.output.terminal import complain, one_line, say

from ...ledger import Entry, Event, LedgerError, prove
from ...plan.plan import Delete
from ...plan.time_text import moment
from ...show.plans import sentence
from ...show.tallies import Span, by_cause, by_day
from ..ledger_pages import AttemptRow, entries_about, newest, rows, told_in
from ..ledger_proof import accept, both, compare
from ..ledger_tables import of_causes, of_days, of_shadowed
from ..next_commands import aimed
from ..session import finish
from ..times import given
from ..writing import read_directory, taking_back

__all__ = ["run"]

_LISTED = 50
_DAYS, _DAY = 14, 86_400.0
_OF_THE_SERVER = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "selfLink",
)


def run(arguments: argparse.Namespace) -> int:
    if arguments.accept:
        return finish(accept(arguments))
    if arguments.verify and (arguments.lease or arguments.kubeconfig or arguments.context):
        return finish(compare(arguments))
    try:
        directory = read_directory(arguments)
        return both(directory, prove(directory)) if arguments.verify else _listed(arguments, directory)
    except (LedgerError, ValueError) as error:
        complain(str(error))
        return 2


def _listed(arguments: argparse.Namespace, directory: Path) -> int:
    since = given("--since", arguments.since, time.time()) if arguments.since else 0.0
    if not arguments.attempt:
        if arguments.daily or arguments.by_cause or arguments.shadow:
            say(_accounted(arguments, directory, since), arguments.output)
            return 0
        if arguments.output == "table":
            say(_list(rows(directory, since, arguments.limit or _LISTED)))
        else:
            say(_structured(newest(directory, since, arguments.limit or _LISTED), arguments.output), arguments.output)
        return 0
    own = entries_about(directory, arguments.attempt)
    if not own:
        complain(f"the ledger has no attempt {arguments.attempt}; without it the newest are listed")
        return 2
    if arguments.object:
        say(yaml_of(_created_again(own[0].whole or {})), "yaml")
        return 0
    say(_structured(own, arguments.output) or aimed(_one(own, arguments.ledger), arguments), arguments.output)
    return 0


def _accounted(arguments: argparse.Namespace, directory: Path, since: float) -> str:
    """By day, by cause, or one by one. Raises LedgerError."""
    deeds, counts, _ = told_in(directory)
    output, limit = arguments.output, arguments.limit
    if arguments.daily:
        span = Span(since or time.time() - _DAYS * _DAY, math.inf)
        return written(by_day(deeds, counts, span)[:limit], output, of_days)
    own = [each for each in deeds if each.shadow is arguments.shadow]
    if arguments.by_cause:
        return written(by_cause(own, Span(since, math.inf))[:limit], output, of_causes)
    newest_first = [each for each in reversed(own) if each.at >= since][: limit or _LISTED]
    return written(newest_first, output, of_shadowed)


def _structured(entries: list[Entry], output: str) -> str:
    plain = [msgspec.to_builtins(each) for each in entries]
    return json_of(plain) if output == "json" else yaml_of(plain) if output == "yaml" else ""


def _list(found: list[AttemptRow]) -> str:
    lines = [
        f"{moment(each.at)}  {each.attempt}  {end:<12}  {each.plan.remediation}  {sentence(each.plan)}"
        for each, end in found
        if each.plan is not None
    ]
    return "".join(f"{one_line(line)}\n" for line in lines) or "Nothing was written.\n"


def _one(entries: list[Entry], directory: Path | None) -> str:
    lines = []
    for each in entries:
        what = (
            sentence(each.plan)
            if each.plan is not None
            else each.why or ("" if each.happened is None else _resolved(each))
        )
        lines.append(f"{moment(each.at)}  {each.event:<9}  {each.mode:<8} {each.by}  {what}{_accepted(each)}")
    intended = entries[0]
    deleted = intended.event is Event.INTENDED and intended.plan is not None and isinstance(intended.plan.step, Delete)
    if intended.plan is not None and deleted:
        lines.append(taking_back(intended.plan, intended.attempt, directory))
        if intended.plan.loses:
            lines.append(f"Gone for good: {', '.join(intended.plan.loses)}")
    return "".join(f"{one_line(line)}\n" for line in lines)


def _accepted(entry: Entry) -> str:
    """What a person gave up to take a write back, by its words and as it was shown."""
    if entry.plan is None or not entry.plan.accepted:
        return ""
    return f"; accepted as lost: {', '.join(entry.plan.accepted)} ({', '.join(entry.plan.loses)})"


def _resolved(entry: Entry) -> str:
    return "done" if entry.happened else "not written"


def _created_again(whole: dict[str, Any]) -> dict[str, Any]:
    """Without what the API server gives an object."""
    metadata = {name: each for name, each in (whole.get("metadata") or {}).items() if name not in _OF_THE_SERVER}
    return {**whole, "metadata": metadata}
