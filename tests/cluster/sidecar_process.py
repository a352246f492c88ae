"""`steward reconcile run` with a clock that is ahead, so that what waits an hour need not, and with an end at one step.

python -m tests.cluster.sidecar_process CONFIG KUBECONFIG --ahead 7200 --kill-at written
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time
from pathlib import Path

from exporter.cli.listening import run_until_signalled
from exporter.cli.logs import log_as
from exporter.config.settings import Config as ExporterConfig
from exporter.kube.transport import Transport
from reconcile.app import run
from reconcile.config_file import Loaded, load
from reconcile.remediations import all_remediations


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("kubeconfig")
    parser.add_argument("--ahead", type=float, default=0.0)
    parser.add_argument("--kill-at", default="")
    arguments = parser.parse_args()
    log_as("info", "logfmt")
    return run_until_signalled(_serve(arguments))


async def _serve(arguments: argparse.Namespace) -> int:
    loaded = load(all_remediations(), arguments.config)
    if not isinstance(loaded, Loaded):
        raise SystemExit(str(loaded))

    def reached(step: str) -> None:
        if step == arguments.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    transport = Transport.from_environment(arguments.kubeconfig)
    clock = lambda: time.time() + arguments.ahead  # noqa: E731
    async with run(loaded.config, transport, ExporterConfig(), clock=clock, reached=reached):
        await asyncio.Event().wait()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
