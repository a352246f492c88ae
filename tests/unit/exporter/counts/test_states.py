"""Every state, whatever it shows: found by itself, silent while it can't see, and off until it is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from demo.apiserver.server import kubeconfig
from demo.fleet.sample import sample_fleet
from exporter.app import assemble, serve, wait_until_seen
from exporter.checks import all_checks
from exporter.config.settings import Config, MetricsSettings, SeriesLimitSettings
from exporter.counts import all_states
from exporter.counts.base import Aggregates, State
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.facts.firmware import invalid, legacy
from exporter.findings.check import PER_FLEET
from exporter.kube.transport import Transport
from exporter.metrics.states import States
from exporter.store.decode import Decoded
from exporter.store.kind import ApiKind
from exporter.store.source import SyncState
from tests.evaluation import api_kinds, decoded
from tests.fakeapi.apiserver import FakeApiServer

STATES = [pytest.param(state, id=state.gauges[0].name) for state in all_states()]
OPTIONS = set(MetricsSettings.model_fields) - {"profile"}


@cache
def sample() -> list[tuple[ApiKind[Any], Decoded]]:
    """The demo's fleet, as it is read."""
    kinds = api_kinds()
    fleet = [thing for thing in sample_fleet(datetime.now(UTC)).objects if thing["kind"] in kinds]
    return [(kinds[thing["kind"]], decoded(kinds[thing["kind"]], thing)) for thing in fleet]


def scraped(state: State[Any], blind: str = "") -> tuple[list[str], list[str]]:
    """The heads, and the samples, of the demo's fleet; of one kind of it nobody knows whether that is all."""
    engine = Engine([], clock=lambda: 0.0, timer=lambda: 0.0, readers=[state])
    aggregates = Aggregates(engine.cluster, [state])
    engine.observe(aggregates.changed)
    intake = Intake(engine, lambda: 0.0)
    for name, kind in api_kinds().items():
        intake.sync_state(kind, SyncState.STARTING if name == blind else SyncState.LIVE, "")
    for read, each in sample():
        intake.seen(read, each)

    async def text() -> str:
        return b"".join([part async for part in States(engine.cluster, aggregates).render()]).decode()

    lines = asyncio.run(text()).splitlines()
    return [line for line in lines if line.startswith("#")], [line for line in lines if not line.startswith("#")]


def test_states_are_found() -> None:
    assert "kubevirt_ipam_pool_used" in [gauge.name for state in all_states() for gauge in state.gauges]


def test_no_family_has_two_sources() -> None:
    names = [gauge.name for state in all_states() for gauge in state.gauges]
    checks = (check for check in all_checks() if check.scope is not PER_FLEET)  # of which Prometheus reads states
    findings = {reason.family.name for check in checks for reason in check.reasons.values()}
    assert len(names) == len(set(names))
    assert findings.isdisjoint(names)


@pytest.mark.parametrize("state", STATES)
def test_a_state_declares_what_it_is_made_of(state: State[Any]) -> None:
    assert state.gauges
    assert all(gauge.name.startswith("kubevirt_") and gauge.help.endswith(".") for gauge in state.gauges)
    assert state.reads
    assert all(isinstance(kind, ApiKind) for kind in state.reads)


@pytest.mark.parametrize("state", STATES)
def test_an_option_is_a_setting_that_is_off(state: State[Any]) -> None:
    assert state.option in {"", *OPTIONS}
    assert state.wanted(MetricsSettings()) is not bool(state.option)
    if state.option:
        assert state.wanted(MetricsSettings.model_validate({state.option: True}))


def test_every_setting_asks_for_a_state() -> None:
    assert {state.option for state in all_states()} - {""} == OPTIONS


@pytest.mark.parametrize("state", STATES)
def test_a_state_shows_what_is_and_nothing_while_it_does_not_see(state: State[Any]) -> None:
    heads, samples = scraped(state)
    assert [head for head in heads if "TYPE" in head] == [f"# TYPE {gauge.name} gauge" for gauge in state.gauges]
    assert samples
    for kind in state.reads:
        assert scraped(state, blind=kind.name) == (heads, [])


