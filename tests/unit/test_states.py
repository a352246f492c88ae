"""Every state, whatever it shows: found by itself, silent while it can't see, and off until it is asked for."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from exporter.checks import all_checks
from exporter.config.settings import MetricsSettings
from exporter.demo.fleet import sample_fleet
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.kube.decode import Decoder
from exporter.metrics.states import States
from exporter.model.kind import ApiKind
from exporter.model.source import Sight
from exporter.states import all_states
from exporter.states.base import Keepers, State
from tests.judging import api_kinds

STATES = [pytest.param(state, id=state.gauges[0].name) for state in all_states()]
OPTIONS = {field.name for field in msgspec.structs.fields(MetricsSettings)}


def scraped(state: State[Any], blind: str = "") -> tuple[list[str], list[str]]:
    """The heads, and the samples, of the demo's fleet; of one kind of it nobody knows whether that is all."""
    engine = Engine([], clock=lambda: 0.0, timer=lambda: 0.0, indexes=state.indexes)
    keepers = Keepers(engine.cluster, [state])
    engine.observe(keepers.changed)
    intake = Intake(engine, lambda: 0.0)
    for name, kind in api_kinds().items():
        intake.sight(kind, Sight.STARTING if name == blind else Sight.LIVE, "")
    for thing in sample_fleet(datetime.now(UTC)).objects:
        if read := api_kinds().get(thing["kind"]):
            intake.seen(read, Decoder(read).object(json.dumps(thing).encode()))

    async def text() -> str:
        return b"".join([part async for part in States(engine.cluster, keepers).render()]).decode()

    lines = asyncio.run(text()).splitlines()
    return [line for line in lines if line.startswith("#")], [line for line in lines if not line.startswith("#")]


def test_states_are_found() -> None:
    assert "kubevirt_network_pool_used" in [gauge.name for state in all_states() for gauge in state.gauges]


def test_no_family_has_two_sources() -> None:
    names = [gauge.name for state in all_states() for gauge in state.gauges]
    findings = {reason.family.name for check in all_checks() for reason in check.reasons.values()}
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
        assert state.wanted(MetricsSettings(**{state.option: True}))


def test_every_setting_asks_for_a_state() -> None:
    assert {state.option for state in all_states()} - {""} == OPTIONS


@pytest.mark.parametrize("state", STATES)
def test_a_state_shows_what_is_and_nothing_while_it_does_not_see(state: State[Any]) -> None:
    heads, samples = scraped(state)
    assert [head for head in heads if "TYPE" in head] == [f"# TYPE {gauge.name} gauge" for gauge in state.gauges]
    assert samples
    for kind in state.reads:
        assert scraped(state, blind=kind.name) == (heads, [])
