"""`steward networks`: state and IP usage of each network, and its reclaimable addresses."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import deque
from collections.abc import Mapping

import msgspec

from ...config.settings import Config
from ...counts.addresses import AddressUsage
from ...dump import read_dump
from ...engine.engine import Engine
from ...offline.files import DumpError
from ...questions.nearest import meant, shortened
from ...questions.networks import STATES, NetworkReport, Networks, take
from ...questions.trust import exit_code
from ..input.config import configured
from ..input.filters import UsageError
from ..input.once import all_undated, complain_if_late, of_running, progress_line, refuse_complete_without_dump
from ..output.text.layout import grid, written
from ..output.text.screen import width
from ..output.text.terminal import complain, one_line, say

# Networks as text: state and IP usage, then what is not ready, then what is reclaimable.

_SHOWN = 10  # reclaimable IPAMClaims of one network


def listed_networks(networks: Networks, columns: int | None) -> str:
    """`columns` of the terminal; None where it goes elsewhere."""
    usage = grid(_HEAD, [row for each in networks.networks for row in _rows(each)], columns)
    return "\n".join([usage, *_not_ready(networks, columns), *_reclaims(networks, columns)])


_HEAD = ("NETWORK", "STATE", "SUBNET", "USED", "CAPACITY", "FREE", "UTILIZATION", "USED BY")


def _rows(network: NetworkReport) -> list[tuple[str, ...]]:
    if not network.subnets:
        without = f"{network.topology}: no subnets" if network.nads else "no NAD"
        return [(network.network, STATES[network.state.state], "-", "-", "-", "-", "-", without)]
    return [
        (
            network.network,
            STATES[network.state.state],
            subnet.subnet,
            str(subnet.used),
            str(subnet.capacity),
            str(subnet.free),
            f"{int(subnet.utilisation * 100)} %" + ("" if network.complete else " or more"),
            (_counts(subnet.usage) or "-") + ("" if at or not network.elsewhere else _outside(network)),
        )
        for at, subnet in enumerate(network.subnets)
    ]


def _not_ready(networks: Networks, columns: int | None) -> list[str]:
    rows = [
        (each.network, STATES[each.state.state], each.state.since or "-", one_line(each.state.why))
        for each in networks.networks
        if each.state.state != "ready"
    ]
    return [grid(("NOT READY", "STATE", "SINCE", "WHY"), rows, columns)] if rows else []


def _counts(usage: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {use}" for use, count in usage.items() if count)


def _outside(network: NetworkReport) -> str:
    places = (f"{place} {_counts(usage)}" for place, usage in network.outside.items())
    return f"; beside its capacity: {'; '.join(places)}"


def _reclaims(networks: Networks, columns: int | None) -> list[str]:
    parts = []
    for network in networks.networks:
        if network.reclaim:
            rows = [(each.claim.path, each.reason, ", ".join(each.ips), each.loss) for each in network.reclaim[:_SHOWN]]
            count = f"{network.reclaimable} {'addresses' if network.reclaimable > 1 else 'address'}"
            title = f"{count} of {one_line(network.network)} reclaimable, the safest first:\n"
            parts.append(title + grid(("IPAMCLAIM", "REASON", "ADDRESSES", "LOSS"), rows, columns))
            if (more := len(network.reclaim) - _SHOWN) > 0:
                parts.append(f"and {more:,} more; `-o json` has all of them.\n")
    return parts


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        refuse_complete_without_dump(arguments)
        networks, in_time = asyncio.run(_found(arguments, config))
    except (UsageError, DumpError) as error:
        complain(str(error))
        return 2
    say(written(networks, arguments.output, lambda each: listed_networks(each, width())), arguments.output)
    complain_if_late(arguments, in_time)
    if networks.unseen:
        complain(f"nothing is counted while {', '.join(networks.unseen)} can't be seen")
    blind = bool(networks.unseen) or not all(each.complete for each in networks.networks)
    return exit_code(unknown=blind or not in_time)


async def _found(arguments: argparse.Namespace, config: Config) -> tuple[Networks, bool]:
    if of_running(arguments):
        from ..input.running import answer_of  # not for a dump

        return _chosen(await answer_of(arguments, "/api/v1/networks", Networks), arguments.network), True
    found, in_time = await (_look if arguments.dump is None else _read)(arguments, config)
    return all_undated(found), in_time


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Networks, bool]:
    from ..input.looking import looking  # not for a dump

    async with looking(arguments, config) as look:
        steward = look.steward
        return _report(steward.engine, steward.aggregates.of(AddressUsage), arguments.network), look.in_time


async def _read(arguments: argparse.Namespace, config: Config) -> tuple[Networks, bool]:
    with progress_line() as progress:
        engine, _ = await read_dump(arguments.dump, time.time(), config, complete=arguments.complete, progress=progress)
    return _report(engine, AddressUsage.over(engine.cluster), arguments.network), True


def _report(engine: Engine, usage: AddressUsage, only: str) -> Networks:
    """Raises UsageError where there is no network of the name."""
    deque(usage.settle(), maxlen=0)
    return _chosen(take(engine.cluster, usage, engine.findings(), engine.generation), only)


def _chosen(every: Networks, only: str) -> Networks:
    """Raises UsageError where there is no network of the name."""
    chosen = tuple(each for each in every.networks if only in ("", each.network))
    if only and not chosen and not every.unseen:
        names = (each.network for each in every.networks)
        raise UsageError(f"no network is called {shortened(only)!r}; {meant(only, names, 'networks')}")
    return msgspec.structs.replace(every, networks=chosen)
