"""An edit war pauses the object for good, over restarts; a person's annotation, later than that, ends the pause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from exporter.kube.errors import UnreachableError
from reconcile.carry_out.execute import ServerAnswer, WriteOutcome
from reconcile.carry_out.lease_record import NotLeadingError
from reconcile.carry_out.pauses import Pauses
from reconcile.config.settings import EditWarSettings, Mode
from reconcile.decide.gates import blocked
from reconcile.ledger import Entry, Event, Ledger
from reconcile.ledger.history import History
from reconcile.plan.annotations import PAUSED, RESUMED, resumed_at
from reconcile.plan.requests import Request

from ....all_of import each_of
from ....confirming import MemoryReads
from ....evaluation import api_kinds
from ....repairs import CLAIM, NOW, ask, config, plan, situation
from ....rows import full

SCOPE = str(CLAIM)
PATH = "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/shop/ipamclaims/db.blue"
SETTINGS = EditWarSettings()
REQUEST = Request(method="PATCH", path=PATH, body={}, dry=False)


class Scene:
    """A ledger with its history, a claim that can be annotated, and a clock."""

    def __init__(self, directory: Path) -> None:
        self.now = NOW
        self.directory = directory
        self.claim = full({"kind": "IPAMClaim", "namespace": "shop", "name": "db.blue"})
        self.reads = MemoryReads([self.claim, full({"kind": "Namespace", "name": "shop"})])
        self.annotated: list[tuple[str, Mapping[str, str | None]]] = []
        self.fails: Exception | None = None
        self.outcome = WriteOutcome.ACCEPTED
        self.lease: dict[str, str] = {}
        self.open()

    def open(self) -> None:
        self.ledger = Ledger.open(self.directory, clock=lambda: self.now)
        self.history = History.of(self.ledger.entries(), self.now)
        self.pauses = Pauses(
            self.history, self.ledger, self.reads, api_kinds(), kept=self.history.add, annotate=self.annotate
        )

    def restart(self) -> None:
        self.ledger.close()
        self.open()

    async def annotate(self, path: str, annotations: Mapping[str, str | None]) -> ServerAnswer:
        if self.fails is not None:
            raise self.fails
        self.annotated.append((path, annotations))
        return ServerAnswer(outcome=self.outcome, request=REQUEST, why="a webhook said no")

    def returned(self, times: int) -> None:
        for _ in range(times):
            self.now += 60
            attempt = self.keep(Event.INTENDED, plan=plan(), mode="auto").attempt
            self.keep(Event.DONE, attempt=attempt)
            self.keep(Event.RETURNED, attempt=attempt, why="acme wrote it back")

    def keep(self, event: Event, **fields: Any) -> Entry:
        entry = self.ledger.append(event, **fields)
        self.history.add(entry)
        return entry

    async def look(self) -> list[str]:
        """What is recorded of pauses, all along."""
        await self.pauses.look(self.now, SETTINGS, self.lease)
        return [each.event.value for each in self.ledger.entries() if each.event in (Event.PAUSED, Event.RESUMED)]

    def resume(self, after: float, of: int = 0) -> None:
        self.reads.objects[of]["metadata"]["annotations"] = {RESUMED: moment(self.now + after)}

    def gates(self) -> list[str]:
        asked = ask(mode=Mode.AUTO)
        holds = situation(history=self.history, now=self.now)
        return [each.gate for each in blocked(asked, holds, config())]


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path / "ledger")
    yield made
    made.ledger.close()


async def test_the_third_return_pauses_the_object_once(scene: Scene) -> None:
    scene.returned(2)
    assert await scene.look() == []
    assert scene.gates() == []
    scene.returned(1)
    for _ in range(2):
        assert await scene.look() == ["paused"]
    (entry,) = (each for each in scene.ledger.entries() if each.event is Event.PAUSED)
    assert (entry.scope, entry.why) == (SCOPE, "acme wrote it back")
    assert scene.annotated == [(PATH, {PAUSED: "edit war: acme wrote it back"})]
    assert {"edit_war", "object_paused"} <= set(scene.gates())


async def test_it_survives_a_restart_also_one_right_after_the_return(scene: Scene) -> None:
    scene.returned(3)
    scene.restart()
    assert await scene.look() == ["paused"]
    scene.restart()
    scene.now += 30 * 86_400
    assert await scene.look() == ["paused"]
    assert {"edit_war", "object_paused"} <= set(scene.gates())
    assert len(scene.annotated) == 1


@pytest.mark.parametrize(
    "fails", [NotLeadingError("it is another's"), UnreachableError("no connection"), None], ids=["lease", "down", "422"]
)
async def test_without_the_annotation_it_is_paused_as_well(scene: Scene, fails: Exception | None) -> None:
    scene.fails, scene.outcome = fails, WriteOutcome.REFUSED
    scene.returned(3)
    assert await scene.look() == ["paused"]
    assert "object_paused" in scene.gates()


async def test_a_person_who_resumes_it_later_ends_it_for_this_war_and_not_for_the_next(scene: Scene) -> None:
    scene.returned(3)
    await scene.look()
    scene.resume(0.001)
    scene.now += 5
    assert await scene.look() == ["paused", "resumed"]
    assert scene.gates() == []
    scene.restart()
    assert scene.gates() == []
    assert await scene.look() == ["paused", "resumed"]
    scene.returned(3)
    assert await scene.look() == ["paused", "resumed", "paused"]
    assert {"edit_war", "object_paused"} <= set(scene.gates())


@pytest.mark.parametrize("after", [-3600.0, 0.0, 61.0, 86_400.0])
async def test_a_time_before_the_pause_or_in_the_future_resumes_nothing(scene: Scene, after: float) -> None:
    scene.returned(3)
    await scene.look()
    scene.resume(after)
    assert await scene.look() == ["paused"]


async def test_what_came_back_once_more_was_not_resumed(scene: Scene) -> None:
    scene.returned(2)
    late = scene.keep(Event.INTENDED, plan=plan(), mode="auto").attempt
    scene.keep(Event.DONE, attempt=late)
    scene.returned(1)
    await scene.look()
    scene.resume(5)
    scene.now += 10
    scene.keep(Event.RETURNED, attempt=late, why="acme wrote it back")
    assert await scene.look() == ["paused"]
    scene.resume(1)
    scene.now += 2
    assert await scene.look() == ["paused", "resumed"]


async def test_an_object_that_cannot_be_read_stays_paused(scene: Scene) -> None:
    scene.returned(3)
    await scene.look()
    scene.resume(1)
    scene.now += 2
    scene.reads.fails = {"IPAMClaim": 503}
    assert await scene.look() == ["paused"]
    scene.reads.objects.clear()
    scene.reads.fails = {}
    assert await scene.look() == ["paused"]


async def test_a_namespace_and_everything_are_resumed_where_they_were_paused(scene: Scene) -> None:
    for scope in ("shop", ""):
        scene.keep(Event.PAUSED, scope=scope, by="jane", why="change freeze")
    assert await scene.look() == ["paused", "paused"]
    scene.resume(1, of=1)
    scene.now += 2
    assert await scene.look() == ["paused", "paused", "resumed"]
    assert scene.history.paused("shop") is None
    scene.lease = {"resumed-at": moment(scene.now - 1)}
    assert await scene.look() == ["paused", "paused", "resumed", "resumed"]
    assert scene.history.pauses == 0


@each_of(
    ("text", "wanted"),
    [
        ("2026-05-28T20:26:40Z", NOW),
        ("2026-05-28T20:26:40.250Z", NOW + 0.25),
        ("2026-05-28T22:26:40+02:00", NOW),
        ("2026-05-28T20:26:40", None),  # of what time zone?
        ("yes", None),
        ("", None),
        (7, None),
        ("0001-01-01T00:00:00+14:00", -62135647200.0),
        (None, None),
    ],
)
def test_the_time_is_read_from_whatever_is_there(text: Any, wanted: float | None) -> None:
    assert resumed_at({RESUMED: text}) == wanted
    assert resumed_at({}) is None
