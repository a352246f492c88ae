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
from .options import add_ledger_option, add_limit_option, add_options, add_writing_options


def _apply(commands: Any) -> None:
    parser = commands.add_parser(
        "apply",
        help="carry out one plan now, or several of one remediation",
        description="Confirms a finding on fresh reads, shows the plan, asks, and writes with your permissions. With "
        "--remediation and no fingerprint: the first plans of that one, in the order of their causes, until one fails.",
    )
    parser.add_argument("fingerprint", nargs="?", metavar="FINGERPRINT", help="of the finding; its first digits do")
    parser.add_argument("--remediation", metavar="ID", help="which one, where there are several")
    several = parser.add_argument_group("several plans of one remediation")
    where = several.add_mutually_exclusive_group()
    where.add_argument("-n", "--namespace", metavar="NAME", help="of findings in this namespace")
    where.add_argument("-A", "--all-namespaces", action="store_true", help="of findings anywhere")
    add_limit_option(several, "at most so many plans")
    parser.add_argument("--plan", metavar="HASH", help="only if it is still this plan")
    add_writing_options(parser)
    parser.set_defaults(run=lazily("reconcile.cli.commands.apply"))


_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


def _duration(text: str) -> float:
    number, unit = text[:-1], text[-1:]
    if not number.isdecimal() or unit not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it as 30m, 1h or 1d")
    return int(number) * _UNITS[unit]


def _approve(commands: Any) -> None:
    parser = commands.add_parser(
        "approve",
        help="let the sidecar carry out one plan, or those of one cause",
        description="Confirms a finding, and annotates the object with the plan's hash, your name and an end. The "
        "sidecar carries it out where the remediation's mode is approve; `steward reconcile apply` needs no sidecar. "
        "Of a cause it shows the plans of the first objects, asks, and annotates each of them.",
    )
    parser.add_argument(
        "fingerprint", metavar="ID", help="fingerprint of a finding, or a cause's id; its first digits are enough"
    )
    parser.add_argument("--remediation", metavar="ID", help="which one, where there are several")
    add_limit_option(parser, "at most so many objects of a cause")
    parser.add_argument("--plan", metavar="HASH", help="only if it is still this plan")
    parser.add_argument("--for", dest="lasting", default=3600.0, type=_duration, metavar="TIME", help="default: 1h")
    add_writing_options(parser, yes="do not ask; of one finding nothing is asked")
    parser.set_defaults(run=lazily("reconcile.cli.commands.approve"))


def _clean(commands: Any) -> None:
    parser = commands.add_parser(
        "clean",
        help="list what repairs left in the cluster, or take it away",
        description="Lists what repairs left on objects for themselves, and changes nothing: annotations, guards, and "
        "the label of migrations that are over. With --all, --guards or --requests it shows what goes, asks, and takes "
        "it away, each confirmed on fresh reads. What repairs mended stays.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--all", action="store_true", help="all that is listed, before an uninstall; no sidecar may run")
    what.add_argument(
        "--guards", action="store_true", help="the guards of instancetypes and preferences alone; these are paused"
    )
    what.add_argument(
        "--requests",
        metavar="NODE",
        help="evacuation requests that name this node, which has to be uncordoned; stops if it is cordoned or "
        "tainted again, or a gate is closed",
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="with --guards: only of this namespace, and none of the cluster"
    )
    copy = Lost.COPY.value
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=(copy,),
        metavar="LOSS",
        help=f"with --guards: {copy}, to give up what VMs without a copy depend on, where its deletion waits",
    )
    add_writing_options(parser)
    parser.set_defaults(run=lazily("reconcile.cli.commands.clean"))


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def _ledger(commands: Any) -> None:
    parser = commands.add_parser(
        "ledger",
        help="list what was written, or show one attempt",
        description="Lists the attempts, the newest first; of one it shows all entries, and what brings back an object "
        "that was deleted.",
    )
    parser.add_argument("attempt", nargs="?", metavar="ATTEMPT")
    parser.add_argument(
        "--since", default="", metavar="TIME", help="nothing older: 7d for a week ago, or as in 2026-07-01T18:00:00Z"
    )
    parser.add_argument(
        "--limit", type=_count, metavar="N", help="at most so many; default: 50 attempts, all days and causes"
    )
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument(
        "--daily", action="store_true", help="count by day and remediation, in UTC; default: of the last 14 days"
    )
    shapes.add_argument(
        "--summary",
        action="store_true",
        help="count by remediation, with the canaries that stopped, who resumed them, what failed and why; default: of "
        "the last 14 days",
    )
    shapes.add_argument("--by-cause", action="store_true", help="one row for all that one act would mend")
    parser.add_argument(
        "--shadow", action="store_true", help="what mode shadow left out, and whether its finding is there still"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="prove that no entry was altered or taken out; with --lease or --kubeconfig also that none is missing",
    )
    parser.add_argument("--lease", action="store_true", help="compare with the sidecar's Lease and the cluster, too")
    parser.add_argument(
        "--accept",
        metavar="WORD",
        help="let the sidecar go on with a ledger that its Lease does not fit; its log has the word",
    )
    parser.add_argument(
        "--object", action="store_true", help="print the object as it was before the attempt, to be created again"
    )
    parser.add_argument("-o", "--output", choices=("table", "json", "yaml"), default="table", help="default: table")
    add_ledger_option(parser)
    add_options(parser, findings=False)
    parser.set_defaults(run=lazily("reconcile.cli.commands.ledger"))


