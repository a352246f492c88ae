"""`steward serve`: watches a cluster and serves metrics, API and page."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address

from ...app import Steward, assemble, assemble_dump, serve
from ...checks import all_checks
from ...config.forms import address
from ...config.loading import Loaded, Sources, load
from ...config.reloading import Reloading
from ...config.settings import Config
from ...findings.check import Check
from ...offline.files import DumpError
from ...serve.server.certificates import certificates_of
from ..input.config import configured, sources_of
from ..input.filters import UsageError
from ..input.looking import transport_of
from ..input.once import progress_line, refuse_complete_without_dump
from ..input.serving import LOOK, following, ignore_hangup, run_until_signalled
from ..output.text.logs import log_as, say
from ..output.text.terminal import complain, one_line


def run(arguments: argparse.Namespace) -> int:
    ignore_hangup()
    loaded = configured(arguments)
    try:
        refuse_complete_without_dump(arguments)
        if arguments.dump is not None:
            return run_until_signalled(_serve_dump(arguments, loaded.config))
    except (UsageError, DumpError) as error:
        complain(str(error))
        return 2
    return run_until_signalled(_serve(loaded, sources_of(arguments)))


async def _serve_dump(arguments: argparse.Namespace, config: Config) -> int:
    """Raises DumpError, and UsageError for an address that others reach."""
    host, port = address(config.listen)
    if not (arguments.listen or arguments.insecure):
        host = "127.0.0.1"  # whatever the configuration has for a cluster
    if not (arguments.insecure or _loopback(host)):
        raise UsageError(
            f"a dump has no API server that says who may see it: whoever reaches {host} would; listen on 127.0.0.1, or "
            "say --insecure"
        )
    with progress_line() as progress:
        steward = await assemble_dump(
            arguments.dump, time.time(), config, complete=arguments.complete, progress=progress
        )
    async with serve(steward, host, port, f"kubevirt-steward: {one_line(os.path.basename(arguments.dump))}") as url:
        say(f"Serving {url}/ of {one_line(arguments.dump)}, as it was read; Ctrl-C ends it")
        await asyncio.Event().wait()
    return 0


def _loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


async def _serve(loaded: Loaded, sources: Sources) -> int:
    config = loaded.config
    tls = certificates_of(config.tls, config.insecure)
    steward = assemble(transport_of(config), config)
    async with serve(steward, *address(config.listen), tls=tls, hosts=config.hosts, login=config.login) as url:
        say(f"Serving {url}/ and {url}/metrics")
        await follow(steward, loaded, sources)
    return 0


async def follow(
    steward: Steward, loaded: Loaded, sources: Sources, *, look: float = LOOK, checks: Iterable[Check] | None = None
) -> None:
    """Reloads the configuration file when it changes, and does not return; polls every `look` seconds."""

    def take(new: Loaded) -> None:
        log_as(new.config.log_level, new.config.log_format)
        steward.take(new.config)

    reloading = Reloading(loaded, lambda: load(checks or all_checks(), sources), take, steward.config)
    await following(reloading, sources.file, look=look)
