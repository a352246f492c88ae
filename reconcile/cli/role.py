"""`steward reconcile role`: the permissions that a configuration needs, as manifests."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from exporter.checks import all_checks
from exporter.cli.terminal import say

from ..manifests import in_lines
from ..permissions import NAME, ServiceAccount, needed
from ..remediations import all_remediations
from .desk import configured

__all__ = ["add"]


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "role",
        help="print the roles that a configuration needs",
        description="Prints the roles and bindings for exactly what a configuration enables, for `kubectl apply -f -`. "
        "What was bound for an earlier one stays bound: kubectl get clusterrolebindings,rolebindings -A "
        f"-l app.kubernetes.io/name={NAME}",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="the sidecar's configuration; default: plan mode")
    parser.add_argument("-n", "--namespace", required=True, metavar="NAME", help="of the ServiceAccount")
    parser.add_argument("--service-account", default=NAME, metavar="NAME", help=f"default: {NAME}")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    config, _ = configured(arguments)
    account = ServiceAccount(arguments.namespace, arguments.service_account)
    manifests = needed(config, all_remediations(), all_checks(), account)
    say(in_lines(manifests))
    return 0