def _pausing(commands: Any) -> None:
    for name, text, story in (
        (
            "pause",
            "stop repairs",
            f"Sets annotation {PAUSED} on the Lease, on a Namespace or on an object. It holds over restarts.",
        ),
        (
            "resume",
            "let repairs go on",
            f"Takes annotation {PAUSED} off, and sets {RESUMED}: what was reverted before does not count any more.",
        ),
    ):
        parser = commands.add_parser(
            name, help=f"{text} of everything, of a namespace, or of one object", description=story
        )
        parser.add_argument("kind", nargs="?", metavar="KIND", help="such as VirtualMachine; default: everything")
        parser.add_argument("name", nargs="?", metavar="NAMESPACE/NAME")
        parser.add_argument("-n", "--namespace", metavar="NAME", help="all objects of this namespace")
        if name == "resume":
            parser.add_argument("--remediation", metavar="ID", help="one whose canary stopped, instead of a pause")
        parser.add_argument("--because", default="", metavar="TEXT", help="why, for whoever finds it")
        add_options(parser, findings=False)
        parser.set_defaults(run=lazily("reconcile.cli.commands.pausing"), verb=name)


def _plan(commands: Any) -> None:
    parser = commands.add_parser(
        "plan",
        help="show what would be done about findings; writes nothing",
        description="Confirms findings on fresh reads and shows the writes that would repair them. Nothing is written.",
    )
    parser.add_argument("fingerprints", nargs="*", metavar="FINGERPRINT", help="of findings, or ids of causes")
    parser.add_argument("--remediation", metavar="ID", help="only plans of this remediation")
    parser.add_argument("-n", "--namespace", metavar="NAME", help="only findings of this namespace")
    parser.add_argument(
        "--dry-run", action="store_true", help="also ask the API server and its webhooks, by a dry run of each write"
    )
    parser.add_argument("--by-cause", action="store_true", help="one row for all that one act would mend")
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "wide", "json", "yaml", "diff", "kustomize"),
        default="table",
        metavar="FORMAT",
        help="default: table; wide: one row for each, with what is in its way; json; yaml; diff: what each write does "
        "to its object; kustomize: patches for what is in Git",
    )
    parser.add_argument("--directory", type=Path, metavar="DIR", help="with -o kustomize: write a component there")
    add_ledger_option(parser)
    add_options(parser)
    parser.set_defaults(run=lazily("reconcile.cli.commands.plan"))


def _role(commands: Any) -> None:
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
    parser.set_defaults(run=lazily("reconcile.cli.commands.role"))


def _run(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="the sidecar: plan repairs, and carry out what is approved",
        description="Follows the findings of an exporter, plans repairs, and carries out those whose mode says so. "
        "The configuration file is reloaded when it changes, and on SIGHUP.",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML; docs/repairs.md has every key")
    parser.add_argument("--kubeconfig", metavar="FILE", help="default: as of kubectl, else the pod's ServiceAccount")
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig; default: the current one")
    add_insecure_option(parser)
    parser.set_defaults(run=lazily("reconcile.cli.commands.run"), logs=True)


def _undo(commands: Any) -> None:
    parser = commands.add_parser(
        "undo",
        help="take one write back",
        description="Confirms on fresh reads that a write can be taken back, shows what that comes to, asks, and puts "
        "back what a patch changed or deletes what was created. The object is paused. Of what was deleted it says how "
        "to create it again.",
    )
    parser.add_argument("attempt", metavar="ATTEMPT", help="as `steward reconcile ledger` lists it")
    words = ", ".join(Lost)
    parser.add_argument(
        "--accept", action="append", default=[], metavar="LOSS", help=f"give up what would be lost: {words}"
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
