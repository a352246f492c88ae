"""What a partition finds at once may be thousands: those who listen get it in slices, each of them whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.findings.check import PER_FLEET
from exporter.findings.finding import Finding
from exporter.store.source import SyncState
from tests.evaluation import Evaluation
from tests.rows import full
from tests.unit.exporter.engine.stall_scenes import SHARED_UUID, crowd

_VMS = 1000
_SLICE = 250  # findings that one look at the event loop waits for, at most
_CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]


class Heard:
    """What a listener knows, by fingerprint, and what it got at once."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.shown = engine, dict[str, Finding]()
        self.slices: list[int] = []
        engine.listen(self.listen)

    def listen(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        gone, come = tuple(gone), tuple(come)
        self.slices.append(len({each.fingerprint for each in (*gone, *come)}))
        for finding in gone:
            assert self.shown.pop(finding.fingerprint) == finding
        for finding in come:
            assert finding.fingerprint not in self.shown
            self.shown[finding.fingerprint] = finding
        assert not self.engine.caught_up or self.whole

    @property
    def whole(self) -> bool:
        return self.shown == {each.fingerprint: each for each in self.engine.findings()}


def _crowded(scene: str = "claims_of_one_address") -> tuple[Evaluation, Heard]:
    made = Evaluation(_CHECKS)
    heard = Heard(made.engine)
    for row in crowd(scene, _VMS):
        made.seen(row)
    return made, heard


def _settle(made: Evaluation, *, each_step: Callable[[], None] = lambda: None) -> None:
    while made.engine.step():
        each_step()


def test_many_findings_of_one_partition_come_in_slices() -> None:
    made, heard = _crowded()
    ready: list[bool] = []
    _settle(made, each_step=lambda: ready.append(made.engine.ready and not heard.whole))
    assert len(heard.shown) > 2 * _SLICE
    assert heard.whole
    assert max(heard.slices) <= _SLICE
    assert not any(ready), "ready before all that was found had been published"


def test_what_changes_among_many_is_not_closed_for_a_moment() -> None:
    """Between two slices every finding that is there before and after is there."""
    made, heard = _crowded("uuids")
    _settle(made)
    before = set(heard.shown)
    heard.slices.clear()
    away: list[str] = []
    made.seen(full({"kind": "VirtualMachine", "name": "late", "uid": "late", "uuid": SHARED_UUID, "serial": "s1"}))
    _settle(made, each_step=lambda: away.extend(before - heard.shown.keys()))
    assert sum(heard.slices) > 4 * _SLICE
    assert heard.whole
    assert away == []
    assert made.engine.causes.history.whole(made.engine.clock()).closed == 0


def test_what_is_no_longer_served_closes_though_it_was_on_its_way() -> None:
    made, heard = _crowded()
    while not heard.slices or heard.whole:
        assert made.engine.step()
    made.sync_state("IPAMClaim", SyncState.ABSENT)
    _settle(made)
    assert heard.whole
    assert made.engine.caught_up
