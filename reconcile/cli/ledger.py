"""`steward reconcile ledger`: what was written, and what came of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import msgspec

from exporter.cli.structured import json_of, yaml_of
from exporter.cli.terminal import complain, one_line, say

from ..board import sentence
from ..ledger import Entry, Event, LedgerError, verify
from ..moments import moment
from ..plan import Delete
from .writing import add_ledger_option, directory_of, entries_of, taking_back

__all__ = ["add"]

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


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "ledger",
        help="list what was written, or show one attempt",
        description="Lists the attempts; of one it shows all entries, and what brings back an object that was deleted.",
    )
    parser.add_argument("attempt", nargs="?", metavar="ATTEMPT")
    parser.add_argument("--verify", action="store_true", help="check the checksums of all entries")
    parser.add_argument(
        "--object", action="store_true", help="print the object as it was before the attempt, to be created again"
    )
    parser.add_argument("-o", "--output", choices=("table", "json", "yaml"), default="table", help="default: table")
    add_ledger_option(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    directory = directory_of(arguments, None)
    try:
        if arguments.verify:
            wrong = verify(directory)
            say("".join(f"{each}\n" for each in wrong) or "The ledger is complete and unaltered.\n")
            return 1 if wrong else 0
        entries = entries_of(directory)
    except LedgerError as error:
        complain(str(error))
        return 2
    if not arguments.attempt:
        say(_structured(entries, arguments.output) or _list(entries), arguments.output)
        return 0
    own = [each for each in entries if arguments.attempt in (each.attempt, each.undoes)]
    if not own:
        complain(f"the ledger has no attempt {arguments.attempt}; without it all are listed")
        return 2
    if arguments.object:
        say(yaml_of(_created_again(own[0].whole or {})), "yaml")
        return 0
    say(_structured(own, arguments.output) or _one(own, arguments.ledger), arguments.output)
    return 0


def _structured(entries: list[Entry], output: str) -> str:
    plain = [msgspec.to_builtins(each) for each in entries]
    return json_of(plain) if output == "json" else yaml_of(plain) if output == "yaml" else ""


def _list(entries: list[Entry]) -> str:
    ends: dict[str, str] = {}
    for entry in entries:
        if entry.event is not Event.INTENDED and entry.attempt:
            ends[entry.attempt] = f"{entry.event}" if entry.happened is None else _resolved(entry)
    undone = {entry.undoes: "taken back" for entry in entries if entry.undoes and ends.get(entry.attempt) == "done"}
    lines = [
        f"{moment(each.at)}  {each.attempt}  {(undone | {}).get(each.attempt) or ends.get(each.attempt, 'no end'):<12}"
        f"  {each.plan.remediation}  {sentence(each.plan)}"
        for each in entries
        if each.event is Event.INTENDED and each.plan is not None
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
    if intended.plan is not None and isinstance(intended.plan.step, Delete):
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
