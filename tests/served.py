"""A server with any number of findings, without a cluster; and how tests talk to it over a bare socket."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from exporter.config.reloading import ReloadStatus
from exporter.counts import all_states
from exporter.counts.base import Aggregates
from exporter.counts.migrations import MigrationFailures
from exporter.facts.record import Ref
from exporter.findings.check import PER_CLUSTER, Check, Family, Reason
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.metrics import telemetry
from exporter.metrics.exposition import Exposition
from exporter.questions import all_views
from exporter.rules.routing import urgencies
from exporter.serve.access.login import Login
from exporter.serve.application import Guard, build, serving
from exporter.serve.page.frame import Outside
from exporter.serve.reports.listings import Listings
from exporter.serve.reports.result_cache import Versions
from exporter.serve.routes import routes
from exporter.serve.server.certificates import Certificates
from exporter.sidecar import Repairs
from exporter.store.kinds import ipam_claim
from exporter.store.reader import Reader
from tests.evaluation import Evaluation
from tests.rows import full

__all__ = ["Served", "established", "served"]


def many(count: int) -> Check:
    """Finds that many for each IPAMClaim, which each take about a kilobyte."""

    def find(view: object) -> Iterator[Finding]:
        claims = sorted(view.all(ipam_claim.KIND.record), key=lambda each: each.name)  # type: ignore[attr-defined]
        for claim in claims:
            for at in range(count):
                subject = Ref(
                    "IPAMClaim", f"{claim.namespace}-{at % 100:02}", f"{claim.name}-{at:06}", f"{claim.name}{at}"
                )
                yield Finding(
                    reason="Many", severity=Severity.WARNING, subject=subject, message="m" * 500, network="blue"
                )

    family = Family("kubevirt_test_many", "Many.")
    reasons = {"Many": Reason((Severity.WARNING,), "There are many.", family)}
    return Check("many", "Many", (ipam_claim.KIND,), PER_CLUSTER, reasons, find)


class Served:
    listings: Listings

    def __init__(
        self,
        count: int,
        checks: Iterable[Check] = (),
        repairs: Repairs | None = None,
        timer: Callable[[], float] | None = None,
    ) -> None:
        readers: tuple[Reader, ...] = (*all_views(), *all_states())
        indexes = [index for reader in readers for index in reader.indexes]
        self.evaluation = Evaluation([many(count), *checks], indexes=indexes, timer=timer)
        self.engine = self.evaluation.engine
        self.exposition = Exposition(self.engine.checks)
        self.engine.listen(self.exposition.update)
        self.failures = MigrationFailures(self.engine.cluster, self.engine.timer)
        self.repairs = repairs or Repairs()
        self.url = ""
        self.trusts: ssl.SSLContext | None = None  # with TLS: the client's side
        self.see("claim")

    def see(self, name: str) -> None:
        """One more claim, and what is found for it; nobody who waits hears of it yet."""
        self.evaluation.seen(full({"kind": "IPAMClaim", "name": name}))
        self.evaluation.evaluate()

    async def notify(self) -> None:
        async with self.engine.changed:
            self.engine.changed.notify_all()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.trusts)

    async def raw(self, request: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the answer to the text of a request, which closes the connection."""
        reader, writer = await self.connect()
        writer.write(request.encode("latin-1"))
        async with asyncio.timeout(30):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        lines = head.decode("latin-1").split("\r\n")
        return int(lines[0].split()[1]), dict(line.split(": ", 1) for line in lines[1:]), body

    async def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """The names of headers are written with _ for -. Host is 127.0.0.1 unless it is given."""
        given = {"Host": "127.0.0.1", **{name.replace("_", "-"): value for name, value in headers.items()}}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        status, answered, body = await self.raw(f"{method} {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n")
        chunked = any(name.lower() == "transfer-encoding" and "chunked" in text for name, text in answered.items())
        return status, answered, _joined(body) if chunked and method != "HEAD" else body


def _joined(body: bytes) -> bytes:
    """The chunks of a body, put together."""
    found = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        found.append(rest[:length])
        body = rest[length + 2 :] if length else b""
    return b"".join(found)


@asynccontextmanager
async def served(
    count: int = 3,
    host: str = "127.0.0.1",
    checks: Iterable[Check] = (),
    repairs: Repairs | None = None,
    guard: Guard | None = None,
    door: Login | None = None,
    tls: tuple[Certificates, ssl.SSLContext] | None = None,
    hosts: Iterable[str] = (),
    timer: Callable[[], float] | None = None,
    outside: Outside | None = None,
) -> AsyncIterator[Served]:
    """With these checks beside that of the many findings. `tls` has both sides of it; `door` is where one logs in."""
    made = Served(count, checks, repairs, timer)
    certificates, made.trusts = tls or (None, None)
    aggregates = Aggregates(made.engine.cluster, all_states())
    made.engine.observe(aggregates.changed)
    made.engine.observe(made.failures.changed)
    own = telemetry.Served(expires=lambda: None if certificates is None else certificates.expires)
    config = ReloadStatus(tried=1.0)
    registry = telemetry.registry_of(
        telemetry.Telemetry(made.engine, made.exposition, (), own, config, failures=made.failures.by_class)
    )
    versions = Versions(made.engine, made.repairs)
    made.listings = Listings(made.engine, versions)
    shown = routes(
        engine=made.engine,
        aggregates=aggregates,
        failures=made.failures,
        exposition=made.exposition,
        registry=registry,
        served=own,
        config=config,
        title="test",
        versions=versions,
        listings=made.listings,
        urgencies=urgencies(),
        outside=outside,
    )
    gets, posts = (door.gets, door.posts) if door else ({}, {})
    app = build(made.engine, {**shown, **gets}, own.requests, guard, posts)
    async with serving(app, host, 0, certificates, hosts) as made.url:
        yield made


def established(port: int) -> list[str]:
    """The peers of the connections to a port that are open on the server's side."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return [row[2] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "01"]
