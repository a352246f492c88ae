"""The option that names a configuration."""

from __future__ import annotations

import argparse
from pathlib import Path

from ...config.names import CONFIG_VARIABLE


def add_config_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help=f"YAML; default: ${CONFIG_VARIABLE}. docs/config.md has every key"
    )
