"""How commands and options are described: as the field does it, and short enough to be read."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from exporter.cli.options import subcommands
from exporter.cli.parsing import steward

_LONGEST = 60  # characters of what a list of commands says of one
_VERBS = (
    *(
        "Acknowledge",
        "Approve",
        "Carry",
        "Compare",
        "Create",
        "Explain",
        "Generate",
        "List",
        "Pause",
        "Plan",
        "Predict",
    ),
    *("Print", "Render", "Resume", "Run", "Show", "Undo", "Validate"),
)
_OF_OLD = re.compile(r"\bdefault: \S+;|; default|\bwho(ever)?\b|\bnobody\b|;")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for each in subcommands(parser).values():
        yield from parsers(each)


def test_each_command_is_said_by_a_verb_in_a_few_words() -> None:
    said = {
        each.dest: each.help or ""
        for parser in parsers(steward())
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for each in action._get_subactions()
    }
    assert len(said) > 30
    wrong = {
        name: text
        for name, text in said.items()
        if len(text) > _LONGEST
        or text.split()[0].strip(",") not in _VERBS
        or text.endswith(".")
        or _OF_OLD.search(text)
    }
    assert wrong == {}


def test_each_argument_is_said_by_what_it_is_and_what_it_is_without() -> None:
    wrong = {
        f"{parser.prog} {action.option_strings or action.dest}": action.help
        for parser in parsers(steward())
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction)
        if not action.help or not re.match("[A-Z]", action.help) or _OF_OLD.search(action.help)
    }
    assert wrong == {}
