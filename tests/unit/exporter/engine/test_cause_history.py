"""What opened and closed lately: as counted from every event, within its bound, and honest about since when."""

from __future__ import annotations

import random

import pytest

from exporter.engine.causes import HOUR, CauseHistory, CauseStore, Count
from exporter.store.source import SyncState
from tests.cause_counts import BY_ID, missing
from tests.evaluation import NOW, Evaluation
from tests.rows import full

MINUTE = 60.0
VMS = BY_ID["instancetype_vms"]


@pytest.mark.parametrize("seed", range(4))
def test_the_hour_has_all_that_is_younger_and_nothing_that_is_older(seed: int) -> None:
    draw, history, now = random.Random(seed), CauseHistory(), NOW
    events: list[tuple[float, str, int]] = []  # when, cause, 1 where one opened
    history.begin(now)
    for _ in range(300):
        now += draw.choice((0.0, 5.0, 59.0, 700.0, 4000.0))
        cause, opened = draw.choice("ab"), draw.randint(0, 1)
        history.note(cause, now, opened, 1 - opened)
        events.append((now, cause, opened))
        kept = history.of(cause, now)
        every = [up for at, each, up in events if each == cause and at > now - HOUR]
        sure = [up for at, each, up in events if each == cause and at > now - HOUR + MINUTE]  # it is kept by the minute
        assert sum(sure) <= kept.opened <= sum(every)
        assert len(sure) - sum(sure) <= kept.closed <= len(every) - sum(every)
        assert history.whole(now).opened >= kept.opened


def test_a_cause_that_changes_each_minute_of_a_day_costs_an_hour_s_minutes() -> None:
    history = CauseHistory(most=61)
    history.begin(NOW)
    for minute in range(24 * 60):
        history.note("flaps", NOW + 60 * minute, 1, 1)
    assert history.of("flaps", NOW + 24 * HOUR) == Count(59, 59)
    assert history.each_since == NOW  # nothing had to go


def test_beyond_the_bound_goes_what_changed_longest_ago_and_that_is_said() -> None:
    history = CauseHistory(most=3)
    history.begin(NOW)
    for at, cause in enumerate("abcd"):
        history.note(cause, NOW + 600 * at, 1, 0)
    now = NOW + 1800
    assert [cause for cause in "abcd" if cause in history] == ["b", "c", "d"]
    assert history.whole(now) == Count(4, 0)  # what happened in all is always known
    assert history.since == NOW
    assert NOW < history.each_since <= NOW + 2 * MINUTE
    history.note("e", now, 1, 0)
    assert history.each_since > NOW + 600
    history.most = 1
    history.forget(now)
    assert [cause for cause in "abcde" if cause in history] == ["e"]


def test_causes_that_ended_are_kept_no_longer_than_their_history() -> None:
    store = CauseStore([VMS], lambda: NOW)
    store.history.most = 5
    for at in range(20):
        store.update((), [missing("vm", f"u{at}")])
        store.update([missing("vm", f"u{at}")], ())
    assert [each.cause.reference.name for each in store.ended()] == ["u19", "u18", "u17", "u16", "u15"]
    assert len(store) == 0


def evaluation() -> Evaluation:
    made = Evaluation([VMS], initial=False)
    made.seen(full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4"}))
    made.seen(full({"kind": "VirtualMachine", "name": "vm", "instancetype": {"name": "u1"}, "runStrategy": "Halted"}))
    return made


def test_it_counts_from_when_everything_was_evaluated_once() -> None:
    made = evaluation()
    assert made.engine.causes.history.since is None
    made.now += 30
    made.evaluate()
    history = made.engine.causes.history
    assert (history.since, history.whole(made.now)) == (NOW + 30, Count())
    made.now += 600
    made.evaluate()
    assert history.since == NOW + 30


def test_what_is_held_while_a_check_is_blind_has_not_closed() -> None:
    made = evaluation()
    made.evaluate()
    history = made.engine.causes.history
    made.sync_state("VirtualMachineClusterInstancetype", SyncState.FORBIDDEN)
    made.gone("VirtualMachine", "ns", "vm")
    made.evaluate()
    assert list(made.engine.findings())
    assert history.whole(made.now) == Count()
    made.sync_state("VirtualMachineClusterInstancetype", SyncState.LIVE)
    made.evaluate()
    assert not list(made.engine.findings())
    assert history.whole(made.now) == Count(0, 1)


def test_a_single_look_counts_nothing() -> None:
    made = Evaluation([VMS])
    made.evaluate()
    assert made.engine.ready
    assert made.engine.causes.history.since is None