# -- the firmware UUID of each VM


INFO = "kubevirt_vm_firmware_uuid_info"
UUID = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"


@asynccontextmanager
async def serving(
    cluster: FakeApiServer, folder: Path, config: Config
) -> AsyncIterator[Callable[[], Awaitable[list[str]]]]:
    """Gives what answers with the lines of a scrape once all that has changed is seen."""
    steward = assemble(Transport.from_environment(str(kubeconfig(folder, cluster.url))), config, settle=0.01)
    async with serve(steward, "127.0.0.1", 0) as url, aiohttp.ClientSession(base_url=url) as session:
        assert await wait_until_seen(steward, 30)

        async def scrape() -> list[str]:
            async with session.get("/metrics") as answer:
                return (await answer.text()).splitlines()

        yield scrape


def identified(cluster: FakeApiServer) -> int:
    """How many VMs have a UUID that tells them from others; one without any has it from its name."""
    domains = (vm["spec"]["template"]["spec"]["domain"] for vm in cluster.objects("virtualmachines"))
    return sum(not invalid(domain.get("firmware", {}).get("uuid", "")) for domain in domains)


def of(lines: list[str], namespace: str, name: str) -> list[str]:
    return [line for line in lines if line.startswith(f'{INFO}{{namespace="{namespace}",name="{name}",')]


async def test_firmware_uuids_are_not_there_until_asked_for(cluster: FakeApiServer, tmp_path: Path) -> None:
    async with serving(cluster, tmp_path, Config()) as scrape:
        assert not [line for line in await scrape() if INFO in line]


async def test_firmware_uuids_follow_their_vms(cluster: FakeApiServer, tmp_path: Path) -> None:
    async def until(wanted: list[str]) -> None:
        async with asyncio.timeout(10):
            while of(await scrape(), "shop", vm) != wanted:
                pass

    def remove(plural: str) -> None:
        cluster.patch(plural, "shop", vm, {"metadata": {"finalizers": None}})
        cluster.delete(plural, "shop", vm)

    def line(uuid: str, origin: str, running: str) -> str:
        labels = f'namespace="shop",name="{vm}",uuid="{uuid}",origin="{origin}",running="{running}"'
        return f"{INFO}{{{labels}}} 1"

    config = Config(metrics=MetricsSettings(firmware_uuid_info=True))
    async with serving(cluster, tmp_path, config) as scrape:
        whole = [each for each in await scrape() if each.startswith(INFO)]
        assert len(whole) == identified(cluster)
        runs = next(vmi for vmi in cluster.objects("virtualmachineinstances") if vmi["metadata"]["namespace"] == "shop")
        vm, uuid = runs["metadata"]["name"], runs["spec"]["domain"]["firmware"]["uuid"]
        await until([line(uuid, "set", "true")])

        firmware = {"firmware": {"uuid": UUID.upper()}}
        cluster.patch("virtualmachines", "shop", vm, {"spec": {"template": {"spec": {"domain": firmware}}}})
        remove("virtualmachineinstances")
        await until([line(UUID, "set", "false")])
        nothing = {"firmware": None}
        cluster.patch("virtualmachines", "shop", vm, {"spec": {"template": {"spec": {"domain": nothing}}}})
        await until([line(legacy(vm), "legacy", "false")])
        remove("virtualmachines")
        await until([])


async def test_firmware_uuids_keep_to_the_series_limit(cluster: FakeApiServer, tmp_path: Path) -> None:
    config = Config(
        series_limit=SeriesLimitSettings(family=10_000, total=100), metrics=MetricsSettings(firmware_uuid_info=True)
    )
    async with serving(cluster, tmp_path, config) as scrape:
        lines = await scrape()
        names = tuple(f"{gauge.name}{{" for state in all_states() for gauge in state.gauges if gauge.name != INFO)
        others = [line for line in lines if line.startswith(names)]
        infos = [line for line in lines if line.startswith(f"{INFO}{{")]
        dropped = f'kubevirt_steward_series_dropped{{family="{INFO}"}} {identified(cluster) + len(others) - 100}.0'

    assert len(others) + len(infos) == 100
    assert dropped in lines
