"""The only place that constructs cluster, engine, source and server, and ends them in order."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from .checks import all_checks
from .config.reloading import ReloadStatus
from .config.settings import Config, LoginSettings, ReconcileSettings
from .counts import all_states
from .counts.base import Aggregates
from .counts.migrations import MigrationFailures
from .dump import configure
from .engine.engine import Engine
from .engine.intake import Intake
from .findings.check import Check
from .kube.background import alongside
from .kube.client import Timeouts
from .kube.reviews import Reviews
from .kube.transport import Transport
from .kube.watch.reflector import LiveSource
from .metrics.exposition import Causes, Exposition
from .metrics.states import States
from .metrics.telemetry import Served, Telemetry, registry_of
from .metrics.text import Profile, SeriesLimit
from .offline.source import DumpSource, Progress
from .questions import all_views
from .rules.routing import urgencies
from .serve.access.access import Access
from .serve.access.browsers import Sessions
from .serve.access.decisions import Times
from .serve.access.login import Login
from .serve.application import build, serving
from .serve.page.frame import Outside
from .serve.reports.listings import Listings
from .serve.reports.result_cache import Versions
from .serve.routes import FOR_TENANTS, UNASKED, routes
from .serve.server.certificates import Certificates
from .sidecar import Follower, Repairs
from .store.kind import Kind
from .store.reader import Reader, Reading, watched
from .store.source import Source, SyncState

__all__ = ["Steward", "assemble", "assemble_dump", "serve", "wait_until_seen"]

# Waits until a steward has seen its cluster.


async def wait_until_seen(steward: Steward, seconds: float, say: Callable[[str], None] = lambda _: None) -> bool:
    """Waits until every kind is settled and everything is evaluated; False on timeout.

    A failing kind is waited for, since API servers restart; `say` is called once with its reason.
    """
    engine = steward.engine
    reported = False

    def seen() -> bool:
        nonlocal reported
        sources = tuple(engine.cluster.all(Source))
        failing = [source for source in sources if source.sync_state is SyncState.FAILING]
        if failing and not reported:
            reported = True
            say(f"{failing[0].why}; trying again for up to {seconds:.0f} s")
        return all(source.settled for source in sources) and engine.caught_up

    try:
        async with asyncio.timeout(seconds), engine.changed:
            await engine.changed.wait_for(seen)
    except TimeoutError:
        return False
    return True


@dataclass(frozen=True)
class Steward:
    engine: Engine
    intake: Intake
    source: LiveSource | DumpSource
    exposition: Exposition
    aggregates: Aggregates
    failures: MigrationFailures
    outside: Outside
    repairs: Repairs = field(default_factory=Repairs)
    follower: Follower | None = None
    profile: Profile = Profile.DEFAULT
    config: ReloadStatus = field(default_factory=lambda: ReloadStatus(tried=time.time()))

    def take(self, config: Config) -> None:
        """Applies the settings that can change while running."""
        self.engine.settle = config.settle.total_seconds()
        self.intake.assume(config.assume_upstream_version or "")
        self.exposition.series_limit = _series_limit(config)
        self.outside.take(config)
        configure(self.engine, config)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Watches and evaluates while entered; an unexpected error is raised in the block."""
        async with alongside({"evaluate": self.engine.run()}), self.source.watching():
            yield


def assemble(
    transport: Transport,
    config: Config | None = None,
    *,
    checks: Iterable[Check] | None = None,
    views: Iterable[Reading] | None = None,
    pace: Timeouts | None = None,
    settle: float | None = None,
) -> Steward:
    """`views` are those that will be asked for, all by default: what they read is watched. `pace` and `settle`
    (seconds) override those of the configuration, and may be out of its ranges.
    """
    config = config or Config()
    paced = pace or _pace(config)
    steward = _around(lambda kinds, intake: LiveSource(transport, kinds, intake, paced), config, checks, views)
    if settle is not None:
        steward.engine.settle = settle
    return steward


async def assemble_dump(path: str, now: float, config: Config, *, complete: bool, progress: Progress) -> Steward:
    """Of a dump, read and evaluated as of `now`, in seconds since 1970. Raises DumpError."""
    # No sidecar knows of it.
    alone = config.model_copy(update={"reconcile": ReconcileSettings()})
    sources: list[DumpSource] = []

    def of(kinds: Iterable[Kind[Any]], intake: Intake) -> DumpSource:
        sources.append(DumpSource(path, kinds, intake, complete=complete))
        return sources[0]

    steward = _around(of, alone, clock=lambda: now)
    await sources[0].read(progress)
    steward.engine.settle = 0.0  # nothing else is on its way
    while steward.engine.step():
        pass
    return steward


