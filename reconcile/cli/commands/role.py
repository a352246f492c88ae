"""`steward reconcile role`: the permissions that a configuration needs, as manifests."""

from __future__ import annotations

import argparse

from exporter.checks import all_checks
from exporter.cli.output.text.terminal import say

from ...permissions.accounts import ServiceAccount
from ...permissions.manifests import in_lines
from ...permissions.rbac import guarded, needed
from ...plan.remediations import all_remediations
from ..session import configured


def run(arguments: argparse.Namespace) -> int:
    config, _ = configured(arguments)
    account = ServiceAccount(arguments.namespace, arguments.service_account)
    remediations = all_remediations()
    policy = () if arguments.no_policy else guarded(config, remediations, account)
    say(in_lines([*policy, *needed(config, remediations, all_checks(), account)]))
    return 0
