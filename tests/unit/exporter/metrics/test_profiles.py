"""How many series a steward has of a cluster in which all is well, by `metrics.profile`."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from dashboards.generator.definitions import all_boards
from demo.apiserver.server import kubeconfig
from demo.fleet.sample import sample_fleet
from exporter.app import assemble, serve, wait_until_seen
from exporter.checks import all_checks
from exporter.config.settings import Config, MetricsSettings
from exporter.counts import all_states
from exporter.kube.transport import Transport
from exporter.metrics.telemetry import METRICS, PREFIX
from exporter.metrics.text import Profile
from tests.alerting_reasons import EVERY_RULE
from tests.all_of import all_of, named, whole
from tests.fakeapi.apiserver import FakeApiServer
from tests.rules import Rule, selectors

PLATFORM = ("KubeVirt", "Namespace", "Node", "MutatingWebhookConfiguration", "Deployment", "Service")


_SCRAPED: dict[Profile, dict[str, float]] = {}


async def scraped(folder: Path, profile: Profile) -> dict[str, float]:
    """The samples, by their series, of a cluster that has KubeVirt and no VM; each profile is scraped once."""
    if profile not in _SCRAPED:
        _SCRAPED[profile] = await _scraped(folder, profile)
    return _SCRAPED[profile]


async def _scraped(folder: Path, profile: Profile) -> dict[str, float]:
    cluster = FakeApiServer()
    cluster.load([thing for thing in sample_fleet(datetime.now(UTC)).objects if thing["kind"] in PLATFORM])
    await cluster.start()
    config = Config(metrics=MetricsSettings(profile=profile.value))
    steward = assemble(Transport.from_environment(str(kubeconfig(folder, cluster.url))), config, settle=0.01)
    async with serve(steward, "127.0.0.1", 0) as url, aiohttp.ClientSession(base_url=url) as session:
        assert await wait_until_seen(steward, 30)
        for _ in range(2):  # series are counted as they are written
            async with session.get("/metrics") as answer:
                page = await answer.text()
    await cluster.stop()
    lines = (line.rpartition(" ") for line in page.splitlines() if not line.startswith("#"))
    return {series: float(value) for series, _, value in lines}


def families(samples: dict[str, float]) -> Counter[str]:
    return Counter(re.split(r"[{ ]", series)[0] for series in samples)


@pytest.mark.parametrize(("profile", "least", "most"), [("minimal", 100, 400), ("default", 1000, 5000)])
async def test_so_many_series_are_there_where_all_is_well(tmp_path: Path, profile: str, least: int, most: int) -> None:
    samples = await scraped(tmp_path, Profile(profile))
    assert least < len(samples) < most, families(samples).most_common(12)


async def test_a_larger_profile_has_all_that_a_smaller_one_has(tmp_path: Path) -> None:
    minimal, default, full = [families(await scraped(tmp_path, profile)) for profile in Profile]
    assert minimal.keys() < default.keys() < full.keys()
    assert all(minimal[name] <= default[name] <= full[name] for name in full)
    assert f"{PREFIX}kind_last_connect_timestamp_seconds" in full.keys() - default.keys()
    assert f"{PREFIX}findings_opened_total" in default.keys() - minimal.keys()


async def test_the_least_profile_has_what_tells_nothing_found_from_nothing_known(tmp_path: Path) -> None:
    samples = await scraped(tmp_path, Profile.MINIMAL)
    for check in (check.id for check in all_checks()):
        states = [series for series in samples if series.startswith(f'{PREFIX}check_state{{check="{check}",')]
        assert len(states) == 1
    of = {series for series in samples if series.startswith(f"{PREFIX}check_up{{")}
    assert len(of) == sum(series.startswith(f"{PREFIX}check_errors_total{{") for series in samples) > 20
    counted = [value for series, value in samples.items() if series.startswith(f"{PREFIX}findings{{")]
    assert counted
    assert all(counted)


def test_no_board_reads_what_the_default_profile_has_not() -> None:
    read = {
        name
        for board in all_boards()
        for panel in board.panels
        for query in panel.queries
        for name in re.findall(rf"{PREFIX}(\w+)", query.expr)
    }
    full = {name for name, each in METRICS.items() if each.least is Profile.FULL}
    assert len(full) >= 3
    assert not any(name.startswith(tuple(full)) for name in read)


@all_of(named(EVERY_RULE, lambda rule: rule.name), whole)
def test_no_rule_reads_what_the_least_profile_has_not(rule: Rule) -> None:
    own = {
        PREFIX + name + suffix: each for name, each in METRICS.items() for suffix in ("", "_total", "_bucket", "_count")
    }
    read = [own[each.metric] for each in selectors(rule.expr) if each.metric in own]
    assert all(each.least is Profile.MINIMAL for each in read)
    sparse = {gauge.name for state in all_states() for gauge in state.gauges if gauge.sparse}
    assert not sparse & {each.metric for each in selectors(rule.expr)}
