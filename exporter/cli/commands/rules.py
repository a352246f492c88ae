"""`steward rules render`: the alert pack in the format of what evaluates it, and where its alerts go."""

from __future__ import annotations

import argparse
from dataclasses import replace

from ...rules import Alerting, Values, rule_files
from ...rules.formats import document, files
from ..output.text.terminal import complain, say


def run(arguments: argparse.Namespace) -> int:
    try:
        values = values_of(arguments.format, arguments.set)
    except ValueError as error:
        complain(f"{error}")
        return 2
    if arguments.output is None:
        say(document(arguments.format, rule_files(values), values))
        return 0
    rendered = files(arguments.format, rule_files(values), values)
    try:
        arguments.output.mkdir(parents=True, exist_ok=True)
        for name, text in rendered.items():
            (arguments.output / name).write_text(text, encoding="utf-8")
    except OSError as error:
        complain(f"cannot write the rules to {arguments.output}: {error.strerror or error}")
        return 2
    return 0


def values_of(format_name: str, settings: list[str]) -> Values:
    """Raises ValueError, one sentence."""
    names = {rule.alert for group in rule_files(Values()) for rule in group.rules if isinstance(rule, Alerting)}
    return replace(Values().with_set(settings, names), exported=format_name.startswith("openshift-user"))
