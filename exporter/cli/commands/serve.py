"""`steward serve`: watches a cluster and serves metrics, API and page."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from ...app import Steward, assemble, serve
from ...checks import all_checks
from ...config.forms import address
from ...config.loading import Loaded, Sources, load
from ...config.reloading import Reloading
from ...findings.check import Check
from ...http.server.certificates import certificates_of
from ..input.cluster import transport_of
from ..input.config import configured, sources_of
from ..input.following import LOOK, following, ignore_hangup
from ..input.listen_address import run_until_signalled
from ..output.logs import log_as, say

__all__ = ["follow", "run"]


def run(arguments: argparse.Namespace) -> int:
    ignore_hangup()
    return run_until_signalled(_serve(configured(arguments), sources_of(arguments)))


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
