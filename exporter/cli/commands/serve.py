"""`steward serve`: watches a cluster and serves metrics, API and page."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from collections.abc import Iterable
from contextlib import suppress

from ...app import Steward, assemble, serve
from ...checks import all_checks
from ...config.forms import address
from ...config.loading import Loaded, Sources, load
from ...config.reloading import Reloading, Watched
from ...findings.check import Check
from ...http.server.certificates import certificates_of
from ..input.cluster import transport_of
from ..input.config import configured, sources_of
from ..input.listen_address import run_until_signalled
from ..output.logs import log_as, say

__all__ = ["follow", "run"]

log = logging.getLogger(__name__)
_LOOK = 2.0  # seconds; a change counts once two reads agree


def run(arguments: argparse.Namespace) -> int:
    signal.signal(signal.SIGHUP, lambda *_: None)  # until it is listened to; by default it would end the process
    return run_until_signalled(_serve(configured(arguments), sources_of(arguments)))


async def _serve(loaded: Loaded, sources: Sources) -> int:
    config = loaded.config
    tls = certificates_of(config.tls, config.insecure)
    steward = assemble(transport_of(config), config)
    async with serve(steward, *address(config.listen), tls=tls, hosts=config.hosts) as url:
        say(f"Serving {url}/ and {url}/metrics")
        await follow(steward, loaded, sources)
    return 0


async def follow(
    steward: Steward, loaded: Loaded, sources: Sources, *, look: float = _LOOK, checks: Iterable[Check] | None = None
) -> None:
    """Reloads the configuration file when it changes, and does not return; polls every `look` seconds."""

    def take(new: Loaded) -> None:
        log_as(new.config.log_level, new.config.log_format)
        steward.take(new.config)

    reloading = Reloading(loaded, lambda: load(checks or all_checks(), sources), take, steward.config)
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, asked.set)
    try:
        if sources.file is None:
            await _refuse(asked)
            return
        watched = Watched(sources.file, loaded.digest)
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(asked.wait(), look)
            if asked.is_set() or watched.changed():
                asked.clear()
                reloading.now()
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


async def _refuse(asked: asyncio.Event) -> None:
    while True:
        await asked.wait()
        asked.clear()
        log.warning('event="nothing to reload" why="there is no configuration file; name one with --config"')
