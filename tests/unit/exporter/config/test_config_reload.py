"""A configuration that changes while the steward serves the demo's fleet."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import msgspec
import pytest

from demo.apiserver.server import kubeconfig
from exporter.app import Steward, assemble, serve, wait_until_seen
from exporter.checks import all_checks
from exporter.cli.commands.serve import follow
from exporter.config.file import digest_of
from exporter.config.loading import Loaded, Sources, load
from exporter.config.mistakes import Mistakes
from exporter.config.reloading import Reloading, ReloadStatus, Watched
from exporter.findings.check import PER_VM, Check, Family, Reason, Setting, View
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.kube.transport import Transport
from exporter.metrics.exposition import Exposition
from exporter.metrics.text import SeriesLimit
from exporter.questions import all_views
from exporter.store.kinds import ipam_claim
from exporter.store.kinds.kube_virt import KubeVirt
from reconcile.config.loading import LoadedSidecar
from reconcile.config.loading import load as load_sidecar
from tests.exposed import names, orphan
from tests.fakeapi.apiserver import FakeApiServer


class NameSettings(msgspec.Struct, frozen=True, rename="camel"):
    longest_name: Annotated[int, Setting("The longest name.", "characters", low=0, high=63)] = 63


def long_names(view: View) -> Iterator[Finding]:
    for claim in view.all(ipam_claim.IPAMClaim):
        if len(claim.name) > view.settings.longest_name:
            yield Finding(reason="LongName", severity=Severity.INFO, subject=claim.ref, message="it is long")


NAMES = Check(
    id="names",
    title="Names",
    reads=(ipam_claim.KIND,),
    scope=PER_VM,
    reasons={"LongName": Reason((Severity.INFO,), "Long.", Family("kubevirt_name_long", "Long."))},
    find=long_names,
    settings=NameSettings,
)
CHECKS = (*all_checks(), NAMES)


pytestmark = pytest.mark.usefixtures("root_logger")


@dataclass
class Served:
    """A steward that serves and follows `file`."""

    steward: Steward
    file: Path
    http: aiohttp.ClientSession

    async def text(self, path: str = "/metrics") -> str:
        async with self.http.get(path) as answer:
            return await answer.text()

    async def value(self, name: str) -> float:
        return float((re.search(rf"^kubevirt_steward_{name} (.*)$", await self.text(), re.M) or ["", "nan"])[1])

    async def dropped(self) -> float:
        found = re.findall(
            r'^kubevirt_steward_series_dropped\{family="kubevirt_ipam.*"\} (.*)$', await self.text(), re.M
        )
        return sum(map(float, found))


async def until(so: Callable[[], Awaitable[bool]], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not await so():  # noqa: ASYNC110 # what is waited for is reported by HTTP
            await asyncio.sleep(0.02)


@asynccontextmanager
async def served(cluster: FakeApiServer, folder: Path, text: str, look: float = 0.02) -> AsyncIterator[Served]:
    file = folder / "config.yaml"
    file.write_text(text)
    sources = Sources(file, {}, {})
    loaded = load(CHECKS, sources)
    assert isinstance(loaded, Loaded), str(loaded)
    transport = Transport.from_environment(str(kubeconfig(folder, cluster.url)))
    steward = assemble(transport, loaded.config, checks=CHECKS)
    async with serve(steward, "127.0.0.1", 0) as url, aiohttp.ClientSession(base_url=url) as http:
        following = asyncio.create_task(follow(steward, loaded, sources, look=look, checks=CHECKS))
        try:
            assert await wait_until_seen(steward, 30)
            yield Served(steward, file, http)
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following


GOOD = "settle: 10ms\nlogLevel: error\nseriesLimit: {family: 1000}\n"


async def test_good_then_bad_then_good_again(
    cluster: FakeApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(cluster, tmp_path, GOOD) as steward:

        async def takes(text: str, success: float = 1.0) -> None:
            """Writes the file, and waits until it was looked at."""
            before = await steward.value("config_reload_timestamp_seconds")
            steward.file.write_text(text)

            async def looked_at() -> bool:
                return await steward.value("config_reload_timestamp_seconds") > before

            await until(looked_at)
            assert await steward.value("config_reload_success") == success

        def has(text: str) -> str:
            return f'kubevirt_steward_config_info{{hash="{digest_of(text.encode())}"}} 1.0'

        assert has(GOOD) in await steward.text()
        assert await steward.value("config_reload_success") == 1
        assert await steward.value("config_reload_timestamp_seconds") > 1e9
        assert await steward.dropped() == 0

        less = "logLevel: info\nsettle: 20ms\nseriesLimit: {family: 2}\nchecks: {names: {longestName: 1}}\n"
        await takes(less)
        assert has(less) in await steward.text()
        assert await steward.dropped() > 0
        assert logging.root.level == logging.INFO
        assert steward.steward.engine.settle == 0.02

        async def all_names_are_long() -> bool:
            return 'check="names",reason="LongName",severity="info"} 0' not in await steward.text()

        await until(all_names_are_long)

        dropped = await steward.dropped()
        await takes("seriesLimit: {familly: 7}\nlogLevel: 3\n", success=0.0)
        page = await steward.text("/health")
        assert "Configuration invalid" in page
        assert "<code>seriesLimit.familly</code>: no such key. Did you mean &#34;family&#34;?" in page
        assert has(less) in await steward.text()
        assert await steward.dropped() == dropped
        assert logging.root.level == logging.INFO
        assert 'event="configuration rejected"' in caplog.text
        assert "logLevel: 3 is unknown" in caplog.text

        await takes(GOOD)
        assert has(GOOD) in await steward.text()
        assert await steward.dropped() == 0
        assert "Configuration invalid" not in await steward.text("/health")


LOADS: dict[str, Callable[[Path | None], Loaded | LoadedSidecar | Mistakes]] = {
    "exporter": lambda file: load(all_checks(), Sources(file, {}, {})),
    "sidecar": lambda file: load_sidecar((), file),
}


@pytest.mark.parametrize("whose", LOADS)
def test_a_file_that_has_become_empty_is_a_mistake_and_changes_nothing(whose: str, tmp_path: Path) -> None:
    file, taken = tmp_path / "c.yaml", list[Any]()

    def reloading(text: str) -> Reloading[Any]:
        file.write_text(text)
        taken.clear()
        return Reloading(LOADS[whose](file), lambda: LOADS[whose](file), taken.append, ReloadStatus())

    missed = []
    for empty in ("", "\n", "# all of it is gone\n", "---\n", "null\n", "~"):
        made = reloading("logFormat: json\n" if whose == "exporter" else "interval: 1m\n")
        known = made.status.digest
        file.write_text(empty)
        made.now()
        said = made.status.mistakes.each if made.status.mistakes else ()
        if taken or made.status.digest != known or [each.place for each in said] != [str(file)]:
            missed.append(empty)
        assert all("the file is empty" in each.what and "write {} into it" in each.what for each in said)
        file.write_text("{}\n")
        made.now()
        assert (made.status.mistakes, made.status.digest, len(taken)) == (None, digest_of(b"{}\n"), 1)
    assert missed == []
    made = reloading("")  # as it was started
    made.now()
    assert (made.status.mistakes, len(taken)) == (None, 1)
    without = Reloading[Any](LOADS[whose](None), lambda: LOADS[whose](None), taken.append, ReloadStatus())
    without.now()
    assert (without.status.mistakes, len(taken)) == (None, 2)


async def test_what_takes_effect_at_the_next_start_is_reported_and_counts_as_success(
    cluster: FakeApiServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said = "listen changed. It takes effect at the next start"
    async with served(cluster, tmp_path, GOOD) as steward:

        async def reported() -> bool:
            return said in await steward.text("/health")

        async def untold() -> bool:
            return not await reported()

        steward.file.write_text("listen: 127.0.0.1:1\npace: {watch: 1m}\nchecks: {sources: {enabled: false}}\n")
        await until(reported)
        page = await steward.text("/health")
        assert "pace.watch changed" in page
        assert "checks.sources.enabled changed" in page
        assert "seriesLimit.family" not in page
        assert said in caplog.text
        assert await steward.value("config_reload_success") == 1
        assert 'kubevirt_steward_check_up{check="sources"} 1.0' in await steward.text()

        steward.file.write_text(GOOD)
        await until(untold)


async def test_sighup_has_the_file_read_at_once(cluster: FakeApiServer, tmp_path: Path) -> None:
    async with served(cluster, tmp_path, GOOD, look=3600) as steward:
        assert signal.getsignal(signal.SIGHUP) not in (signal.SIG_DFL, None)
        steward.file.write_text("seriesLimit: {family: 2}\n")
        os.kill(os.getpid(), signal.SIGHUP)

        async def fewer() -> bool:
            return await steward.dropped() > 0

        await until(fewer)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL


async def test_the_version_to_assume_takes_effect_at_once(cluster: FakeApiServer, tmp_path: Path) -> None:
    async with served(cluster, tmp_path, GOOD) as steward:

        def assumed() -> set[str]:
            return {each.assumed for each in steward.steward.engine.cluster.all(KubeVirt)}

        assert assumed() == {""}
        steward.file.write_text("assumeUpstreamVersion: 1.5.0\n")

        async def taken() -> bool:
            return assumed() == {"v1.5.0"}

        await until(taken)
        assert await steward.value("config_reload_success") == 1


async def test_a_check_that_is_not_enabled_is_not_there(cluster: FakeApiServer, tmp_path: Path) -> None:
    off = [check.id for check in all_checks() if check.id != "sources"]
    text = f"checks: {{{', '.join(f'{check}: {{enabled: false}}' for check in off)}}}\n"
    async with served(cluster, tmp_path, text) as steward:
        metrics = await steward.text()
        assert 'kubevirt_steward_check_state{check="ipam_claims",state="disabled"} 1.0' in metrics
        assert 'kubevirt_steward_findings{check="ipam_claims"' not in metrics
        assert "kubevirt_ipamclaim_orphaned" not in metrics
        of_views = {kind.name for view in all_views() for kind in view.reads}
        assert {each.kind.name for each in steward.steward.source.reflectors} == {"IPAMClaim", *of_views}
        assert steward.steward.engine.ready


def test_a_change_counts_once_it_stays_and_however_it_comes(tmp_path: Path) -> None:
    """As a ConfigMap is mounted: a link to a link to a folder, of which the second is swapped."""
    for name, text in (("one", "a"), ("two", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text(text)
    (tmp_path / "data").symlink_to("one")
    (tmp_path / "config.yaml").symlink_to("data/config.yaml")
    watched = Watched(tmp_path / "config.yaml", digest_of(b"a"))

    def turn_to(name: str) -> None:
        (tmp_path / "new").symlink_to(name)
        (tmp_path / "new").rename(tmp_path / "data")

    assert [watched.changed() for _ in range(3)] == [False, False, False]
    turn_to("two")
    assert [watched.changed() for _ in range(3)] == [False, True, False]
    turn_to("one")
    assert [watched.changed() for _ in range(3)] == [False, True, False]
    turn_to("gone")
    assert [watched.changed() for _ in range(3)] == [False, True, False]
    turn_to("one")
    assert [watched.changed() for _ in range(3)] == [False, True, False]
    turn_to("two")
    assert watched.changed() is False
    turn_to("one")  # before it was seen twice
    assert [watched.changed() for _ in range(3)] == [False, False, False]


async def test_a_smaller_series_limit_leaves_out_the_last_and_a_larger_one_lets_them_in() -> None:
    exposition = Exposition(all_checks())
    exposition.update([], [orphan(f"claim-{n}") for n in range(5)])
    exposition.series_limit = SeriesLimit(family=7, total=100)
    assert await names(exposition) == ["claim-0", "claim-1", "claim-2"]
    assert exposition.left_out["kubevirt_ipamclaim_orphaned"] == 4

    exposition.series_limit = SeriesLimit(family=100, total=4)
    assert await names(exposition) == ["claim-0", "claim-1"]
    exposition.series_limit = SeriesLimit(family=100, total=9)
    assert await names(exposition) == ["claim-0", "claim-1", "claim-2", "claim-3"]
    exposition.series_limit = SeriesLimit()
    assert await names(exposition) == [f"claim-{n}" for n in range(5)]
    assert exposition.left_out["kubevirt_ipamclaim_orphaned"] == 0


async def test_what_changed_while_it_was_left_out_is_shown_once_and_as_it_is() -> None:
    exposition = Exposition(all_checks(), SeriesLimit(family=2, total=100))
    old, waits = orphan("old"), orphan("waits")
    changed = msgspec.structs.replace(waits, network="red")
    exposition.update([], [old, waits])
    exposition.update([old, waits], [changed])
    shown = b"".join([part async for part in exposition.render()]).decode()
    assert shown.count('name="waits",vm="",node="",network="red"') == 2
    assert 'network="blue"' not in shown
    assert exposition.left_out["kubevirt_ipamclaim_orphaned"] == 0
