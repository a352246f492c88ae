"""The options that commands share which plan, write and list repairs."""

from __future__ import annotations

import argparse
from pathlib import Path

AT_ONCE = 5
_MOST = 100  # plans that somebody looks at before saying yes


def add_options(parser: argparse.ArgumentParser, *, findings: bool = True) -> None:
    """The options of commands that ask a cluster; with `findings`, also of those that need the findings."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="Configuration of the sidecar, see docs/repairs.md")
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--kubeconfig", metavar="FILE", help="Kubeconfig file (default as of kubectl, then the pod's ServiceAccount)"
    )
    group.add_argument("--context", metavar="NAME", help="Context of the kubeconfig (default the current context)")
    if findings:
        group.add_argument(
            "--exporter",
            metavar="URL",
            help="URL of a running exporter to take findings from (default: evaluate the cluster)",
        )
        for option, what in (
            ("--token-file", "File with a bearer token for the exporter (default source.tokenFile of --config)"),
            ("--ca-file", "File with CA certificates to trust for the exporter (default source.caFile of --config)"),
        ):
            group.add_argument(option, type=Path, metavar="FILE", help=what)
        group.add_argument(
            "--server-name",
            metavar="NAME",
            help="Name in the exporter's certificate (default source.serverName, then the host of the URL)",
        )
        group.add_argument(
            "--timeout",
            type=float,
            default=60.0,
            metavar="SECONDS",
            help="Time limit for reading the cluster, in seconds (default 60)",
        )


def add_writing_options(parser: argparse.ArgumentParser, *, findings: bool = True, yes: str = "Don't ask") -> None:
    """Those of commands that ask, write and record it; `yes` is what --yes does."""
    parser.add_argument("--yes", action="store_true", help=yes)
    add_ledger_option(parser)
    add_options(parser, findings=findings)


def add_ledger_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ledger",
        type=Path,
        metavar="DIRECTORY",
        help="Directory of the ledger (default ledger.directory of --config, then "
        "~/.local/state/kubevirt-steward/ledger)",
    )


def add_limit_option(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--limit", type=_limit, metavar="N", help=f"{what}, 1 to {_MOST} (default {AT_ONCE})")


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} isn't a number from 1 to {_MOST}")
    return int(text)
