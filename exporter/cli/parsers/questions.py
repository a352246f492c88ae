"""What the commands are called with by which people ask: of a cluster, a dump, or a steward that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...findings.severity import Severity
from ..options import (
    FORMATS,
    add_config_option,
    add_exporter_options,
    add_filter_options,
    add_look_options,
    add_probe_options,
    labels,
    lazily,
)

_EXIT = (
    "Exit code: 0 nothing found, 1 findings of --fail-on or worse that nobody has acknowledged, 2 no complete answer "
    "to what was asked, or a probe contradicts or is refused."
)


def add_check(commands: Any) -> None:
    parser = commands.add_parser(
        "check",
        help="look once and print the findings",
        description="Looks once, and prints a line for each cause: what one act would mend. Its findings are under it.",
        epilog=_EXIT,
    )
    add_look_options(parser, several=True, formats=FORMATS)
    add_exporter_options(parser)
    add_filter_options(parser)
    add_probe_options(parser, "--probe-features", "that asks for a feature which is checked at admission")
    parser.add_argument(
        "--commands", action="store_true", help="with what to do about each cause, and the commands for it"
    )
    parser.add_argument(
        "--watch",
        "-w",
        action="store_true",
        help="go on looking, and print what comes, goes, gets worse or better, a line each; Ctrl-C ends it",
    )
    parser.add_argument(
        "--fail-on",
        choices=[each.value for each in Severity],
        default="info",
        help="the least severity of a finding with which the exit code is 1; default: info",
    )
    parser.set_defaults(run=lazily("exporter.cli.commands.check"))


_DIFF_EXIT = "Exit code: 0 no differences, 1 differences, 2 of some findings nobody can tell."


_OF = "a dump, as `steward check --from` takes it, or a report that `steward check -o json` wrote"


def add_diff(commands: Any) -> None:
    parser = commands.add_parser(
        "diff",
        help="what came, went, became better or worse between two dumps or reports",
        description="Compares what is found in two dumps or reports of one cluster, the earlier one first.",
        epilog=_DIFF_EXIT,
    )
    add_config_option(parser)
    parser.add_argument("before", metavar="PATH", help=_OF)
    parser.add_argument("after", metavar="PATH", help="the later one")
    parser.add_argument(
        "--complete",
        action="store_true",
        help="the dumps hold the whole cluster: a kind that is not in them has no objects",
    )
    parser.add_argument("-o", "--output", choices=("table", "json", "yaml"), default="table", help="default: table")
    parser.set_defaults(run=lazily("exporter.cli.commands.diff"))


_DRAIN_EXIT = (
    "Exit code: 0 everything leaves by itself; 1 something is blocked, or is shut down by an eviction; "
    "2 could not see everything, something may migrate and may not, a node is not there, or a probe contradicts or is "
    "refused."
)


def add_drain(commands: Any) -> None:
    parser = commands.add_parser(
        "drain",
        help="preview a drain: which VMs leave their nodes, and what is in the way",
        description="Looks once, before or during a drain of all these nodes together. Nothing is evicted or changed.",
        epilog=_DRAIN_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument("nodes", metavar="NODE", nargs="*", help="to be drained")
    parser.add_argument("--all-cordoned", action="store_true", help="all that are cordoned or tainted to be drained")
    parser.add_argument(
        "--selector", "-l", type=labels, metavar="LABELS", help="all with these labels, such as zone=a,!gpu"
    )
    parser.add_argument(
        "--probe",
        action="store_true",
        help="ask the API server too, by a dry-run eviction of each VM's pod, two a second: nothing is evicted or "
        "requested, but the ServiceAccount needs permission to create pods/eviction (ClusterRole steward-drain-probe)",
    )
    parser.set_defaults(run=lazily("exporter.cli.commands.drain"))


def add_explain(commands: Any) -> None:
    parser = commands.add_parser(
        "explain",
        help="what a check looks for, what a reason, alert or metric means, or one finding, and what to do",
        description="Explains a check, reason, alert or metric, without a cluster. With the id of a finding or cause "
        "it looks at the cluster, a dump or a running steward, and fills the names in.",
    )
    parser.add_argument(
        "what",
        metavar="CHECK|REASON|ALERT|METRIC|ID",
        nargs="?",
        help="in small letters or capitals; an id as `steward check -o wide` shows it; without it, all checks and "
        "reasons are listed",
    )
    parser.add_argument(
        "--runbook", action="store_true", help="print the part of the runbook that is about it, to follow step by step"
    )
    parser.add_argument(
        "--namespace", "-n", metavar="NS", help="look for the finding in this one, for who may see no other"
    )
    add_look_options(parser, formats=())
    add_exporter_options(parser)
    parser.set_defaults(run=lazily("exporter.cli.commands.explain"))


_FEATURES_EXIT = (
    "BITES says what a refusal stops: admission: each edit of the VM and each new VMI; edit: each edit of the VM, "
    "which starts all the same; creation: new VMs and VMIs; pod, scheduling: the launcher pod, so that the VMI stays "
    "pending; object: another object than the VM, or a call of the API; live: nothing, the feature is ignored. "
    "Exit code: 0 all known and counted, 2 not everything could be seen."
)


def add_features(commands: Any) -> None:
    parser = commands.add_parser(
        "features",
        help="what KubeVirt allows, and which VMs ask for it",
        description="Prints which features the cluster allows or refuses and why, how many VMs and VMIs ask for each, "
        "and which feature gates are on. Features that are allowed and that nobody asks for are only counted, unless "
        "they are named.",
        epilog=_FEATURES_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument(
        "feature",
        metavar="FEATURE",
        nargs="*",
        help="only these, such as gpu_dra, or those of a feature gate, such as VSOCK; default: all",
    )
    parser.add_argument(
        "--unallowed", action="store_true", help="only what VMs or VMIs ask for without being allowed to"
    )
    parser.set_defaults(run=lazily("exporter.cli.commands.features"))


_IGNORE_EXIT = "Exit code: 0 done, 2 could not be done, or no such cause."


def add_ignore(commands: Any) -> None:
    parser = commands.add_parser(
        "ignore",
        help="acknowledge a cause until a date: it is shown as such, and does not alert until then",
        description="Prints the entry of the exporter's configuration that acknowledges a cause, or writes it there. "
        "The cause stays in all lists and says so; it alerts again at its date, and at once when it gets worse. "
        "Nothing is written to a cluster.",
        epilog=_IGNORE_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument(
        "cause",
        metavar="CAUSE",
        nargs="?",
        help="the id of a cause, or of a finding of it, or its first digits; `steward check -o wide` shows them",
    )
    parser.add_argument(
        "--until",
        metavar="DATE",
        help="when it comes back: 2026-12-01 (in UTC), or a time such as 2026-12-01T08:00:00Z",
    )
    parser.add_argument("--because", metavar="TEXT", help="why it may wait, for whoever looks at it")
    parser.add_argument("--by", metavar="NAME", help="who says so")
    parser.add_argument(
        "--severity",
        choices=[each.value for each in Severity],
        help="the worst that is acknowledged; default: what the cause is now",
    )
    parser.add_argument(
        "--write", action="store_true", help="put the entry into the file of --config; its comments stay"
    )
    parser.add_argument("--list", action="store_true", help="list what is acknowledged, and what has come of it")
    parser.set_defaults(run=lazily("exporter.cli.commands.ignore"))


_CHANGES = (
    ("disable", "GATE", "with this feature gate switched off, as it takes in the release"),
    ("enable", "GATE", "with this feature gate switched on"),
    ("upgrade-to", "VERSION", "with this version of KubeVirt, such as 1.9; once"),
    ("set", "PATH=VALUE", "with this in spec.configuration of KubeVirt; VALUE is JSON or a text, and null removes"),
)


_IMPACT_EXIT = (
    "Exit code: 0 nothing gets worse, 1 something does, 2 could not see everything, the change can't be "
    "made, or a probe contradicts or is refused."
)


def add_impact(commands: Any) -> None:
    parser = commands.add_parser(
        "impact",
        help="preview a change: which VMs it would break, and when",
        description="Evaluates the checks as if the changes were made, all together, and prints which findings come "
        "and go by them. Nothing is changed.",
        epilog=_IMPACT_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    group = parser.add_argument_group("changes", "each may be repeated")
    for option, metavar, text in _CHANGES:
        group.add_argument(f"--{option}", metavar=metavar, action="append", default=[], help=text)
    for role in ("instancetype", "preference"):
        group.add_argument(
            f"--delete-{role}",
            metavar="[NAMESPACE/]NAME",
            action="append",
            default=[],
            help=f"without this {role}; NAME alone is one of the whole cluster",
        )
    add_probe_options(parser, "--probe", "that the change concerns, as it is now")
    parser.set_defaults(run=lazily("exporter.cli.commands.impact"))


_INSTANCETYPES_EXIT = "Exit code: 0 all counted, 2 not everything could be seen."


def add_instancetypes(commands: Any) -> None:
    parser = commands.add_parser(
        "instancetypes",
        help="who uses which instancetype and preference, and how",
        description="Prints which VMs refer to each instancetype and preference, and how: which of them have a copy, "
        "how far that differs, and which fail without the object.",
        epilog=_INSTANCETYPES_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument(
        "name", metavar="NAME", nargs="?", default="", help="only those of this name, or NAMESPACE/NAME; default: all"
    )
    parser.set_defaults(run=lazily("exporter.cli.commands.instancetypes"))


_NETWORKS_EXIT = "Exit code: 0 all counted, 2 not everything could be seen."


def add_networks(commands: Any) -> None:
    parser = commands.add_parser(
        "networks",
        help="state, IP usage and reclaimable addresses of networks",
        description="Prints the state and IP usage of each network, why one is not ready, and the reclaimable "
        "IPAMClaims, the safest first.",
        epilog=_NETWORKS_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument("network", metavar="NETWORK", nargs="?", default="", help="only this network; default: all")
    parser.set_defaults(run=lazily("exporter.cli.commands.networks"))


_STATUS_EXIT = "Exit code: 0 nothing found, 1 findings, 2 could not see everything."


def add_status(commands: Any) -> None:
    parser = commands.add_parser(
        "status",
        help="a cluster in a screenful: what can be trusted, the worst causes, drains, repairs that wait",
        description="Looks once, and prints what is to be known first, in at most 24 lines.",
        epilog=_STATUS_EXIT,
    )
    add_look_options(parser, formats=("table", "json", "yaml"))
    add_exporter_options(parser)
    parser.set_defaults(run=lazily("exporter.cli.commands.status"))


_VM_EXIT = (
    "Exit code: 0 nothing is wrong with it; 1 it has a finding above info, must not be started, restarted or migrated, "
    "no node is left for it, or it keeps its node from being drained; 2 could not see everything, or the VM is not "
    "there."
)


def add_vm(commands: Any) -> None:
    parser = commands.add_parser(
        "vm",
        help="one VM whole: where it runs and could go, what it waits for, what it is, what would happen to it",
        description="Looks once at one VM, or at a VMI that stands alone. With --manifest it evaluates a VM that does "
        "not exist yet: which nodes could start it, and which findings it would have. Nothing is created or changed.",
        epilog=_VM_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument(
        "vm", metavar="NAMESPACE/NAME", nargs="?", help="the VM, or the VMI; may be left out with --manifest"
    )
    parser.add_argument(
        "--manifest",
        metavar="FILE",
        help="of a VirtualMachine or VirtualMachineInstance, YAML or JSON; - for standard input; one without a "
        "namespace goes to that of NAMESPACE/NAME, else to default",
    )
    parser.set_defaults(run=lazily("exporter.cli.commands.vm"))


COMMANDS: Mapping[str, Callable[[Any], None]] = {
    "check": add_check,
    "diff": add_diff,
    "drain": add_drain,
    "explain": add_explain,
    "features": add_features,
    "ignore": add_ignore,
    "impact": add_impact,
    "instancetypes": add_instancetypes,
    "networks": add_networks,
    "status": add_status,
    "vm": add_vm,
}
