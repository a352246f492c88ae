"""`steward serve` with findings that wait for no grace, so that a test need not; settings are those of the environment.

python -m tests.cluster.exporter_process KUBECONFIG
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from exporter.app import assemble, serve
from exporter.checks import all_checks
from exporter.cli.input.serving import run_until_signalled
from exporter.cli.output.text.logs import log_as
from exporter.config.forms import address
from exporter.config.loading import Loaded, Sources, load
from exporter.kube.transport import Transport
from exporter.serve.server.certificates import certificates_of
from tests.cluster.exporter import STEADY


async def _serve(kubeconfig: str) -> int:
    own = {name: value for name, value in os.environ.items() if name.startswith("STEWARD_")}
    file = own.pop("STEWARD_CONFIG")
    loaded = load(all_checks(), Sources(Path(file), own, {}))
    if not isinstance(loaded, Loaded):
        raise SystemExit(str(loaded))
    config = loaded.config
    checks = [
        replace(check, reasons={name: replace(reason, grace=0.0) for name, reason in check.reasons.items()})
        for check in all_checks()
    ]
    steward = assemble(Transport.from_environment(kubeconfig), config, checks=checks, pace=STEADY)
    tls = certificates_of(config.tls, config.insecure)
    async with serve(steward, *address(config.listen), tls=tls, hosts=config.hosts):
        await asyncio.Event().wait()
    return 0


if __name__ == "__main__":
    log_as("info", "logfmt")
    raise SystemExit(run_until_signalled(_serve(sys.argv[1])))
