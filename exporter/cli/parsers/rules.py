"""What `steward rules` is called with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

# Those of exporter.rules, which reads every alert to be imported; a test compares.
FORMATS = (
    "prometheus",
    "prometheusrule",
    "openshift-user",
    "mimir",
    "remote-write",
    "remote-write-raw",
    "acm",
    "alertmanager",
    "alertmanagerconfig",
    "openshift-user-alertmanagerconfig",
    "alertmanager-templates",
)
KEYS = (
    "job",
    "runbookUrl",
    "pageUrl",
    "namespace",
    "hold",
    "forget",
    "objects",
    "clusters",
    "presence",
    "pool.warning",
    "pool.full",
    "certificate.days",
    "kubevirt",
    "cluster",
    "slo.freshness",
    "slo.delay",
    "slo.coverage",
    "slo.scrape",
)


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
        " openshift-user-alertmanagerconfig: that for the alerts of openshift-user; alertmanager-templates: the texts"
        " of notifications.",
        epilog=f"Values: {', '.join(KEYS)} and severity.ALERT.",
    )
    how = f"default: prometheus; one of {', '.join(FORMATS)}"
    render.add_argument("--format", choices=FORMATS, default="prometheus", metavar="FORMAT", help=how)
    render.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a value; repeat it for more")
    render.add_argument("--output", type=Path, metavar="DIRECTORY", help="write the files there")
    render.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.rules import run as act  # what only this command needs

    return act(arguments)
