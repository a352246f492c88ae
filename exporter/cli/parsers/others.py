"""What the commands are called with that serve, configure, or say something of the steward itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ...config.names import CONFIG_VARIABLE
from ..options import (
    add_cluster_options,
    add_config_option,
    add_dump_options,
    add_insecure_option,
    add_listen_option,
    lazily,
)


def _name(text: str) -> str:
    from ...config.forms import host_name

    try:
        return str(ip_address(text))
    except ValueError:
        try:
            return host_name(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error


def _object(text: str) -> tuple[str, str]:
    from ...config.forms import host_name

    namespace, _, name = text.partition("/")
    try:
        return host_name(namespace), host_name(name)  # of the same characters
    except ValueError as error:
        raise argparse.ArgumentTypeError("a Secret is written as NAMESPACE/NAME") from error


def add_certificate(commands: Any) -> None:
    parser = commands.add_parser(
        "certificate",
        help="Create a serving certificate and its CA",
        description="Writes ca.crt, tls.crt and tls.key to a directory or to an existing Secret: a certificate for the"
        " names, localhost and the loopback addresses, signed by a new CA whose key is discarded. A certificate that is"
        " for these names and valid for another year remains. Meant for an init container or a Job. Clients verify the"
        " exporter with ca.crt.",
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--directory", type=Path, metavar="DIR", help="Directory to write to, created if missing")
    where.add_argument(
        "--secret",
        type=_object,
        metavar="NAMESPACE/NAME",
        help="Secret to write to. Needs permission to get and patch it.",
    )
    parser.add_argument(
        "--name",
        action="append",
        type=_name,
        required=True,
        metavar="NAME",
        help="Host name or IP address of the exporter. Repeatable.",
    )
    add_cluster_options(parser)
    parser.set_defaults(run=lazily("exporter.cli.commands.certificate"))


_EXAMPLES = """\
bash:  source <(steward completion bash)
zsh:   source <(steward completion zsh)
fish:  steward completion fish | source"""


def add_completion(commands: Any) -> None:
    parser = commands.add_parser(
        "completion",
        help="Generate completion for bash, zsh or fish",
        description="Prints a script by which a shell completes commands, options and their values.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="Shell to generate it for")
    parser.set_defaults(run=lazily("exporter.cli.commands.itself", "completion"))


def add_config(commands: Any) -> None:
    parser = commands.add_parser("config", help="Validate a configuration, or print the one in effect")
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    check = actions.add_parser(
        "check",
        help="Validate a configuration file",
        description="Validates the file alone, without environment variables and options.",
        epilog="Exit code: 0 valid, 2 invalid.",
    )
    check.add_argument(
        "file", type=Path, metavar="FILE", nargs="?", help=f"File to validate (default ${CONFIG_VARIABLE})"
    )
    check.set_defaults(run=lazily("exporter.cli.commands.config", "run_check"), config=None)

    show = actions.add_parser(
        "show", help="Print the values in effect and their sources", description="Takes the options of `steward serve`."
    )
    add_config_option(show)
    add_cluster_options(show)
    add_listen_option(show)
    add_insecure_option(show)
    show.add_argument(
        "-o", "--output", choices=("table", "yaml"), default="table", help="Output format (default table)"
    )
    show.set_defaults(run=lazily("exporter.cli.commands.config", "run_show"))


def add_help(commands: Any) -> None:
    parser = commands.add_parser(
        "help", help="Show the help of a command", description="Prints the help of steward, or of one command."
    )
    parser.add_argument("of", metavar="COMMAND", nargs="*", help="Command, such as: reconcile plan")
    parser.set_defaults(run=lazily("exporter.cli.commands.itself", "help_of"))


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


def add_rules(commands: Any) -> None:
    parser = commands.add_parser(
        "rules",
        help="Render Prometheus and Alertmanager rules",
        description="Prints the alert rules, and the routes of their alerts, in several formats.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    render = verbs.add_parser(
        "render",
        help="Print the rules, or the routes of alerts",
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
    how = f"Output format: {', '.join(FORMATS)} (default prometheus)"
    render.add_argument("--format", choices=FORMATS, default="prometheus", metavar="FORMAT", help=how)
    render.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="Value to set. Repeatable.")
    render.add_argument(
        "--output", type=Path, metavar="DIRECTORY", help="Directory to write the files to (default: print them)"
    )
    render.set_defaults(run=lazily("exporter.cli.commands.rules"))


def add_serve(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        help="Run the exporter and web UI",
        description="Watches a cluster and serves metrics, the JSON API and the web UI. Writes nothing to the "
        "cluster. With --from it serves a dump, on a loopback address.",
        epilog="Needs a certificate (tls.certFile and tls.keyFile) or --insecure. The configuration file is reloaded "
        "when it changes, and on SIGHUP.",
    )
    add_config_option(parser)
    add_cluster_options(parser)
    add_dump_options(parser)
    add_listen_option(parser)
    add_insecure_option(parser)
    parser.set_defaults(run=lazily("exporter.cli.commands.serve"), logs=True)


def add_version(commands: Any) -> None:
    parser = commands.add_parser("version", help="Print the version", description="Prints the version.")
    parser.set_defaults(run=lazily("exporter.cli.commands.itself", "version"))


COMMANDS: Mapping[str, Callable[[Any], None]] = {
    "certificate": add_certificate,
    "completion": add_completion,
    "config": add_config,
    "help": add_help,
    "rules": add_rules,
    "serve": add_serve,
    "version": add_version,
}
