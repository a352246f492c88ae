"""The options of what serves."""

from __future__ import annotations

import argparse

from ...config.names import LISTEN


def add_listen_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--listen", metavar="HOST:PORT", type=_address, help=f"default: {LISTEN}")


def add_insecure_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--insecure",
        action="store_const",
        const="true",
        help="serve plain HTTP without tokens: whoever reaches it can read everything",
    )


def _address(text: str) -> str:
    from ...config.forms import address  # only where one is given

    try:
        address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text
