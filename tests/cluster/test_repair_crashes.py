"""A sidecar that is killed at any step of a repair, and started anew: one write, one Event, and a ledger with an end.

`REPAIRS=all` does so for each fault and each step; else each step comes once, and each fault.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from itertools import cycle, islice, product
from pathlib import Path

import pytest

from reconcile.carry_out import attempt, ending
from reconcile.ledger import Ledger
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import FAULTS, LATER, Fault, settings
from tests.cluster.repair_ground import SETTLING, STEPS, Ground, ground_of
from tests.cluster.sidecar import Sidecar
from tests.waiting import wait_until

pytestmark = pytest.mark.long

ALL = (*STEPS, *SETTLING)
SAMPLE = list(islice(zip(cycle(FAULTS), cycle(ALL), strict=False), max(len(FAULTS), len(ALL))))
CASES = list(product(FAULTS, ALL)) if os.environ.get("REPAIRS") == "all" else SAMPLE
NOT_WRITTEN = ("intended", "fenced")  # what was intended turns out not to have happened


@pytest.fixture(scope="module")
def ground(module_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(module_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


def test_each_step_is_here() -> None:
    sources = [Path(str(each.__file__)).read_text("utf-8") for each in (attempt, ending)]
    there = re.findall(r'reached\("(\w+)"\)', "".join(sources))
    assert sorted(there) == sorted((*ALL, "shadowed"))  # that one ends an attempt which writes nothing
    assert {fault for fault, _ in SAMPLE} == set(FAULTS)
    assert {step for _, step in SAMPLE} == set(ALL)


@pytest.mark.parametrize(("fault", "step"), CASES, ids=lambda each: str(each))
def test_one_write_one_event_and_an_end(ground: Ground, fault: Fault, step: str) -> None:
    stage = ground.stage()
    namespace = stage.namespace
    fault.seed(stage)
    name = fault.name(stage)
    ground.wait_found(namespace, fault.reason)
    auto = settings({(fault.remediation, namespace): "auto"}, verifyAfter="1s")
    ahead = LATER if fault.aged else 0.0

    for killed_at in ("written", step) if step in SETTLING else (step,):
        dying = ground.sidecar(namespace, auto, ahead=ahead, kill_at=killed_at)
        dying.fork.start(lambda: True)
        assert dying.fork.ended() == -signal.SIGKILL, dying
        ground.free_lease(namespace)
    with ground.sidecar(namespace, auto, ahead=ahead, arrives=2.0) as sidecar:
        _ended(sidecar, fault)
        sidecar.runs_again(1)
        ends = [(each.event.value, each.happened) for each in sidecar.entries() if each.event != "verified"]
    wanted, written = _wanted(fault, step), [(fault.verb, fault.resource.plural, name)]
    writes = [(verb, each.partition("/")[0], of) for verb, each, of in ground.writes(namespace)]
    event, *more = ground.events(namespace)
    if fault.leads_on:  # what comes then is the next repair, not this one again
        ends, writes = ends[: len(wanted)], writes[:1]
    else:
        assert more == []
    assert ends == wanted
    assert writes == written
    assert event["reason"] == "Repaired"
    assert event["count"] == 1
    with Ledger.open(sidecar.directory, clock=lambda: 0.0) as ledger:
        assert ledger.verify() == []
        assert ledger.unfinished() == []


def _ended(sidecar: Sidecar, fault: Fault) -> None:
    def ended() -> bool:
        entries = sidecar.entries()
        if fault.settles:
            return "verified" in [each.event for each in entries]
        return any(each.event == "done" or each.happened for each in entries)

    try:
        wait_until(ended, 60, "the repair ends", every=0.1)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; {sidecar}") from error


def _wanted(fault: Fault, step: str) -> list[tuple[str, bool | None]]:
    """What the ledger has of it, but for the look at the finding."""
    whole: list[tuple[str, bool | None]] = [("intended", None), ("done", None)]
    if step in NOT_WRITTEN:
        # An object that is not there may have been created, and deleted since.
        return [("intended", None), ("resolved", None if fault.verb == "create" else False), *whole]
    if step in ("written", "read_back", "looked_again", "event", *SETTLING):
        return [("intended", None), ("resolved", True)]
    return whole
