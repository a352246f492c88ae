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
        help="write a certificate, its key, and the CA that it is of",
        description="Writes ca.crt, tls.crt and tls.key to a directory, or to a Secret that is there: a certificate"
        " for the names, localhost and the addresses of loopback, of a new CA whose key is not kept. Leaves alone what"
        " is for these names and valid for another year. For an init container, or for a Job: whoever has ca.crt can"
        " verify the steward.",
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--directory", type=Path, metavar="DIR", help="made if it is not there")
    where.add_argument("--secret", type=_object, metavar="NAMESPACE/NAME", help="needs get and patch of this one")
    parser.add_argument(
        "--name", action="append", type=_name, required=True, metavar="NAME", help="host name or IP address; repeatable"
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
        help="print completions for bash, zsh or fish",
        description="Prints a script by which a shell completes commands, options and their values.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell reads it")
    parser.set_defaults(run=lazily("exporter.cli.commands.completion"))


def add_config(commands: Any) -> None:
    parser = commands.add_parser("config", help="check a configuration, or show what is in effect")
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    check = actions.add_parser(
        "check",
        help="say whether a file is right",
        description="Looks at the file alone, without environment and flags.",
        epilog="Exit code: 0 it is fine, 2 it has mistakes.",
    )
    check.add_argument("file", type=Path, metavar="FILE", nargs="?", help=f"default: ${CONFIG_VARIABLE}")
    check.set_defaults(run=lazily("exporter.cli.commands.config", "run_check"), config=None)

    show = actions.add_parser(
        "show",
        help="show the values in effect and where each comes from",
        description="Takes the flags of `steward serve`.",
    )
    add_config_option(show)
    add_cluster_options(show)
    add_listen_option(show)
    add_insecure_option(show)
    show.add_argument("-o", "--output", choices=("table", "yaml"), default="table", help="default: table")
    show.set_defaults(run=lazily("exporter.cli.commands.config", "run_show"))


def add_help(commands: Any) -> None:
    parser = commands.add_parser(
        "help", help="say what a command takes", description="Prints the help of the steward, or of one command."
    )
    parser.add_argument("of", metavar="COMMAND", nargs="*", help="such as: reconcile plan")
    parser.set_defaults(run=lazily("exporter.cli.commands.help"))


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
        help="the alert rules, for your Prometheus and your Alertmanager",
        description="Prints the alert rules in the format of what evaluates them, and the routes of their alerts.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    render = verbs.add_parser(
        "render",
        help="print the rules, or the routes of alerts",
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
    how = f"default: prometheus; one of {', '.join(FORMATS)}"
    render.add_argument("--format", choices=FORMATS, default="prometheus", metavar="FORMAT", help=how)
    render.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a value; repeat it for more")
    render.add_argument("--output", type=Path, metavar="DIRECTORY", help="write the files there")
    render.set_defaults(run=lazily("exporter.cli.commands.rules"))


def add_serve(commands: Any) -> None:
    parser = commands.add_parser(
        "serve",
        help="watch a cluster, or read a dump; serve metrics, JSON API and page",
        description="Watches a cluster; writes nothing to it. With --from it serves what a dump holds instead, on a "
        "loopback address.",
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
    parser = commands.add_parser("version", help="print which steward this is", description="Prints the version.")
    parser.set_defaults(run=lazily("exporter.cli.commands.version"))


COMMANDS: Mapping[str, Callable[[Any], None]] = {
    "certificate": add_certificate,
    "completion": add_completion,
    "config": add_config,
    "help": add_help,
    "rules": add_rules,
    "serve": add_serve,
    "version": add_version,
}
