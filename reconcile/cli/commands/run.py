"""`steward reconcile run`: the sidecar."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from exporter.cli.input.serving import LOOK, following, ignore_hangup, run_until_signalled
from exporter.cli.output.text.logs import log_as, say
from exporter.cli.output.text.terminal import complain
from exporter.config.reloading import Reloading
from exporter.kube.transport import Transport

from ...app import run as serve
from ...carry_out.sidecar import Sidecar
from ...config.loading import LoadedSidecar, in_effect, load, reloaded
from ...config.settings import SidecarConfig
from ...ledger import LedgerError
from ...plan.remediations import all_remediations
from ..session import configured, loaded_of


def run(arguments: argparse.Namespace) -> int:
    ignore_hangup()
    loaded, (config, exporter) = loaded_of(arguments), configured(arguments)
    if arguments.insecure:
        config = config.model_copy(update={"insecure": True})
    log_as(arguments.log_level or exporter.log_level, exporter.log_format)
    try:
        return run_until_signalled(_serve(arguments, loaded, config, exporter))
    except LedgerError as error:
        complain(str(error))
        return 2


async def _serve(arguments: argparse.Namespace, loaded: LoadedSidecar, config: SidecarConfig, exporter: Any) -> int:
    transport = Transport.from_environment(arguments.kubeconfig, arguments.context)
    async with serve(config, transport, exporter) as (url, sidecar):
        say(f"Serving {url}/metrics and {url}/api/v1/plans")
        await follow(sidecar, loaded, config, arguments.config)
    return 0


async def follow(
    sidecar: Sidecar, loaded: LoadedSidecar, started: SidecarConfig, file: Path | None, *, look: float = LOOK
) -> None:
    """Takes the configuration file anew when it changes, and on SIGHUP; does not return."""
    remediations = all_remediations()
    reloading = Reloading(
        loaded,
        lambda: reloaded(loaded, load(remediations, file), remediations, file),
        lambda new: sidecar.take(in_effect(started, new.config)),
        sidecar.reload,
    )
    await following(reloading, file, look=look)
