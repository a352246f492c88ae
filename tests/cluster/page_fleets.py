"""Fleets of every sort that pages are looked at with, each served until it is left."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from demo.fleet.sample import sample_fleet
from exporter.app import assemble_dump, serve
from exporter.config.settings import Config
from exporter.store.source import SyncState
from tests.cluster.demo_process import Demo, running_demo
from tests.dumps import many
from tests.served import Served, served

from ..asking import by_header
from ..cause_counts import causes_of_vms

__all__ = ["Fleet", "demo_paths", "fleets"]

_FEW = ("/", "/findings", "/health")


@dataclass(frozen=True)
class Fleet:
    """The pages of one, and what is sent with each request for them."""

    name: str
    url: str
    paths: tuple[str, ...]
    headers: Mapping[str, str] = field(default_factory=dict)


def demo_paths(demo: Demo) -> list[str]:
    """A page of each kind."""
    found = demo.findings()
    worst, longest = found[0], max(found, key=lambda each: len(each["commands"]))
    return [
        *("/", "/findings", "/findings?severity=critical&severity=warning", "/findings?reason=nothing-like-it"),
        *(f"/findings/{worst['fingerprint']}", f"/findings/{longest['fingerprint']}"),
        f"/findings?cause={worst['cause']}",
        *("/vms/", "/vms/?cannot=migrate&sort=findings", "/maintenance", "/upgrade", "/upgrade?to=nothing"),
        *("/vms/billing/oracle-1", "/vms/nowhere/nothing", "/nodes/", "/nodes/node05", "/networks/"),
        *("/networks/telecom-signalling", "/instancetypes/", "/instancetypes/u1.medium", "/features/"),
        *("/features/vsock", "/drain", "/drain?node=node05", "/drain?node=nothing", "/impact"),
        *("/impact?upgrade-to=1.9", "/repairs", "/health", "/runbooks/", "/runbooks/VMInstancetypeMissing.md"),
        "/search?q=lab",
    ]


@asynccontextmanager
async def fleets(folder: Path) -> AsyncIterator[list[Fleet]]:
    async with AsyncExitStack() as stack:
        demo = stack.enter_context(running_demo())
        crowd = await stack.enter_async_context(served(0, checks=[causes_of_vms(20, 5000)]))
        causes = await stack.enter_async_context(served(0, checks=[causes_of_vms(5000, 5000)]))
        none = await stack.enter_async_context(served(0))
        blind = await stack.enter_async_context(served(0))
        for name in blind.evaluation.kinds:
            blind.evaluation.sync_state(name, SyncState.FORBIDDEN)
        blind.evaluation.evaluate()
        tenant = await stack.enter_async_context(served(0, checks=[causes_of_vms(20, 5000)], guard=by_header))
        dump = folder / "dump.yaml"
        dump.write_text(many(sample_fleet(datetime.now(UTC)).objects), encoding="utf-8")
        steward = await assemble_dump(str(dump), time.time(), Config(), complete=True, progress=lambda _: None)
        of_dump = await stack.enter_async_context(serve(steward, "127.0.0.1", 0, "dump.yaml"))
        first = next(iter(steward.engine.findings()))
        empty = ("/", "/findings", "/health", "/nodes/", "/networks/", "/instancetypes/", "/features/", "/drain")
        yield [
            Fleet("demo", demo.url.rstrip("/"), tuple(demo_paths(demo))),
            Fleet("5,000 findings of 20 causes", crowd.url, (*_FEW, *_of_first(crowd), "/search?q=vm-0001")),
            Fleet("5,000 findings of 5,000 causes", causes.url, (*_FEW, *_of_first(causes))),
            Fleet("none", none.url, (*empty, "/impact", "/repairs")),
            Fleet("blind", blind.url, (*empty, "/impact", "/repairs")),
            Fleet(
                "tenant",
                tenant.url,
                (*_FEW, "/findings?severity=critical", _of_first(tenant)[1], "/search?q=vm-00000", "/runbooks/"),
                {"Tenant": "ns-00 ns-01"},
            ),
            Fleet("dump", of_dump, (*_FEW, f"/findings/{first.fingerprint}", "/vms/billing/oracle-1", "/drain")),
        ]


def _of_first(made: Served) -> tuple[str, str]:
    first = next(iter(made.engine.findings()))
    return f"/findings?cause={first.cause}", f"/findings/{first.fingerprint}"
