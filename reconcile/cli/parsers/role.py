"""What `steward reconcile role` is called with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ...permissions.accounts import NAME


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "role",
        help="print the roles that a configuration needs, and a policy of the same",
        description="Prints the roles and bindings for exactly what a configuration enables, and the "
        "ValidatingAdmissionPolicy by which the API server refuses what no plan of it makes, for `kubectl apply -f -`. "
        "What was bound for an earlier one stays bound: kubectl get clusterrolebindings,rolebindings -A "
        f"-l app.kubernetes.io/name={NAME}",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="the sidecar's configuration; default: plan mode")
    parser.add_argument("-n", "--namespace", required=True, metavar="NAME", help="of the ServiceAccount")
    parser.add_argument("--service-account", default=NAME, metavar="NAME", help=f"default: {NAME}")
    parser.add_argument("--no-policy", action="store_true", help="without the policy, which needs Kubernetes 1.30")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.role import run as act  # what only this command needs

    return act(arguments)
