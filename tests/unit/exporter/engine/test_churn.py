"""Namespaces come and go: what is kept of those that are gone does not grow with their number."""

from __future__ import annotations

import gc
import types
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.counts import all_states
from exporter.counts.base import Aggregates
from exporter.metrics.exposition import Exposition
from exporter.questions.findings import Filter
from exporter.serve.access.viewer import Visible
from exporter.serve.reports.listings import Listings
from exporter.serve.reports.result_cache import Versions
from exporter.sidecar import Repairs
from tests.evaluation import Evaluation
from tests.rows import full

pytestmark = pytest.mark.long

UUID = "5a9fc181-957e-5c32-9e5a-2de5e9673531"
MOST = 100  # tables of bounded size fill up meanwhile


class Churned:
    """A steward without a server, and namespaces that pass through it."""

    def __init__(self) -> None:
        readers = all_states()
        indexes = [index for reader in readers for index in reader.indexes]
        self.evaluation = Evaluation(all_checks(), indexes=indexes)
        engine = self.evaluation.engine
        engine.causes.history.most = MOST  # reached before anything is counted
        self.exposition = Exposition(engine.checks)
        engine.listen(self.exposition.update)
        self.aggregates = Aggregates(engine.cluster, readers)
        engine.observe(self.aggregates.changed)
        self.listings = Listings(engine, Versions(engine, Repairs()))
        self.evaluation.seen(
            full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4"})
        )
        for at in range(3):
            self.evaluation.seen(full({"kind": "Node", "name": f"n{at}"}))
        self.evaluation.evaluate()

    async def pass_through(self, name: str) -> None:
        rows: list[dict[str, Any]] = [
            {"kind": "Namespace", "name": name},
            {
                "kind": "VirtualMachine",
                "name": "db",
                "uid": f"u-{name}",
                "uuid": UUID,
                "runStrategy": "Always",
                "template": {"nodeSelector": {"pool": name}},
                "domain": {"devices": {"downwardMetrics": {}}},
            },
            {"kind": "VirtualMachineInstance", "name": "db", "uid": f"i-{name}", "vm": f"u-{name}", "uuid": UUID},
            {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": f"u-{name}"},
        ]
        things = [full(row if row["kind"] == "Namespace" else row | {"namespace": name}) for row in rows]
        for thing in things:
            self.evaluation.seen(thing)
        self.evaluation.evaluate()
        listing = self.listings.of(Visible(frozenset([name])))
        assert await listing.chosen(Filter())
        await listing.encoded(Filter())
        for thing in reversed(things):
            meta = thing["metadata"]
            self.evaluation.gone(thing["kind"], meta.get("namespace", name), meta["name"])
        self.evaluation.evaluate()
        assert not await listing.chosen(Filter())
        for _ in self.aggregates.settle():
            pass


def held(root: object) -> Counter[str]:
    """How many entries there are in all containers that an object leads to, by what holds the container."""
    found: Counter[str] = Counter()
    seen, rest = {id(root)}, deque[tuple[str, Any]]([("", root)])
    while rest:
        owner, each = rest.popleft()
        if isinstance(each, dict | set | list | deque):
            found[owner] += len(each)
        for name, part in _parts(each):
            if id(part) not in seen and not isinstance(part, _FIXED):
                seen.add(id(part))
                rest.append((f"{type(each).__name__}.{name}" if name else owner, part))
    return found


_FIXED = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.FrameType,
    str,
    int,
    float,
    bytes,
)


def _parts(thing: object) -> Iterator[tuple[str, object]]:
    own = getattr(thing, "__dict__", None) or {}
    names = {id(part): name for name, part in own.items()}
    names |= {id(getattr(thing, name, None)): name for name in getattr(type(thing), "__slots__", ())}
    for part in [*own.values(), *gc.get_referents(thing)]:
        if part is not own:
            yield names.get(id(part), ""), part


async def test_nothing_is_kept_of_a_thousand_namespaces_that_are_gone() -> None:
    churned = Churned()
    for at in range(MOST):
        await churned.pass_through(f"early-{at:04}")
    before = held(churned)
    for at in range(1000):
        await churned.pass_through(f"late-{at:05}")
    after = held(churned)

    assert {name: (before[name], count) for name, count in after.items() if count > before[name] + 20} == {}
