"""`steward rules render`: the alert pack in the format of what evaluates it, and where its alerts go."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...rules import Alerting, Values, rule_files
from ...rules.formats import FORMATS, document, files
from ...rules.values import KEYS
from ..output.terminal import complain, say

__all__ = ["add"]


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "rules",
        help="the alert rules, for your Prometheus and your Alertmanager",
        description="Prints the alert rules in the format of what evaluates them, and the routes of their alerts.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    render = verbs.add_parser(
        "render",
        help="print the rules, or the routes of alerts",
        description="Prints the recording and alerting rules. prometheus: files for rule_files; prometheusrule: objects"
        " for Prometheus Operator; openshift-user: objects for user workload monitoring of OpenShift, whose Prometheus"
        " enforces its own label namespace; mimir: files for mimirtool. For a hub of several clusters: remote-write,"
        " what it keeps of clusters that evaluate the rules; remote-write-raw, what it evaluates for those that do not;"
        " acm, the allow-list of Advanced Cluster Management. Or the routes and inhibitions of alerts."
        " alertmanager: an example configuration; alertmanagerconfig: an object for Prometheus Operator;"
        " openshift-user-alertmanagerconfig: that for the alerts of openshift-user.",
        epilog=f"Values: {', '.join(KEYS)} and severity.ALERT.",
    )
    render.add_argument("--format", choices=FORMATS, default="prometheus", help="default: prometheus")
    render.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a value; repeat it for more")
    render.add_argument("--output", type=Path, metavar="DIRECTORY", help="write the files there")
    render.set_defaults(run=run)


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
