"""What a guard declares: its own sentences and reads, and those of the guards that it asks."""

from __future__ import annotations

import inspect

from exporter.domain.identity import IDENTITY, SERIAL
from exporter.store.kinds.namespace import Namespace
from exporter.store.kinds.pod import Pod
from reconcile.plan.guards import Needs, guard, refused, when
from reconcile.plan.plan import Refused


@guard({"small": "it is small"}, reads=(Pod.KIND,), indexes=(SERIAL,))
def _small(number: int) -> Refused | None:
    return Refused("small", f"{number} is large") if number > 9 else None


@guard({"even": "it is even"}, _small, {"small": "it has one digit"}, reads=(Namespace.KIND, Pod.KIND))
def _even(number: int) -> Refused | None:
    """Refuses what is odd."""
    return _small(number) or (Refused("even", f"{number} is odd") if number % 2 else None)


def test_a_guard_is_the_function_that_it_was() -> None:
    assert _even(4) is None
    assert _even(3) == Refused("even", "3 is odd")
    assert _even(11) == Refused("small", "11 is large")
    assert inspect.getmodule(_even) is inspect.getmodule(test_a_guard_is_the_function_that_it_was)
    assert inspect.getdoc(inspect.unwrap(_even)) == "Refuses what is odd."


def test_it_has_what_those_have_that_it_asks_and_each_once() -> None:
    assert list(_even.holds.items()) == [("even", "it is even"), ("small", "it is small")]
    assert _even.reads == (Pod.KIND, Namespace.KIND)
    assert _even.indexes == (SERIAL,)


def test_of_two_sentences_for_one_name_the_first_counts() -> None:
    needs = Needs({"small": "it has one digit"}, _small, indexes=(IDENTITY,))
    assert needs.holds == {"small": "it has one digit"}
    assert needs.indexes == (SERIAL, IDENTITY)


def test_what_can_not_fail_is_left_out_and_read_all_the_same() -> None:
    kept = _even.but("small")
    assert kept.holds == {"even": "it is even"}
    assert kept.reads == _even.reads
    assert kept(3) == _even(3)


def test_what_holds_in_one_case_alone_says_so() -> None:
    needs = when("of a pod", _small, {"new": "it is new"})
    assert needs.holds == {"small": "of a pod: it is small", "new": "of a pod: it is new"}
    assert needs.reads == _small.reads


def test_the_first_that_refuses_is_what_is_said() -> None:
    assert refused((_small, Needs({"asked": "somebody else asks"}), _even), 4) is None
    assert refused((_even, _small), 11) == Refused("small", "11 is large")
    assert refused((_small, _even), 3) == Refused("even", "3 is odd")
