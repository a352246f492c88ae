"""What commands are called with: options that several share. Nothing here imports what a command needs to run."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ..config.names import CONFIG_VARIABLE, LISTEN
from ..findings.severity import Severity
from ..questions.asked import parameters

# The options that select a cluster.

FORMATS = ("table", "wide", "name", "json", "yaml", "csv", "html", "sarif")
"""In which `steward check` prints what it finds."""


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig file (default $KUBECONFIG, ~/.kube/config, then the pod's ServiceAccount)",
    )
    group.add_argument("--context", metavar="NAME", help="Context of the kubeconfig (default the current context)")


# The option that names a configuration.


def add_config_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help=f"Configuration file, see docs/config.md (default ${CONFIG_VARIABLE})",
    )


# The options that name a dump.

_HELP = (
    "Dump to read: a directory, a tar or zip archive, or a file of YAML or JSON, as written by kubectl get, "
    "must-gather or oc adm inspect. - is standard input."
)


class _Once(argparse.Action):
    """Refuses an option that is given again, where argparse would forget the first."""

    def __call__(
        self, _: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, __: str | None = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "is given twice, and this command looks at one dump")
        setattr(namespace, self.dest, values)


def add_dump_options(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """`several` is for a command that takes more than one: `dump` then is a list, for `dumps_of`."""
    group = parser.add_argument_group(f"{'dumps' if several else 'dump'}, instead of a cluster")
    if several:
        more = " Repeat it for several clusters, each called NAME or after its file."
        group.add_argument("--from", dest="dump", metavar="[NAME=]PATH", action="append", help=_HELP + more)
    else:
        group.add_argument("--from", dest="dump", metavar="PATH", action=_Once, help=_HELP)
    group.add_argument("--complete", action="store_true", help="Treat kinds missing from the dump as empty")


# The options by which the API server is asked about edits.

MOST = 200


def add_probe_options(parser: argparse.ArgumentParser, option: str, which: str) -> None:
    parser.add_argument(
        option,
        dest="probe",
        action="store_true",
        help=f"Also test an edit of each VM {which} with a server-side dry run, two per second. Nothing is "
        "changed. Needs permission to patch virtualmachines (ClusterRole steward-feature-probe).",
    )
    parser.add_argument(
        "--probe-most",
        type=_number,
        default=MOST,
        metavar="NUMBER",
        help=f"Number of VMs to test at most (default {MOST})",
    )


def _number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:9]) < 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of VMs; write it as {MOST}")
    return int(text)


# The options of what a question is asked with.


def add_arguments(parser: Any, asked: type[Any], but: Sequence[str] = ()) -> None:
    """`but` are fields that have an option already."""
    for each in (each for each in parameters(asked) if each.field not in but):
        argument, how = each.argument, dict[str, Any](help=each.argument.help)
        if each.flag:
            how |= {"action": "store_true"}
        elif argument.position:
            how |= {"metavar": argument.metavar, "nargs": "*" if each.several else "?"}
        else:
            how |= {"metavar": argument.metavar, "action": "append" if each.several else "store"}
        if argument.labels:
            how |= {"type": _selector}
        names = (each.field,) if argument.position else filter(None, (f"--{each.name}", argument.short))
        parser.add_argument(*names, **how)


def _selector(text: str) -> str:
    labels(text)
    return text


# The options that say which findings are shown.

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def add_filter_options(parser: Any) -> None:
    group = parser.add_argument_group("filters")
    group.add_argument(
        "what",
        metavar="WHAT",
        nargs="*",
        help="Objects to show: vm/NAME, vm/NAMESPACE/NAME, node/NAME, network/NAME or another object as `-o name` "
        "prints it, or the ID of a cause or finding (default all)",
    )
    group.add_argument("--check", metavar="ID", action="append", help="Show only this check. Repeatable.")
    where = group.add_mutually_exclusive_group()
    where.add_argument("--namespace", "-n", metavar="NS", action="append", help="Show only this namespace. Repeatable.")
    group.add_argument(
        "--selector",
        "-l",
        type=labels,
        metavar="LABELS",
        help="Show only VMs with these labels, such as app=shop,!canary or tier in (web,db)",
    )
    where.add_argument("--all-namespaces", "-A", action="store_true", help="Show all namespaces, which is the default")
    group.add_argument(
        "--reason",
        metavar="NAME",
        action="append",
        help="Show only this reason, such as OrphanClaim, and where its checks are incomplete. Repeatable.",
    )
    group.add_argument(
        "--feature",
        metavar="ID",
        action="append",
        help="Show only this feature, feature gate or setting, such as gpu_dra, or '' for findings of none, and where "
        "the checks feature_* are incomplete. Repeatable.",
    )
    group.add_argument(
        "--severity",
        choices=[each.value for each in Severity],
        action="append",
        help="Show only this severity. Repeatable.",
    )
    group.add_argument(
        "--min-severity",
        choices=[each.value for each in Severity],
        default="info",
        help="Lowest severity to show (default info)",
    )
    group.add_argument(
        "--min-age",
        metavar="AGE",
        type=_duration,
        default=0.0,
        help="Hide findings younger than AGE, such as 90s, 10m, 2h or 1d. Findings of unknown age count as new.",
    )
    group.add_argument(
        "--now",
        metavar="TIME",
        type=_time,
        help="Compute ages relative to TIME, such as 2026-11-21T17:30:00Z (default now)",
    )


def labels(text: str) -> Any:
    """The selector of labels that a text is."""
    from ..facts.selector import selector_in  # only where one is given

    try:
        return selector_in(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration. Write it as 90s, 10m, 2h or 1d")
    return float(match[1]) * _UNITS[match[2]]


def _time(text: str) -> float:
    from ..facts.record import epoch  # only where one is given

    try:
        moment = epoch(text)
    except ValueError:
        moment = None
    if moment is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write it as 2026-11-21T17:30:00Z")
    return moment


# The options of what serves.


def add_listen_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--listen", metavar="HOST:PORT", type=_address, help=f"Address to serve on (default {LISTEN})")


def add_insecure_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--insecure",
        action="store_const",
        const="true",
        help="Serve plain HTTP without authentication. Every client that reaches the port can read everything.",
    )


def _address(text: str) -> str:
    from ..config.forms import address  # only where one is given

    try:
        address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


# The options of what looks once, at a cluster or at a dump of one, and prints a report.


def add_look_options(
    parser: argparse.ArgumentParser, *, several: bool = False, formats: Sequence[str] = ("table", "json", "yaml")
) -> None:
    """Where to look, for how long, and how to print it, where there are `formats`. `several` is for a command that
    takes more than one dump.
    """
    add_config_option(parser)
    add_cluster_options(parser)
    add_dump_options(parser, several=several)
    if formats:
        how = f"Output format: {', '.join(formats)} (default table)"
        parser.add_argument("-o", "--output", choices=formats, default="table", metavar="FORMAT", help=how)
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="Time limit for reading the cluster, in seconds (default 60)",
    )


def _seconds(text: str) -> float:
    try:
        given = float(text.removesuffix("s"))
    except ValueError:
        given = 0.0
    if given <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds; write it as 60")
    return given


# The options by which a command asks a steward that runs, and lists nothing itself.


def add_exporter_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("running exporter, instead of a cluster")
    group.add_argument(
        "--exporter", metavar="URL", help="URL of a running exporter to ask, such as https://localhost:9877"
    )
    for option, what in (
        (
            "--token-file",
            "File with a bearer token for the exporter, such as of `kubectl create token` (default the kubeconfig's)",
        ),
        (
            "--ca-file",
            "File with CA certificates to trust for the exporter (default the system's and the kubeconfig's)",
        ),
    ):
        group.add_argument(option, type=Path, metavar="FILE", help=what)
    group.add_argument(
        "--server-name", metavar="NAME", help="Name in the exporter's certificate (default the host of the URL)"
    )


# The commands of a parser.


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Their parsers by name; empty where it has none."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def lazily(module: str, name: str = "run") -> Callable[[argparse.Namespace], int]:
    """What runs a command: `name` of its module, which is imported once it is called."""

    def run(arguments: argparse.Namespace) -> int:
        code: int = getattr(import_module(module), name)(arguments)
        return code

    return run
