"""What the commands are called with by which people ask: of a cluster, a dump, or a steward that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ...findings.severity import Severity
from ...questions.asked import (
    DrainQuery,
    FeaturesQuery,
    ImpactQuery,
    InstancetypesQuery,
    MaintenanceQuery,
    NetworksQuery,
    UpgradeQuery,
    VMQuery,
    VMsQuery,
)
from ..options import (
    FORMATS,
    add_arguments,
    add_config_option,
    add_exporter_options,
    add_filter_options,
    add_look_options,
    add_probe_options,
    lazily,
)

_TABLES = MappingProxyType({"formats": ("table", "wide", "name", "json", "yaml")})


def _asking(
    commands: Any, name: str, query: Any = None, *, look: Mapping[str, Any] = MappingProxyType({}), **texts: str
) -> Any:
    """The parser of what looks once or asks a running exporter, with the options of what the question is asked with."""
    parser = commands.add_parser(name, **texts)
    add_look_options(parser, **look)
    add_exporter_options(parser)
    if query is not None:
        add_arguments(parser, query)
    parser.set_defaults(run=lazily(f"exporter.cli.commands.{name}"))
    return parser


def add_check(commands: Any) -> None:
    parser = _asking(
        commands,
        "check",
        help="List findings",
        description="Evaluates the checks once and prints a line for each cause, which is what one act fixes. The "
        "findings of the cause follow.",
        epilog="Exit code: 0 no findings, 1 unacknowledged findings of --fail-on or worse, 2 an incomplete answer, or "
        "a probe that contradicts it or is rejected.",
        look={"several": True, "formats": FORMATS},
    )
    add_filter_options(parser)
    add_probe_options(parser, "--probe-features", "that requests a feature which is checked at admission")
    parser.add_argument("--commands", action="store_true", help="Show the next step and the commands for each cause")
    parser.add_argument(
        "--watch",
        "-w",
        action="store_true",
        help="Keep watching, and print each finding that opens, closes or changes. Ctrl-C ends it.",
    )
    parser.add_argument(
        "--fail-on",
        choices=[each.value for each in Severity],
        default="info",
        help="Lowest severity that makes the exit code 1 (default info)",
    )


_OF = "Earlier dump, as for `steward check --from`, or report of `steward check -o json`"


def add_diff(commands: Any) -> None:
    parser = commands.add_parser(
        "diff",
        help="Compare the findings of two dumps or reports",
        description="Compares the findings of two dumps or reports of one cluster, the earlier first.",
        epilog="Exit code: 0 no differences, 1 differences, 2 some findings can't be compared.",
    )
    add_config_option(parser)
    parser.add_argument("before", metavar="PATH", help=_OF)
    parser.add_argument("after", metavar="PATH", help="Later dump or report")
    parser.add_argument("--complete", action="store_true", help="Treat kinds missing from the dumps as empty")
    parser.add_argument(
        "-o", "--output", choices=("table", "json", "yaml"), default="table", help="Output format (default table)"
    )
    parser.set_defaults(run=lazily("exporter.cli.commands.diff"))


def add_drain(commands: Any) -> None:
    parser = _asking(
        commands,
        "drain",
        DrainQuery,
        help="Predict what the drain of nodes would do to their VMs",
        description="Predicts the drain of all these nodes together, before it or while it runs. Nothing is evicted "
        "or changed.",
        epilog="Exit code: 0 every VM will migrate or move; 1 a VM is blocked, or an eviction shuts it down; 2 an "
        "incomplete answer, a VM of which it is unknown whether it can migrate, a node that doesn't exist, or a probe "
        "that contradicts the answer or is rejected.",
    )
    parser.add_argument(
        "--each",
        action="store_true",
        help="Predict the drain of each node alone, of all nodes where none is named, as in a rolling maintenance",
    )
    add_arguments(parser, MaintenanceQuery, but=("node",))
    parser.add_argument(
        "--probe",
        action="store_true",
        help="Also test evictions with a server-side dry run, two per second. Nothing is evicted or requested. Needs "
        "permission to create pods/eviction (ClusterRole steward-drain-probe).",
    )


def add_explain(commands: Any) -> None:
    parser = commands.add_parser(
        "explain",
        help="Explain a check, reason, alert, metric or finding",
        description="Explains a check, reason, alert or metric without a cluster. With the ID of a finding or cause it "
        "reads the cluster, a dump or a running exporter, and fills in the names.",
    )
    parser.add_argument(
        "what",
        metavar="CHECK|REASON|ALERT|METRIC|ID",
        nargs="?",
        help="Name in any case, or an ID as `steward check -o wide` shows it (default: list all checks and reasons)",
    )
    parser.add_argument("--runbook", action="store_true", help="Print the runbook for it, step by step")
    parser.add_argument("--namespace", "-n", metavar="NS", help="Search only this namespace for the finding")
    add_look_options(parser, formats=())
    add_exporter_options(parser)
    parser.set_defaults(run=lazily("exporter.cli.commands.explain"))


def add_features(commands: Any) -> None:
    _asking(
        commands,
        "features",
        FeaturesQuery,
        look=_TABLES,
        help="Show feature gates and the VMs that use them",
        description="Prints which features the cluster allows or rejects and why, how many VMs and VMIs request each, "
        "and which feature gates are on. Features that are allowed and that no VM requests are counted, unless they "
        "are named.",
        epilog="BITES says what a rejection stops: admission: each edit of the VM and each new VMI; edit: each edit "
        "of the VM, which starts anyway; creation: new VMs and VMIs; pod, scheduling: the launcher pod, so that the "
        "VMI stays pending; object: another object than the VM, or a call of the API; live: nothing, the feature is "
        "ignored. Exit code: 0 everything is known, 2 an incomplete answer.",
    )


def add_ignore(commands: Any) -> None:
    parser = _asking(
        commands,
        "ignore",
        help="Acknowledge a cause until a date",
        description="Prints the entry of the exporter's configuration that acknowledges a cause, or writes it to the "
        "file. The cause remains in all lists as acknowledged. It alerts again at the date, and at once when it gets "
        "worse. Nothing is written to a cluster.",
        epilog="Exit code: 0 done, 2 not done, or no such cause.",
    )
    parser.add_argument(
        "cause",
        metavar="CAUSE",
        nargs="?",
        help="ID of a cause or of a finding of it, or its first digits, as `steward check -o wide` shows it",
    )
    parser.add_argument(
        "--until",
        metavar="DATE",
        help="Date at which the cause alerts again: 2026-12-01 (in UTC), or a time such as 2026-12-01T08:00:00Z",
    )
    parser.add_argument("--because", metavar="TEXT", help="Reason, shown with the acknowledged cause")
    parser.add_argument("--by", metavar="NAME", help="Name recorded with the acknowledgement")
    parser.add_argument(
        "--severity",
        choices=[each.value for each in Severity],
        help="Worst severity that is acknowledged (default the severity of the cause now)",
    )
    parser.add_argument(
        "--write", action="store_true", help="Write the entry to the file of --config and keep its comments"
    )
    parser.add_argument("--list", action="store_true", help="List acknowledged causes and their state")


def add_impact(commands: Any) -> None:
    parser = _asking(
        commands,
        "impact",
        help="Predict what an upgrade, feature gate or deletion would do",
        description="Evaluates the checks as if all changes were made together, and prints which findings open and "
        "close. Nothing is changed.",
        epilog="Exit code: 0 nothing gets worse, 1 something does, 2 an incomplete answer, a change that can't be "
        "made, or a probe that contradicts the answer or is rejected.",
    )
    group = parser.add_argument_group("changes", "Repeatable, but for --upgrade-to.")
    add_arguments(group, ImpactQuery)
    add_probe_options(parser, "--probe", "that the change affects, as it is now")


def add_instancetypes(commands: Any) -> None:
    _asking(
        commands,
        "instancetypes",
        InstancetypesQuery,
        look=_TABLES,
        help="Show which VMs use each instancetype and preference",
        description="Prints which VMs refer to each instancetype and preference, which of them have a "
        "ControllerRevision, how the ControllerRevision differs, and which VMs fail without the object.",
        epilog="Exit code: 0 everything is counted, 2 an incomplete answer.",
    )


def add_networks(commands: Any) -> None:
    _asking(
        commands,
        "networks",
        NetworksQuery,
        look=_TABLES,
        help="Show networks, their IP usage and reclaimable addresses",
        description="Prints the state and IP usage of each network, why one is not ready, and the reclaimable "
        "IPAMClaims, the safest first.",
        epilog="Exit code: 0 everything is counted, 2 an incomplete answer.",
    )


def add_status(commands: Any) -> None:
    _asking(
        commands,
        "status",
        help="Show a one-screen summary",
        description="Prints a summary of the cluster in at most 24 lines: how complete it is, the worst causes, "
        "drains, and repairs that wait.",
        epilog="Exit code: 0 no findings, 1 findings, 2 an incomplete answer.",
    )


def add_upgrade(commands: Any) -> None:
    _asking(
        commands,
        "upgrade",
        UpgradeQuery,
        help="Predict an upgrade of KubeVirt, and what to do before",
        description="Evaluates each release on the way to a release of KubeVirt, and prints whether the upgrade can "
        "begin, after which acts, and what breaks with which release. Nothing is changed.",
        epilog="Exit code: 0 nothing speaks against the upgrade, 1 something is to be done before, 2 an incomplete "
        "answer, or no such release.",
    )


def add_vm(commands: Any) -> None:
    parser = _asking(
        commands,
        "vm",
        help="Show everything about one VM",
        description="Prints where a VM, or a VMI without a VM, runs and could run, what it waits for, and what a "
        "drain, a restart and an upgrade would do to it. With --manifest it evaluates a VM that doesn't exist yet. "
        "Nothing is created or changed.",
        epilog="Exit code: 0 nothing is wrong with the VM; 1 it has a finding above info, must not be started, "
        "restarted or migrated, has no node left to run on, or blocks the drain of its node; 2 an incomplete answer, "
        "or no such VM.",
    )
    parser.add_argument(
        "vm",
        metavar="NAMESPACE/NAME",
        nargs="?",
        help="VM, or VMI without a VM, with or without vm/ before it. Optional with --manifest.",
    )
    parser.add_argument("--namespace", "-n", metavar="NS", default="", help="Namespace of a VM that is given as NAME")
    add_arguments(parser, VMQuery)
    parser.add_argument(
        "--manifest",
        metavar="FILE",
        help="File with a VirtualMachine or VirtualMachineInstance in YAML or JSON. - is standard input. Without a "
        "namespace it gets that of NAMESPACE/NAME, or default.",
    )


def add_vms(commands: Any) -> None:
    _asking(
        commands,
        "vms",
        VMsQuery,
        help="List VMs with their state, findings and forbidden acts",
        description="Prints a line for each VM, and each VMI without a VM: where it runs, how many findings it has, "
        "and which acts a finding forbids. `steward vm` says more about one of them.",
        epilog="Exit code: 0 all VMs are listed, 2 an incomplete answer.",
        look={"formats": (*_TABLES["formats"], "csv")},
    )


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
    "upgrade": add_upgrade,
    "vm": add_vm,
    "vms": add_vms,
}
