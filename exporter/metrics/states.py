"""State families: what is, beside what is wrong. They are there for each network, whether or not it has a finding.

A scrape takes what changed since the last one into account and renders counts that are kept; it never counts the fleet.
While a kind can't be seen that the counts are made of, there are none: absent is not zero.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from ..model.cluster import Cluster
from ..networks import subnet_reports, unseen
from ..uses import Uses
from .text import escaped, head

__all__ = ["STATES", "State", "States"]

_SLICE = 1000  # lines written between two looks at the event loop

Sample = tuple[tuple[str, ...], float]


@dataclass(frozen=True)
class State:
    """A gauge; `samples` gives label values and value for one network."""

    name: str
    help: str
    labels: tuple[str, ...]
    samples: Callable[[Uses, str], Iterator[Sample]]
    stability: str = "experimental"


def _capacity(uses: Uses, network: str) -> Iterator[Sample]:
    for subnet in subnet_reports(uses, network):
        yield (network, subnet.subnet), subnet.capacity


def _used(uses: Uses, network: str) -> Iterator[Sample]:
    for subnet in subnet_reports(uses, network):
        for use, count in subnet.uses.items():
            yield (network, subnet.subnet, use), count
        yield (network, subnet.subnet, "excluded"), subnet.excluded
        yield (network, subnet.subnet, "infrastructure"), subnet.infrastructure


STATES = (
    State(
        "kubevirt_network_pool_capacity",
        "Addresses that a subnet of a network can give out by itself.",
        ("network", "subnet"),
        _capacity,
    ),
    State(
        "kubevirt_network_pool_used",
        "Addresses of a subnet by what they are used for; excluded and infrastructure are not part of the capacity.",
        ("network", "subnet", "use"),
        _used,
    ),
)


class States:
    def __init__(self, cluster: Cluster, uses: Uses, budget: int = 50_000) -> None:
        """`budget` is the number of series of one family; networks late in the alphabet are left out first."""
        self._cluster, self._uses, self._budget = cluster, uses, budget
        self.left_out = dict.fromkeys((state.name for state in STATES), 0)

    async def render(self) -> AsyncIterator[bytes]:
        for _ in self._uses.settle():
            await asyncio.sleep(0)
        networks = [] if unseen(self._cluster) else self._uses.networks()
        for state in STATES:
            yield head(state.name, state.help)
            lines: list[str] = []
            total = 0
            for network in networks:
                samples = list(state.samples(self._uses, network))
                total += len(samples)
                if total <= self._budget:
                    lines += [_line(state, values, value) for values, value in samples]
                if len(lines) >= _SLICE:
                    yield "".join(lines).encode()
                    lines.clear()
                    await asyncio.sleep(0)
            yield "".join(lines).encode()
            self.left_out[state.name] = max(0, total - self._budget)


def _line(state: State, values: tuple[str, ...], value: float) -> str:
    block = ",".join(f'{label}="{escaped(text)}"' for label, text in zip(state.labels, values, strict=True))
    return f"{state.name}{{{block}}} {value:g}\n"
