"""`steward reconcile run`: the sidecar."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from exporter.cli.input.listen_address import run_until_signalled
from exporter.cli.output.logs import log_as, say
from exporter.cli.output.terminal import complain
from exporter.kube.transport import Transport

from ...app import run as sidecar
from ...config.settings import SidecarConfig
from ...ledger import LedgerError
from ..session import configured

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    config, exporter = configured(arguments)
    if arguments.insecure:
        config = config.model_copy(update={"insecure": True})
    log_as(arguments.log_level or exporter.log_level, exporter.log_format)
    try:
        return run_until_signalled(_serve(arguments, config, exporter))
    except LedgerError as error:
        complain(str(error))
        return 2


async def _serve(arguments: argparse.Namespace, config: SidecarConfig, exporter: Any) -> int:
    transport = Transport.from_environment(arguments.kubeconfig, arguments.context)
    async with sidecar(config, transport, exporter) as (url, _):
        say(f"Serving {url}/metrics and {url}/api/v1/plans")
        await asyncio.Event().wait()
    return 0