def _around(
    source_of: Callable[[Iterable[Kind[Any]], Intake], LiveSource | DumpSource],
    config: Config,
    checks: Iterable[Check] | None = None,
    views: Iterable[Reading] | None = None,
    clock: Callable[[], float] | None = None,
) -> Steward:
    """All that is around a source; a `clock` of its own is that of a single look."""
    enabled = [check for check in checks or all_checks() if config.of(check.id).enabled]
    states = [state.of(config.metrics) for state in all_states() if state.wanted(config.metrics)]
    readers: tuple[Reader, ...] = (*states, *all_views())
    asked_for = all_views() if views is None else views
    engine = Engine(enabled, clock=clock or time.time, timer=time.monotonic, readers=readers, initial=clock is not None)
    asking: tuple[Reader, ...] = (*engine.checks, *(state for state in states if state.option), *asked_for)
    aggregates = Aggregates(engine.cluster, states)
    limit = _series_limit(config)
    profile = Profile(config.metrics.profile)
    states_text = States(engine.cluster, aggregates, limit, profile)
    exposition = Exposition(engine.checks, limit, states_text, Causes(engine.causes))
    engine.listen(exposition.update)
    failures = MigrationFailures(engine.cluster, time.monotonic)
    engine.observe(aggregates.changed)
    engine.observe(failures.changed)
    intake = Intake(engine, clock or time.time)
    source = source_of(watched(asking), intake)
    repairs = Repairs(time.time() if config.reconcile.url else None)
    follower = Follower(config.reconcile, repairs) if config.reconcile.url else None
    steward = Steward(
        engine=engine,
        intake=intake,
        source=source,
        exposition=exposition,
        aggregates=aggregates,
        failures=failures,
        outside=Outside(),
        repairs=repairs,
        follower=follower,
        profile=profile,
    )
    steward.take(config)
    return steward


def _series_limit(config: Config) -> SeriesLimit:
    return SeriesLimit(config.series_limit.family, config.series_limit.total)


def _pace(config: Config) -> Timeouts:
    pace = config.pace
    return Timeouts(
        watch=pace.watch.total_seconds(),
        stale_after=pace.stale_after.total_seconds(),
        look_again=pace.look_again.total_seconds(),
        longest_wait=pace.longest_wait.total_seconds(),
    )


@asynccontextmanager
async def serve(
    steward: Steward,
    host: str,
    port: int,
    title: str = "kubevirt-steward",
    *,
    tls: Certificates | None = None,
    hosts: Iterable[str] = (),
    login: LoginSettings | None = None,
    reviews: Reviews | None = None,
    times: Times | None = None,
) -> AsyncIterator[str]:
    """Watches, evaluates and serves while entered; gives the URL. With `tls` only those are answered who may see what
    they ask for, by the `reviews` of the API server. Without it is plain HTTP, also for those who ask for one of
    `hosts`. Raises OSError if the port is in use.
    """
    # Records are not tracked by the garbage collector: a high threshold costs no memory, and halves decoding time. The
    # second one keeps a collection of what is young under 20 ms.
    gc.set_threshold(10_000, 5, 5000)
    gc.collect()  # what was imported, before anybody is kept waiting by it
    gc.freeze()
    served, source = Served(expires=lambda: None if tls is None else tls.expires), steward.source
    if tls is not None and isinstance(source, LiveSource):
        reviews = reviews or Reviews(source.transport)
    telemetry = Telemetry(
        steward.engine,
        steward.exposition,
        source.reflectors,
        served,
        steward.config,
        source.requests,
        reviews.counts if reviews else {},
        source.skew,
        steward.failures.by_class,
        steward.profile,
    )
    versions = Versions(steward.engine, steward.repairs)
    listings = Listings(steward.engine, versions)
    shown = routes(
        engine=steward.engine,
        aggregates=steward.aggregates,
        failures=steward.failures,
        exposition=steward.exposition,
        registry=registry_of(telemetry),
        served=served,
        config=steward.config,
        title=title,
        versions=versions,
        listings=listings,
        urgencies=urgencies(),
        outside=steward.outside,
    )
    login = login or LoginSettings()
    sessions = Sessions(login.session.total_seconds())
    access = _access(steward, reviews, listings, login, sessions, times) if reviews else None
    door = Login(access.user, sessions) if access else None
    gets, posts = (door.gets, door.posts) if door else ({}, {})
    app = build(steward.engine, {**shown, **gets}, served.requests, access, posts)
    async with (
        serving(app, host, port, tls, hosts) as url,
        steward.watching(),
        aclosing(access) if access else nullcontext(),
        alongside(_jobs(steward)),
    ):
        yield url


def _access(
    steward: Steward,
    reviews: Reviews,
    listings: Listings,
    login: LoginSettings,
    sessions: Sessions,
    times: Times | None,
) -> Access:
    return Access(
        reviews,
        tenants=FOR_TENANTS,
        others=UNASKED,
        sessions=sessions,
        token_header=login.token_header,
        namespaces=listings.namespaces,
        uid_of=listings.uid_of,
        listed=lambda: steward.engine.ready,
        times=times,
    )


def _jobs(steward: Steward) -> dict[str, Coroutine[Any, Any, None]]:
    jobs: dict[str, Coroutine[Any, Any, None]] = {"freeze": _freeze_when_ready(steward.engine)}
    if steward.follower is not None:
        jobs["follow repairs"] = steward.follower.run()
    return jobs


async def _freeze_when_ready(engine: Engine) -> None:
    """What exists when the steward becomes ready stays: the garbage collector need not scan it again. It does not scan
    all of it now either, which takes 70 ms of 10,000 VMs: what is garbage by then was found while it was young.
    """
    async with engine.changed:
        await engine.changed.wait_for(lambda: engine.ready)
    gc.collect(0)
    gc.freeze()
