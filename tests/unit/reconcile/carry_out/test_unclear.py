"""Writes without an answer: unclear until they can't arrive any more, and nothing is written to their object before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from demo.apiserver.errors import ApiError
from exporter.facts.times import Skew
from exporter.kube.transport import Transport
from reconcile.ledger import Entry, Event, Ledger
from reconcile.ledger.manual import ManualLedger, folder
from reconcile.ledger.settling import ARRIVES, Settling

from ....all_of import each_of
from ....fakeapi.faults import Fault
from ....repairs import NOW, plan, written
from ....secure_server import config as kubeconfig
from ....sidecar_runs import Running, auto, on, orphan

LOST = ApiError(504, "Timeout", "the request timed out")


def lose(running: Running) -> None:
    """The write is not answered, and does not arrive by then; the dry run before it is."""
    running.server.faults.add(Fault("/ipamclaims/db.blue", method="DELETE", skip=1, times=1, answer=lambda *_: LOST))


async def arrives(running: Running, tmp_path: Path) -> int:
    """The write arrives after all, as the ledger has it."""
    sent = next(each for each in running.ledger.entries() if each.event == "intended").request
    assert sent is not None
    transport = Transport.from_environment(kubeconfig(tmp_path / "late", running.server.url))
    try:
        async with transport.open(sent["method"], sent["path"], read_seconds=5, body=sent["body"]) as response:
            return response.status
    finally:
        await transport.close()


def ended(running: Running) -> list[tuple[str, bool | None]]:
    return [(each.event.value, each.happened) for each in running.ledger.entries()]


async def test_it_is_settled_once_it_can_t_arrive_any_more(tmp_path: Path) -> None:
    async with on(tmp_path, auto(), orphan("db")) as running:
        lose(running)
        assert await running.run() == 1
        assert running.state() == "unclear"
        for later in (0.0, 60.0, ARRIVES - 1):
            running.timer[0] = later
            assert await running.run() == 0
            assert ended(running) == [("intended", None), ("unclear", None)]
            assert running.state() == "unclear"

        running.timer[0] = ARRIVES
        await running.run()

        assert ended(running)[2] == ("resolved", False)
        assert [each[0] for each in ended(running)[3:]] == ["intended", "done"]  # it is tried anew


async def test_one_that_arrives_late_is_done(tmp_path: Path) -> None:
    async with on(tmp_path, auto(), orphan("db")) as running:
        lose(running)
        await running.run()
        running.timer[0] = 30.0
        await running.run()
        assert await arrives(running, tmp_path) == 200

        await running.run()

        assert ended(running) == [("intended", None), ("unclear", None), ("resolved", True)]
        assert running.writes() == [("DELETE", "db.blue")] * 2  # the lost one, and the same once more, as it arrives
        events = [call for call in running.server.requests if call.path.endswith("/events")]
        assert [json.loads(call.body)["reason"] for call in events] == ["Repaired"]


async def test_one_that_can_t_arrive_is_settled_at_once(tmp_path: Path) -> None:
    """Somebody else wrote: the resourceVersion that it is bound to is not that of the object any more."""
    async with on(tmp_path, auto(), orphan("db")) as running:
        lose(running)
        await running.run()
        touched = {"metadata": {"labels": {"touched": "yes"}}}
        running.server.patch("ipamclaims", "ns", "db.blue", touched)

        await running.run()

        assert ended(running)[:3] == [("intended", None), ("unclear", None), ("resolved", False)]


async def test_the_budget_counts_it_meanwhile(tmp_path: Path) -> None:
    async with on(tmp_path, auto(budgets={"hour": 1}), orphan("db"), orphan("web")) as running:
        lose(running)
        await running.run()

        await running.run()

        assert running.gates("web") == ["budget_hour", "budget_fleet"]  # one VM of so few


async def test_no_other_remediation_writes_to_its_object(tmp_path: Path) -> None:
    """The finding of the attempt is another one than that which is repaired now: it is the object that counts."""
    async with on(tmp_path, auto(), orphan("db")) as running:
        lose(running)
        await running.run()
        (intended,) = [each for each in running.ledger.entries() if each.event == "intended"]
    (tmp_path / "again").mkdir()
    before(tmp_path / "again", intended, fingerprint="another")
    async with on(tmp_path / "again", auto(), orphan("db")) as running:
        await running.run()

        assert (running.state(), running.gates()) == ("blocked", ["unclear"])
        (why,) = [each.why for each in running.repair().blocked]
        assert "is unknown, and it writes to IPAMClaim ns/db.blue" in why
        assert running.writes() == []


def before(folder: Path, intended: Entry, **changed: Any) -> None:
    """The ledger has an entry without an end, of a process that was killed."""
    assert intended.plan is not None
    plan = msgspec.structs.replace(intended.plan, **changed)
    with Ledger.open(folder / "ledger", clock=lambda: intended.at) as ledger:
        ledger.append(intended.event, plan=plan, whole=intended.whole, mode="auto", request=intended.request)


@pytest.mark.parametrize(("arrived", "happened"), [(False, False), (True, True)])
async def test_after_a_crash_too(tmp_path: Path, arrived: bool, happened: bool) -> None:
    async with on(tmp_path, auto(), orphan("db")) as running:
        lose(running)
        await running.run()
        (intended,) = [each for each in running.ledger.entries() if each.event == "intended"]
    (tmp_path / "again").mkdir()
    before(tmp_path / "again", intended)
    async with on(tmp_path / "again", auto(), orphan("db")) as running:
        await running.run()
        assert ended(running) == [("intended", None)]
        assert running.state() == "unclear"
        if arrived:
            await arrives(running, tmp_path)
        else:
            running.timer[0] = ARRIVES
        await running.run()

        assert ended(running)[1] == ("resolved", happened)


@each_of(
    ("skew", "later", "left"),
    [
        (Skew(0.0, 0.0, "here"), 0.0, ARRIVES),
        (Skew(0.0, 0.0, "here"), ARRIVES + 90.0, 0.0),  # with what the clocks may be apart, and the wait for an answer
        (Skew(0.0, 0.0, "here"), ARRIVES + 89.0, 1.0),
        (Skew(900.0, 0.0, "here"), 900.0, ARRIVES),
        (Skew(0.0, 40.0, "here"), 900.0, ARRIVES),
        (None, 900.0, ARRIVES),
        (Skew(0.0, 0.0, "here"), -3600.0, ARRIVES),  # the computer was restored from a snapshot
    ],
)
def test_times_of_the_ledger_count_only_while_the_clocks_agree(skew: Skew | None, later: float, left: float) -> None:
    """An attempt of a process that has ended, `later` by the clock of the next one."""
    (intended,) = written(1, NOW)
    settling = Settling(lambda: NOW + later, skew=lambda: skew, timer=lambda: 7.0)
    assert settling.left(intended) == left


def test_after_that_it_is_counted_by_a_timer_that_nobody_sets() -> None:
    (intended,) = written(1, NOW)
    timer = [7.0]
    settling = Settling(lambda: NOW, timer=lambda: timer[0])
    found = []
    for passed in (0.0, 100.0, 179.0, 180.0, 500.0):
        timer[0] = 7.0 + passed
        found.append(settling.left(intended))
    assert found == [180.0, 80.0, 1.0, 0.0, 0.0]
    settling.dropped(intended.attempt)  # its connection was only closed now
    assert settling.left(intended) == 180.0


async def test_what_a_person_left_blocks_until_it_can_t_arrive_any_more(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir(parents=True)
    timer = [0.0]
    by_hand = ManualLedger(tmp_path / "ledger", timer=lambda: timer[0])
    assert by_hand.unfinished() == []
    with Ledger.open(folder(tmp_path / "ledger"), clock=lambda: NOW) as ledger:
        made = [ledger.append(Event.INTENDED, plan=plan(fingerprint=each), mode="apply") for each in ("f1", "f2")]
        ledger.append(Event.DONE, attempt=made[0].attempt)
        assert open_of(by_hand) == [made[1].attempt]
        timer[0] = ARRIVES
        assert open_of(by_hand) == [made[1].attempt]
        timer[0] = ARRIVES + 1
        assert by_hand.unfinished() == []


def open_of(by_hand: ManualLedger) -> list[str]:
    found = by_hand.unfinished()
    assert not isinstance(found, str)
    return [each.id for each in found]


async def test_what_a_person_left_that_can_t_be_read_blocks_until_it_can(tmp_path: Path) -> None:
    """It may be of any object."""
    own = folder(tmp_path / "ledger")
    async with on(tmp_path, auto(), orphan("db")) as running:
        own.mkdir(parents=True)
        (own / "ledger-00000001.jsonl").write_text("{broken\n", encoding="utf-8")
        await running.run()
        assert (running.state(), running.gates()) == ("blocked", ["unclear"])
        (why,) = [each.why for each in running.repair().blocked]
        assert why.startswith(
            f"writes by a person might still arrive, and their ledger can't be read: the ledger in {own}"
        )

        (own / "ledger-00000001.jsonl").unlink()
        assert await running.run() == 1
