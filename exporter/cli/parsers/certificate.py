"""What `steward certificate` is called with."""

from __future__ import annotations

import argparse
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ..options import add_cluster_options


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


def add(commands: Any) -> None:
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
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.certificate import run as act  # what only this command needs

    return act(arguments)
