"""`steward reconcile ledger`: what was written, and what came of it."""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import msgspec

from exporter.cli.output.text.screen import width
from exporter.cli.output.text.structured import json_of, written, yaml_of
from exporter.cli.output.text.terminal import complain, one_line, say

from ...ledger import Entry, Event, LedgerError, prove
from ...plan.annotations import said_by
from ...plan.plan import Delete
from ...plan.time_text import moment
from ...show.plans import sentence
from ...show.tallies import Span, by_cause, by_day
from ..fitting import readable, rows_whole
from ..ledger_pages import entries_about, newest, rows, summary_of
from ..ledger_proof import accept, both, compare
from ..ledger_tables import of_attempts, of_causes, of_days, of_shadowed
from ..session import finish
from ..times import given
from ..writing import read_directory, taking_back

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
            say(of_attempts(rows(directory, since, arguments.limit or _LISTED), width()))
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
    say(_structured(own, arguments.output) or _one(own, arguments), arguments.output)
    return 0


def _accounted(arguments: argparse.Namespace, directory: Path, since: float) -> str:
    """By day, by cause, or one by one. Raises LedgerError."""
    deeds, counts, _ = summary_of(directory)
    output, limit = arguments.output, arguments.limit
    if arguments.daily:
        span = Span(since or time.time() - _DAYS * _DAY, math.inf)
        return written(by_day(deeds, counts, span)[:limit], output, lambda found: of_days(found, width()))
    own = [each for each in deeds if each.shadow is arguments.shadow]
    if arguments.by_cause:
        return written(by_cause(own, Span(since, math.inf))[:limit], output, lambda found: of_causes(found, width()))
    newest_first = [each for each in reversed(own) if each.at >= since][: limit or _LISTED]
    return written(newest_first, output, lambda found: of_shadowed(found, width()))


def _structured(entries: list[Entry], output: str) -> str:
    plain = [msgspec.to_builtins(each) for each in entries]
    return json_of(plain) if output == "json" else yaml_of(plain) if output == "yaml" else ""


def _one(entries: list[Entry], arguments: argparse.Namespace) -> str:
    rows = [(moment(each.at), str(each.event), each.mode, _by(each), _what(each)) for each in entries]
    intended, lines = entries[0], list[str]()
    deleted = intended.event is Event.INTENDED and intended.plan is not None and isinstance(intended.plan.step, Delete)
    if intended.plan is not None and deleted:
        lines.append(taking_back(intended.plan, intended.attempt, arguments.ledger))
        if intended.plan.loses:
            lines.append(f"Gone for good: {', '.join(intended.plan.loses)}")
    more = "".join(f"{one_line(line)}\n" for line in lines)
    return rows_whole(("AT", "EVENT", "MODE", "BY", "WHAT"), rows, width()) + readable(more, arguments)


def _by(entry: Entry) -> str:
    """Who asked; a name out of an annotation that no policy held to its author is as given."""
    of_annotation = entry.mode == "approve" or entry.event in (Event.RESUMED, Event.ACCEPTED)
    return said_by(entry.by, authorized=entry.authorized or not of_annotation)


def _what(entry: Entry) -> str:
    if entry.plan is not None:
        return f"{sentence(entry.plan)}{_accepted(entry)}"
    return entry.why or ("" if entry.happened is None else _resolved(entry))


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
