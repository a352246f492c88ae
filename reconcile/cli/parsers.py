"""What the commands of `steward reconcile` are called with. Each start imports it, and nothing dear with it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exporter.cli.options import add_insecure_option, lazily

from ..permissions.accounts import NAME
from ..plan.annotations import PAUSED, RESUMED
from ..plan.lost import Lost

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


def _apply(commands: Any) -> None:
    parser = commands.add_parser(
        "apply",
        help="Carry out one plan, or several of one remediation",
        description="Confirms a finding on fresh reads, shows the plan, asks, and writes with your permissions. With "
        "--remediation and without a fingerprint it carries out the first plans of that remediation, in the order of "
        "their causes, until one fails.",
    )
    parser.add_argument("fingerprint", nargs="?", metavar="FINGERPRINT", help="ID of the finding, or its first digits")
    parser.add_argument("--remediation", metavar="ID", help="Remediation to use, if the finding has several")
    several = parser.add_argument_group("several plans of one remediation")
    where = several.add_mutually_exclusive_group()
    where.add_argument("-n", "--namespace", metavar="NAME", help="Carry out plans in this namespace")
    where.add_argument("-A", "--all-namespaces", action="store_true", help="Carry out plans in all namespaces")
    add_limit_option(several, "Number of plans to carry out at most")
    parser.add_argument("--plan", metavar="HASH", help="Carry it out only if the plan still has this hash")
    add_writing_options(parser)
    parser.set_defaults(run=lazily("reconcile.cli.commands.apply"))


_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


def _duration(text: str) -> float:
    number, unit = text[:-1], text[-1:]
    if not number.isdecimal() or unit not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} isn't a duration. Write it as 30m, 1h or 1d")
    return int(number) * _UNITS[unit]


def _approve(commands: Any) -> None:
    parser = commands.add_parser(
        "approve",
        help="Approve one plan, or all plans of one cause",
        description="Confirms a finding, and annotates the object with the plan's hash, your name and an end. The "
        "sidecar carries the plan out if the mode of the remediation is approve. `steward reconcile apply` needs no "
        "sidecar. For a cause it shows the plans of the first objects, asks, and annotates each of them.",
    )
    parser.add_argument("fingerprint", metavar="ID", help="ID of a finding or cause, or its first digits")
    parser.add_argument("--remediation", metavar="ID", help="Remediation to use, if the finding has several")
    add_limit_option(parser, "Number of objects of a cause to approve at most")
    parser.add_argument("--plan", metavar="HASH", help="Approve only if the plan still has this hash")
    parser.add_argument(
        "--for",
        dest="lasting",
        default=3600.0,
        type=_duration,
        metavar="TIME",
        help="Duration of the approval (default 1h)",
    )
    add_writing_options(parser, yes="Don't ask. For one finding nothing is asked.")
    parser.set_defaults(run=lazily("reconcile.cli.commands.approve"))


def _clean(commands: Any) -> None:
    parser = commands.add_parser(
        "clean",
        help="List or remove what repairs left in the cluster",
        description="Lists what repairs left on objects for themselves, and changes nothing: annotations, guards, and "
        "the label of finished migrations. With --all, --guards or --requests it shows what it would remove, asks, and "
        "removes it, each confirmed on fresh reads. What repairs fixed remains.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--all",
        action="store_true",
        help="Remove all that is listed, before an uninstall. Refused while a sidecar runs.",
    )
    what.add_argument(
        "--guards", action="store_true", help="Remove the guards of instancetypes and preferences, and pause these"
    )
    what.add_argument(
        "--requests",
        metavar="NODE",
        help="Cancel leftover evacuation requests of this uncordoned node. Stops if the node is cordoned or tainted "
        "again, or a safety check blocks it.",
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="With --guards: remove guards in this namespace alone"
    )
    copy = Lost.COPY.value
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=(copy,),
        metavar="LOSS",
        help=f"With --guards: {copy} gives up an object that is being deleted and that VMs without a copy depend on",
    )
    add_writing_options(parser)
    parser.set_defaults(run=lazily("reconcile.cli.commands.clean"))


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} isn't a number of at least 1")
    return int(text)


def _ledger(commands: Any) -> None:
    parser = commands.add_parser(
        "ledger",
        help="List attempts, or show one",
        description="Lists the attempts, the newest first. For one attempt it prints all entries, and how to restore "
        "an object that was deleted.",
    )
    parser.add_argument("attempt", nargs="?", metavar="ATTEMPT", help="ID of the attempt to show (default: list all)")
    parser.add_argument(
        "--since", default="", metavar="TIME", help="Show nothing older than TIME, such as 7d or 2026-07-01T18:00:00Z"
    )
    parser.add_argument(
        "--limit", type=_count, metavar="N", help="Number of rows at most (default 50 attempts, all days and causes)"
    )
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument(
        "--daily", action="store_true", help="Count by day in UTC and remediation (default the last 14 days)"
    )
    shapes.add_argument(
        "--summary",
        action="store_true",
        help="Count by remediation, with stopped canaries and failed attempts (default the last 14 days)",
    )
    shapes.add_argument("--by-cause", action="store_true", help="Show one row for each cause")
    parser.add_argument(
        "--shadow",
        action="store_true",
        help="Show what mode shadow would have written, and whether the finding is still open",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="Prove that no entry was altered or removed. With --lease or --kubeconfig also that none is missing.",
    )
    parser.add_argument("--lease", action="store_true", help="Compare with the sidecar's Lease and the cluster")
    parser.add_argument(
        "--accept",
        metavar="WORD",
        help="Let the sidecar continue with a ledger that doesn't match its Lease. The log of the sidecar has the "
        "word.",
    )
    parser.add_argument(
        "--object", action="store_true", help="Print the object as it was before the attempt, for `kubectl create`"
    )
    parser.add_argument(
        "-o", "--output", choices=("table", "json", "yaml"), default="table", help="Output format (default table)"
    )
    add_ledger_option(parser)
    add_options(parser, findings=False)
    parser.set_defaults(run=lazily("reconcile.cli.commands.ledger"))


def _pausing(commands: Any) -> None:
    for name, text, story in (
        (
            "pause",
            "Pause repairs",
            f"Sets annotation {PAUSED} on the Lease, on a Namespace or on an object. It survives restarts.",
        ),
        (
            "resume",
            "Resume repairs",
            f"Removes annotation {PAUSED} and sets {RESUMED}: reverts before that time no longer count.",
        ),
    ):
        parser = commands.add_parser(name, help=f"{text} of everything, a namespace or an object", description=story)
        parser.add_argument(
            "kind", nargs="?", metavar="KIND", help="Kind of the object, such as VirtualMachine (default everything)"
        )
        parser.add_argument("name", nargs="?", metavar="NAMESPACE/NAME", help="Object")
        parser.add_argument("-n", "--namespace", metavar="NAME", help="Namespace with all of its objects")
        if name == "resume":
            parser.add_argument(
                "--remediation", metavar="ID", help="Remediation whose canary stopped, instead of a pause"
            )
        parser.add_argument("--because", default="", metavar="TEXT", help="Reason, shown with the pause")
        add_options(parser, findings=False)
        parser.set_defaults(run=lazily("reconcile.cli.commands.pausing"), verb=name)


def _plan(commands: Any) -> None:
    parser = commands.add_parser(
        "plan",
        help="Show the repairs of findings, without writing",
        description="Confirms findings on fresh reads and shows the writes that would repair them. Nothing is written.",
    )
    parser.add_argument(
        "fingerprints", nargs="*", metavar="FINGERPRINT", help="IDs of findings or causes (default all)"
    )
    parser.add_argument("--remediation", metavar="ID", help="Show only plans of this remediation")
    parser.add_argument("-n", "--namespace", metavar="NAME", help="Show only plans in this namespace")
    parser.add_argument("--dry-run", action="store_true", help="Also send each write to the API server as a dry run")
    parser.add_argument("--by-cause", action="store_true", help="Show one row for each cause")
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "wide", "json", "yaml", "diff", "kustomize"),
        default="table",
        metavar="FORMAT",
        help="Output format: table, wide (a row for each plan, with what blocks it), json, yaml, diff (what each "
        "write changes) or kustomize (patches for Git) (default table)",
    )
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="With -o kustomize: directory to write a component to"
    )
    add_ledger_option(parser)
    add_options(parser)
    parser.set_defaults(run=lazily("reconcile.cli.commands.plan"))


def _role(commands: Any) -> None:
    parser = commands.add_parser(
        "role",
        help="Print the roles and the policy that a configuration needs",
        description="Prints the roles and bindings that a configuration needs, and a ValidatingAdmissionPolicy by "
        "which the API server rejects all other writes, for `kubectl apply -f -`. Bindings of an earlier "
        "configuration remain. To list them: kubectl get clusterrolebindings,rolebindings -A -l "
        f"app.kubernetes.io/name={NAME}",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="Configuration of the sidecar (default mode plan)")
    parser.add_argument("-n", "--namespace", required=True, metavar="NAME", help="Namespace of the ServiceAccount")
    parser.add_argument(
        "--service-account", default=NAME, metavar="NAME", help=f"Name of the ServiceAccount (default {NAME})"
    )
    parser.add_argument("--no-policy", action="store_true", help="Leave out the policy, which needs Kubernetes 1.30")
    parser.set_defaults(run=lazily("reconcile.cli.commands.role"))


def _run(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="Run the sidecar",
        description="Follows the findings of an exporter, plans repairs, and carries out those whose mode says so. "
        "The configuration file is reloaded when it changes, and on SIGHUP.",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="Configuration file, see docs/repairs.md")
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="Kubeconfig file (default as of kubectl, then the pod's ServiceAccount)"
    )
    parser.add_argument("--context", metavar="NAME", help="Context of the kubeconfig (default the current context)")
    add_insecure_option(parser)
    parser.set_defaults(run=lazily("reconcile.cli.commands.run"), logs=True)


def _undo(commands: Any) -> None:
    parser = commands.add_parser(
        "undo",
        help="Undo one write",
        description="Confirms on fresh reads that a write can be undone, shows what that changes, asks, and restores "
        "what a patch changed or deletes what was created. The object is paused. For an object that was deleted it "
        "prints how to create it again.",
    )
    parser.add_argument("attempt", metavar="ATTEMPT", help="ID of the attempt, as `steward reconcile ledger` lists it")
    words = ", ".join(Lost)
    parser.add_argument(
        "--accept", action="append", default=[], metavar="LOSS", help=f"Accept a loss: {words}. Repeatable."
    )
    add_writing_options(parser, findings=False)
    parser.set_defaults(run=lazily("reconcile.cli.commands.undo"))


COMMANDS: tuple[Callable[[Any], None], ...] = (_apply, _approve, _clean, _ledger, _pausing, _plan, _role, _run, _undo)
"""Each adds its command to the subparsers that it is given; in the order of `--help`."""

GONE = {
    "call-off": "clean --requests NODE",
    "remove": "clean --all",
    "report": "ledger --summary",
    "unguard": "clean --guards",
}
"""What commands were called that there are no more, with what has taken their place."""
