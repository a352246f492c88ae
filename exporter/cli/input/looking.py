"""One look at a cluster: a steward that watches it until everything is seen."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ...app import Steward, assemble, wait_until_seen
from ...config.settings import Config
from ...findings.check import Check
from ...kube.greeting import greet
from ...kube.transport import Transport
from ...store.reader import Reading
from ..output.terminal import complain
from .cluster import transport_of

__all__ = ["Look", "looking"]


@dataclass(frozen=True)
class Look:
    """`in_time` is whether everything was seen within --timeout."""

    steward: Steward
    transport: Transport
    in_time: bool


@asynccontextmanager
async def looking(
    arguments: argparse.Namespace,
    config: Config,
    *,
    checks: Iterable[Check] | None = None,
    views: Iterable[Reading] | None = None,
) -> AsyncIterator[Look]:
    """The cluster that the arguments select, watched while entered. Raises ConfigError if none is
    configured, and GreetingError if it answers nothing."""
    transport = transport_of(config)
    try:
        await greet(transport)
    except BaseException:
        await transport.close()
        raise
    steward = assemble(transport, config, checks=checks, views=views)
    async with steward.watching():
        yield Look(steward, transport, await wait_until_seen(steward, arguments.timeout, complain))
