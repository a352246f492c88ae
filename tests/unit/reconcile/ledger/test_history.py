"""The history: the same from a whole ledger as entry by entry; what may have been written is never left out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.facts.record import Ref
from reconcile.ledger.entry import Entry, Event
from reconcile.ledger.history import Failures, History, War
from tests.all_of import each_of
from tests.repairs import CLAIM, NOW, entry, plan, written

DAY = 86_400.0


def history(*entries: Entry) -> History:
    return History.of(entries, NOW)


@each_of(
    ("after", "counts"),
    [
        ((), True),  # it crashed there: it may have been written
        (("done",), True),
        (("unclear",), True),
        (("failed",), False),
        (("done", "persists"), True),
        (("done", "verified", "returned"), True),
    ],
)
def test_what_may_have_been_written_counts(after: tuple[str, ...], counts: bool) -> None:
    got = history(*written(1, NOW - 60, *after))
    assert got.executed(NOW - 3600) == ([NOW - 60] if counts else [])
    assert got.vms_touched(NOW - DAY) == ({"shop/db": NOW - 60} if counts else {})


@pytest.mark.parametrize(("happened", "counts"), [(True, True), (False, False), (None, True)])
def test_an_attempt_that_turned_out_not_to_have_happened_does_not_count(happened: bool | None, counts: bool) -> None:
    got = history(*written(1, NOW - 60, "unclear"), entry("resolved", attempt="a1", happened=happened))
    assert bool(got.executed(NOW - 3600)) == counts
    assert got.failures("repair").count == (0 if happened else 1)  # also where that is not known


def test_writes_are_counted_by_time_and_namespace() -> None:
    other = Ref("Node", "", "n1", "u")
    got = history(
        *written(1, NOW - 3600, "done"),
        *written(2, NOW - 3599, "done"),
        *written(3, NOW - 10, "done", target=other, vm=""),
        *written(4, NOW + 50, "done"),  # the clock was set back since
    )
    assert got.executed(NOW - 3600) == [NOW - 3599, NOW - 10, NOW + 50]
    assert got.executed(NOW - 3600, "shop") == [NOW - 3599, NOW + 50]
    assert got.executed(NOW - 3600, "") == [NOW - 10]
    assert got.vms_touched(NOW - DAY) == {"shop/db": NOW + 50}
    assert got.vms_touched(NOW + 50) == {}


def test_what_is_too_old_is_forgotten_and_what_may_come_back_is_not() -> None:
    got = history(*written(1, NOW - DAY, "done", "verified"), *written(2, NOW - 92 * DAY, "done", "verified"))
    assert got.executed(NOW - 2 * DAY) == []
    for attempt in ("a1", "a2"):
        got.add(entry("returned", attempt=attempt, why="flux"))
    assert got.edit_war(["f1"], 1, DAY) == War(1, NOW, "flux")
    assert got.edit_war(["f1"], 2, DAY) is None


def test_an_intended_entry_without_a_plan_counts_all_the_same() -> None:
    assert history(entry("intended", attempt="x")).executed(NOW - 3600) == [NOW]


def test_failures_in_a_row_are_those_of_one_remediation_since_its_last_success() -> None:
    got = history(
        *written(1, NOW - 90, "failed"),
        *written(2, NOW - 80, "done", "verified"),
        *written(3, NOW - 70, "unclear"),
        *written(4, NOW - 60, "done", "persists"),
        *written(5, NOW - 50, "failed", remediation="other"),
        *written(6, NOW - 40, "failed", mode="undo"),
    )
    assert got.failures("repair") == Failures(2, NOW - 60)
    assert got.failures("other") == Failures(1, NOW - 50)
    assert got.failures("none") == Failures(0, 0.0)
    got.add(entry("resolved", attempt="a3", happened=True))
    assert got.failures("repair").count == 1
    got.add(entry("verified", attempt="a4"))
    assert got.failures("repair") == Failures(0, 0.0)


def test_where_it_failed_is_known_for_as_long_as_it_counts() -> None:
    old = written(1, NOW - 30 * DAY, "failed", target=Ref("IPAMClaim", "a", "x", "u"))
    got = history(*old, *written(2, NOW - 92 * DAY, "failed"), *written(3, NOW - 50, "failed"))
    again = History(clock=lambda: NOW)
    again.restore(got.carried())
    for each in (got, again):
        each.forget(NOW)
        assert each.failed_in("repair") == {"a", "shop"}
        assert each.failures("repair") == Failures(2, NOW - 50)
        assert each.failures("repair", "shop") == Failures(1, NOW - 50)


def test_returns_count_for_the_finding_and_for_the_object() -> None:
    again = Ref("IPAMClaim", "shop", "db.blue", "u2")  # created anew
    got = history(
        *written(1, NOW - 300, "returned", why="a"),
        *written(2, NOW - 200, "returned", target=again, fingerprint="f2", why="b"),
        *written(3, NOW - 100, "returned", target=Ref("IPAMClaim", "shop", "other", "u3"), fingerprint="f3", why="c"),
    )
    assert got.edit_war([str(CLAIM)], 2, 100) == War(2, NOW - 200, "b")
    assert got.edit_war([str(CLAIM)], 2, 99) is None
    assert got.edit_war(["f1", str(CLAIM)], 3, DAY) is None
    assert got.edit_war(["f1", "f3"], 2, DAY) == War(2, NOW - 100, "c")
    assert got.edit_war(["", "unheard of"], 1, DAY) is None


def test_an_edit_war_lasts_until_a_person_resumes_the_object() -> None:
    entries = [each for n in range(3) for each in written(n, NOW - 30 * DAY + n, "verified", "returned", why="argocd")]
    got = history(*entries)
    assert got.edit_war(["f1"], 3, DAY) == War(3, NOW - 30 * DAY + 2, "argocd")
    for scope in ("", "shop", "IPAMClaim shop/other"):
        got.add(entry("resumed", scope=scope))
        assert got.edit_war(["f1"], 3, DAY) is not None, scope
    got.add(entry("resumed", scope=str(CLAIM)))
    assert got.edit_war(["f1", str(CLAIM)], 1, DAY) is None
    for each in written(9, NOW, "returned"):
        got.add(each)
    assert got.edit_war(["f1"], 1, DAY) is not None


def returned_in(namespace: str, number: int, at: float) -> list[Entry]:
    claim = Ref("IPAMClaim", namespace, "db.blue", "u")
    return [
        *written(number, at, "done", "verified", "returned", target=claim, fingerprint=f"f-{namespace}", why="flux")
    ]


def test_of_namespaces_that_come_and_go_only_what_is_fought_over_is_kept() -> None:
    def churned(namespaces: int) -> History:
        got = History(keep=DAY, returns=3)
        began = NOW - 100 * DAY
        for at in range(3):
            for each in returned_in("war", at, began + at):
                got.add(each)
        for at in range(namespaces):
            for each in returned_in(f"ns-{at}", 10 + at, began + at):
                got.add(each)
        got.forget(NOW)
        return got

    few, many = churned(10), churned(1000)
    for got in (few, many):
        assert got.edit_war(["f-war"], 3, DAY) is not None
        assert got.edit_war(["f-ns-1"], 1, DAY) is None
    # What differs is the number of the last entry.
    assert abs(len(many.carried()) - len(few.carried())) < 10


def test_a_return_is_kept_while_it_may_be_part_of_an_edit_war() -> None:
    got = History(keep=90 * DAY, returns=2)
    for each in returned_in("shop", 1, NOW - 89 * DAY):
        got.add(each)
    got.forget(NOW)
    for each in returned_in("shop", 2, NOW):
        got.add(each)
    assert got.edit_war(["f-shop"], 2, 90 * DAY) is not None
    got.forget(NOW + 1000 * DAY)
    assert got.edit_war(["f-shop"], 2, 90 * DAY) is not None  # until a person resumes the object

    alone = History(keep=DAY, returns=1)
    for each in returned_in("shop", 1, NOW - 1000 * DAY):
        alone.add(each)
    alone.forget(NOW)
    assert alone.edit_war(["f-shop"], 1, DAY) is not None


def test_returns_that_a_stricter_setting_counts_are_read_again() -> None:
    loose, strict = History(keep=DAY, returns=3), History(keep=DAY, returns=2)
    assert not strict.fits(loose.carried())
    assert loose.fits(strict.carried())


def test_what_a_person_resumed_leaves_nothing() -> None:
    got = History()
    before = len(got.carried())
    for at in range(100):
        for each in returned_in(f"ns-{at}", at, NOW - 100 * DAY):
            got.add(each)
        got.add(entry("resumed", scope=f"IPAMClaim ns-{at}/db.blue"))
    got.forget(NOW)
    assert len(got.carried()) < before + 20


def test_pauses_are_those_that_nobody_resumed() -> None:
    got = history(entry("paused", by="ann", why="w"), entry("paused", scope="shop"), entry("resumed", scope="shop"))
    pause = got.paused("")
    assert pause is not None
    assert (pause.at, pause.by, pause.why) == (NOW, "ann", "w")
    assert got.paused("shop") is None
    assert got.paused("bank") is None


EVENTS = st.sampled_from([each.value for each in Event if each is not Event.INTENDED])
STEPS = st.lists(st.tuples(st.integers(0, 3), EVENTS, st.booleans()), max_size=30)


@given(STEPS)
def test_no_order_of_entries_breaks_it_and_it_is_the_same_entry_by_entry(steps: list[tuple[int, str, bool]]) -> None:
    entries = [entry("intended", NOW - 100, attempt=f"a{n}", plan=plan(fingerprint=f"f{n}")) for n in range(3)]
    for each, (number, event, happened) in enumerate(steps):
        scope = ("", "shop", str(CLAIM))[number % 3]
        entries.append(entry(event, NOW - 90 + each, attempt=f"a{number}", happened=happened, scope=scope))
    step_by_step = History()
    for one in entries:
        step_by_step.add(one)
    whole = history(*entries)
    assert vars(step_by_step) == vars(whole)
    assert all(a <= b for a, b in pairwise(whole.executed(0)))
    assert whole.failures("repair").count <= 3
