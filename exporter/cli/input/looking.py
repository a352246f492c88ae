"""One look at a cluster: a steward that watches it until everything is seen."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...config.settings import Config
from ...findings.check import Check
from ...kube.client import greet
from ...kube.transport import Transport
from ...store.cluster import Cluster
from ...store.kind import ApiKind
from ...store.reader import Reading
from ...store.source import Source, SyncState
from ..output.text.terminal import complain
from .filters import UsageError

if TYPE_CHECKING:
    from ...app import Steward


@dataclass(frozen=True)
class Look:
    """`in_time` is whether everything was seen within --timeout, `unwatched` what may not be watched: it was listed, as
    far as that is allowed.
    """

    steward: Steward
    transport: Transport
    in_time: bool
    unwatched: tuple[ApiKind[Any], ...] = ()
    namespaces: Collection[str] = ()

    async def again(self) -> None:
        """Lists once more what may not be watched; what can't be listed any more is not seen from then on."""
        from ...kube.errors import KubeError

        for kind in self.unwatched:
            try:
                await _look(self.steward, self.transport, (kind,), self.namespaces)
            except KubeError as error:
                why = f"cannot list {kind.resource} again: {error}"
                self.steward.intake.sync_state(kind, SyncState.FAILING, why)


@asynccontextmanager
async def looking(
    arguments: argparse.Namespace,
    config: Config,
    *,
    checks: Iterable[Check] | None = None,
    views: Iterable[Reading] | None = None,
    namespaces: Collection[str] = (),
) -> AsyncIterator[Look]:
    """The cluster that the arguments select, watched while entered. Raises ConfigError where none is configured,
    GreetingError for one that answers nothing, and UsageError where nothing of it may be listed. What may not be
    watched is listed once, and what may not be listed everywhere in the `namespaces`.
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
        unwatched = _forbidden_kinds(steward) if in_time else ()
        if unwatched:
            await _look(steward, transport, unwatched, namespaces)
            in_time = await wait_until_seen(steward, arguments.timeout, complain)
        _refuse_blind(steward.engine.cluster, transport.server, namespaces, named=hasattr(arguments, "namespace"))
        yield Look(steward, transport, in_time, unwatched, namespaces)


def _forbidden_kinds(steward: Steward) -> tuple[ApiKind[Any], ...]:
    forbidden = _forbidden(steward.engine.cluster)
    return tuple(each.kind for each in steward.source.reflectors if each.kind.name in forbidden)


async def _look(
    steward: Steward, transport: Transport, kinds: Collection[ApiKind[Any]], namespaces: Collection[str]
) -> None:
    from ...kube.client import Client, Timeouts
    from ...kube.watch.listing import look_once

    await look_once(Client(transport), steward.intake, kinds, namespaces, Timeouts())


def _forbidden(cluster: Cluster) -> dict[str, Source]:
    """The sources of what may be seen nowhere, by the names of their kinds."""
    sources = (each for each in cluster.all(Source) if each.sync_state is SyncState.FORBIDDEN and not each.within)
    return {each.name: each for each in sources}


def _refuse_blind(cluster: Cluster, server: str, namespaces: Collection[str], *, named: bool) -> None:
    """`named` says whether the command takes a namespace."""
    sources = {each.name for each in cluster.all(Source) if each.sync_state is not SyncState.ABSENT}
    forbidden = _forbidden(cluster)
    if not sources or sources != forbidden.keys():
        return
    first = min(forbidden.values(), key=lambda each: (each.resource != "virtualmachines.kubevirt.io", each.resource))
    hint = ", or name your namespace with -n" if named and not namespaces else ""
    where = f"namespace {', '.join(sorted(namespaces))}" if namespaces else "all namespaces"
    raise UsageError(
        f"forbidden: {server} lets you list none of the required resources, not even {first.resource} in {where}. Ask "
        f"a cluster administrator for a role that can{hint}"
    )


def transport_of(config: Config) -> Transport:
    """Raises ConfigError if no cluster is configured."""
    return Transport.from_environment(config.kubeconfig, config.context)
