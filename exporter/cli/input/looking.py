"""One look at a cluster: a steward that watches it until everything is seen."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...config.settings import Config
from ...findings.check import Check
from ...kube.greeting import greet
from ...kube.transport import Transport
from ...store.cluster import Cluster
from ...store.reader import Reading
from ...store.source import Source, SyncState
from ..output.terminal import complain
from .cluster import transport_of
from .filters import UsageError

if TYPE_CHECKING:
    from ...app import Steward

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
    """The cluster that the arguments select, watched while entered. Raises ConfigError where none is configured,
    GreetingError for one that answers nothing, and UsageError where nothing of it may be listed.
    """
    transport = transport_of(config)
    try:
        await greet(transport)
        from ...app import assemble, wait_until_seen  # the server is dear to import: not for who can't be answered

        steward = assemble(transport, config, checks=checks, views=views)
    except BaseException:
        await transport.close()
        raise
    async with steward.watching():
        in_time = await wait_until_seen(steward, arguments.timeout, complain)
        _refuse_blind(steward.engine.cluster, transport.server)
        yield Look(steward, transport, in_time)


def _refuse_blind(cluster: Cluster, server: str) -> None:
    sources = [each for each in cluster.all(Source) if each.sync_state is not SyncState.ABSENT]
    if sources and all(each.sync_state is SyncState.FORBIDDEN for each in sources):
        first = min(sources, key=lambda each: (each.resource != "virtualmachines.kubevirt.io", each.resource))
        raise UsageError(
            f"{server} lets you list nothing of what is looked at, not even {first.resource} in all namespaces; "
            "whoever administers the cluster can bind you to the ClusterRole of the steward, or ask the one that runs "
            "there with --exporter"
        )
