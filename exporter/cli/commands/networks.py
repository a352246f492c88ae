"""`steward networks`: state and IP usage of each network, and its reclaimable addresses."""

from __future__ import annotations

from collections.abc import Mapping

from ...questions.networks import QUESTION, STATES, NetworkReport, Networks, chosen
from ...questions.trust import exit_code
from ..asking import CommandQuestion
from ..output.text.layout import grid
from ..output.text.terminal import one_line

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


def _code(found: Networks, in_time: bool) -> int:
    blind = bool(found.unseen) or not all(each.complete for each in found.networks)
    return exit_code(unknown=blind or not in_time)


run = CommandQuestion(
    QUESTION,
    text=lambda found, _, columns, __: listed_networks(found, columns),
    code=_code,
    formats={"name": lambda found: "".join(f"network/{each.network}\n" for each in found.networks)},
    chosen=chosen,
    lacking=lambda found, _: [f"nothing is counted while {', '.join(found.unseen)} can't be seen"] * bool(found.unseen),
).run
