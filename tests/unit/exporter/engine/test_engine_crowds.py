"""Crowds: many partitions, many undecodable objects, many objects that come and go; none of them holds up the rest."""

from __future__ import annotations

import gc
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.counts import all_states
from exporter.counts.base import Aggregates
from exporter.counts.networks import AddressUsage
from exporter.engine.causes import HOUR
from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.facts.record import Record
from exporter.findings.check import PER_CLUSTER, PER_NAMESPACE, PER_VM, Check, Family, Reason, Scope, View
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.metrics.exposition import Exposition
from exporter.metrics.telemetry import CheckState, check_states
from exporter.questions.findings import take
from exporter.store.index import ByName, Index
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.source import SyncState
from tests.amounts import drawn, part
from tests.evaluation import NOW, api_kinds, decoded
from tests.rows import full

KINDS = api_kinds()
REASONS = {
    "Odd": Reason((Severity.INFO,), "Odd.", Family("x", "X.")),
    "Slow": Reason((Severity.INFO,), "Slow.", Family("x", "X."), grace=60.0),
}


def of_each(kind: type[Record], reason: str = "Odd") -> Callable[[View], Iterator[Finding]]:
    def find(view: View) -> Iterator[Finding]:
        for record in view.all(kind):
            yield Finding(reason=reason, severity=Severity.INFO, subject=record.ref, message="m")

    return find


def per_vm(name: str) -> Check:
    return Check(name, "X", (VirtualMachine.KIND, Pod.KIND), PER_VM, REASONS, of_each(VirtualMachine))


class Crowd:
    """An engine whose timer goes on by a millisecond with each look, of which a partition with a finding has three: a
    step evaluates four partitions at most.
    """

    def __init__(self, *checks: Check, initial: bool = True, look: float = 0.001) -> None:
        self.clock = NOW
        ticks = itertools.count()
        self.engine = Engine(
            checks, clock=lambda: self.clock, timer=lambda: next(ticks) * look, initial=initial, readers=all_states()
        )
        self.intake = Intake(self.engine, lambda: self.clock)
        for name in KINDS:
            self.sees(name, SyncState.LIVE)

    def sees(self, kind: str, sync_state: SyncState, why: str = "") -> None:
        self.intake.sync_state(KINDS[kind], sync_state, why)

    def seen(self, kind: str, namespace: str, name: str, **row: Any) -> None:
        thing = full({"kind": kind, "namespace": namespace, "name": name, **row})
        self.intake.seen(KINDS[kind], decoded(KINDS[kind], thing))

    def undecodable(self, kind: str, namespace: str, name: str) -> None:
        self.seen(kind, namespace, name, undecodable=True)

    def gone(self, kind: str, namespace: str, name: str) -> None:
        self.intake.gone(KINDS[kind], namespace, name)

    def steps(self, most: int = 100_000) -> int:
        """How many it takes until nothing is due."""
        for done in range(1, most + 1):
            if not self.engine.step():
                return done
        raise AssertionError(f"more is due after {most} steps")

    def evaluated(self, check: str) -> int:
        return self.engine.evaluated[check].partitions


# -- turns


@pytest.mark.parametrize("order", [("busy", "quiet"), ("quiet", "busy")])
def test_a_check_that_always_has_more_to_do_does_not_starve_another(order: tuple[str, str]) -> None:
    crowd = Crowd(*(per_vm(name) for name in order))
    evaluated = crowd.evaluated
    for number in range(100):
        crowd.seen("VirtualMachine", "a", f"vm-{number}")
    crowd.steps()
    before = {name: evaluated(name) for name in order}
    crowd.seen("VirtualMachine", "a", "vm-0", serial="new")
    for turn in range(20):
        crowd.engine.configure("busy", turn)  # all of it is due again
        crowd.engine.step()
    assert evaluated("quiet") == before["quiet"] + 1
    assert evaluated("busy") > before["busy"] + 10


def test_the_slices_of_busy_checks_are_alike() -> None:
    names = [f"check-{number}" for number in range(5)]
    crowd = Crowd(*(per_vm(name) for name in names))
    for number in range(200):
        crowd.seen("VirtualMachine", "a", f"vm-{number}")
    for _ in range(40):
        assert crowd.engine.step()
    done = [crowd.evaluated(name) for name in names]
    assert min(done) > 0
    assert max(done) <= 2 * min(done)


def _each_by_itself(crowd: Crowd) -> None:
    for number in range(1000):
        crowd.seen("VirtualMachine", "full", f"vm-{number}", serial="new")


def _by_one_change(crowd: Crowd) -> None:
    crowd.seen("VirtualMachine", "full", "vm-0", serial="new")


def _resumed(crowd: Crowd) -> None:
    crowd.undecodable("VirtualMachine", "full", "odd")
    _each_by_itself(crowd)
    crowd.steps()
    crowd.gone("VirtualMachine", "full", "odd")


@pytest.mark.parametrize("fill", [_each_by_itself, _by_one_change, _resumed])
def test_namespaces_take_turns(fill: Callable[[Crowd], None]) -> None:
    def alike(record: Record, _: ByName) -> Iterable[str]:
        return (record.namespace,) if isinstance(record, VirtualMachine) else ()

    looks_up = (Index("alike", alike),) if fill is _by_one_change else ()
    check = Check("x", "X", (VirtualMachine.KIND,), PER_VM, REASONS, of_each(VirtualMachine), looks_up)
    crowd = Crowd(check)
    for number in range(1000):
        crowd.seen("VirtualMachine", "full", f"vm-{number}")
    crowd.steps()
    fill(crowd)
    before = crowd.evaluated("x")
    others = [f"{namespace}-{number}" for namespace in "ab" for number in range(2)]
    for name in others:
        crowd.seen("VirtualMachine", name[0], name)
    found: list[str] = []
    crowd.engine.listen(lambda _, come: found.extend(each.subject.name for each in come))
    while not set(others) <= set(found) and crowd.engine.step():
        pass
    assert crowd.evaluated("x") - before < 50
    assert crowd.steps() > 100  # the others are not forgotten
    assert crowd.evaluated("x") - before == 1000 + len(others)
    assert crowd.engine.caught_up


def test_what_keeps_changing_does_not_keep_it_from_being_ready() -> None:
    crowd = Crowd(per_vm("x"), look=0.0004)
    crowd.engine.settle = 1.0
    for number in range(20):
        crowd.seen("VirtualMachine", "a", f"vm-{number}")
    for turn in range(2000):
        crowd.seen("VirtualMachine", "a", f"restless-{turn}")
        crowd.engine.step()
    assert not crowd.engine.caught_up
    assert crowd.engine.ready


# -- undecodable objects


def test_what_an_undecodable_object_hides_is_looked_at_again_when_that_can_be_otherwise_and_not_before() -> None:
    crowd = Crowd(per_vm("x"))
    for number in range(50):
        crowd.undecodable("Pod", "a", f"pod-{number}")
    crowd.undecodable("Pod", "elsewhere", "pod")
    for number in range(300):
        crowd.seen("VirtualMachine", "a", f"vm-{number}")
    assert crowd.steps() > 50
    for number in range(49):  # and they come and go, as does what else can't be read, and watches are connected again
        crowd.gone("Pod", "a", f"pod-{number}")
        crowd.undecodable("Pod", "a", f"other-{number}")
        crowd.gone("Pod", "a", f"other-{number}")
        assert crowd.steps() == 1
    crowd.gone("Pod", "elsewhere", "pod")
    assert crowd.steps() == 1
    for kind in ("Pod", "VirtualMachine", "Node"):
        crowd.sees(kind, SyncState.BEHIND, "connecting")
        crowd.sees(kind, SyncState.LIVE)
        assert crowd.steps() == 1
    assert list(crowd.engine.findings()) == []
    assert crowd.evaluated("x") == 0

    crowd.gone("Pod", "a", "pod-49")
    assert crowd.steps() > 50
    assert len(list(crowd.engine.findings())) == crowd.evaluated("x") == 300
    assert crowd.engine.caught_up


def test_a_partition_that_two_namespaces_hide_waits_for_both() -> None:
    def everywhere(record: Record, _: ByName) -> Iterable[str]:
        return ("all",) if isinstance(record, VirtualMachine) else ()

    scope = Scope("all", Index("all", everywhere))
    crowd = Crowd(Check("x", "X", (VirtualMachine.KIND,), scope, REASONS, of_each(VirtualMachine)))
    for namespace in "ab":
        crowd.seen("VirtualMachine", namespace, "db")
        crowd.undecodable("VirtualMachine", namespace, "odd")
    crowd.steps()
    for namespace in "ab":
        assert list(crowd.engine.findings()) == []
        crowd.gone("VirtualMachine", namespace, "odd")
        crowd.steps()
    assert len(list(crowd.engine.findings())) == 2


def test_a_namespace_full_of_undecodable_objects_holds_up_no_other_and_is_ready() -> None:
    crowd = Crowd(*all_checks())
    for number in range(1500):
        crowd.undecodable("Pod", "bad", f"pod-{number}")
    crowd.seen("VirtualMachine", "good", "db", serial="s1")
    crowd.seen("VirtualMachine", "good", "web", serial="s1")
    crowd.steps()
    assert crowd.engine.ready
    assert "SerialDuplicate" in {each.reason for each in crowd.engine.findings()}
    before = crowd.evaluated("sources")
    crowd.undecodable("Pod", "bad", "one-more")
    assert crowd.steps() == 1
    assert crowd.evaluated("sources") == before + 1
    undecodable = [each for each in crowd.engine.findings() if each.reason == "UndecodableObject"]
    assert len(undecodable) == 1501
    assert undecodable[-1].commands == ("kubectl get pods -n bad one-more -o yaml",)


def test_reading_is_no_slower_for_ten_times_as_many_undecodable_objects() -> None:
    def times(count: int) -> dict[str, float]:
        crowd = Crowd(*all_checks(), look=1e-9)
        for number in range(200):
            crowd.seen("VirtualMachineInstance", "bad", f"vm-{number}")
        crowd.steps()
        for number in range(count):
            crowd.undecodable("Pod", "bad", f"pod-{number}")
        crowd.steps()
        engine = crowd.engine

        def evaluated() -> None:
            for number in range(200):
                crowd.seen("VirtualMachineInstance", "bad", f"vm-{number}", node=str(next(turns)))
            crowd.steps()

        turns = itertools.count()
        calls: dict[str, Callable[[], object]] = {
            "step": engine.step,
            "check states": lambda: check_states(engine, ()),
            "unknown": engine.unknowns,
            "evaluated": evaluated,
        }
        return {name: min(_seconds(call) for _ in range(5)) for name, call in calls.items()}

    few, many = times(200), times(4000)
    # With a cost that grew with them it would be twenty times as much.
    assert {name for name in few if many[name] > 6 * few[name] + 0.0005} == set()


def _seconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def test_what_is_unknown_is_listed_in_part_and_counted_in_full() -> None:
    crowd = Crowd(per_vm("x"))
    for number in range(12):
        crowd.undecodable("Pod", "full", f"pod-{number}")
    for number in range(150):
        crowd.undecodable("VirtualMachine", f"ns-{number}", "odd")
    crowd.undecodable("VirtualMachine", "ns-149", "odder")
    unknowns = crowd.engine.unknowns()
    full_up = [each.why for each in unknowns if each.partition == "full"]
    assert len(full_up) == 11
    assert "2 more objects of this place could not be read either" in full_up
    (rest,) = (each for each in unknowns if each.partition == "51 more")
    assert rest.why == "52 more objects of these namespaces could not be read either"
    assert len(unknowns) == 11 + 99 + 1
    assert crowd.engine.unknown_places() == {"x": 151}
    assert crowd.engine.unknown_everywhere() == set()

    for number in range(150):
        crowd.gone("VirtualMachine", f"ns-{number}", "odd")
    crowd.gone("VirtualMachine", "ns-149", "odder")
    for number in range(12):
        crowd.gone("Pod", "full", f"pod-{number}")
    assert crowd.engine.unknowns() == []
    assert crowd.engine.unknown_places() == {"x": 0}


def test_partitions_in_which_the_check_raises_are_listed_in_part_too() -> None:
    def raises(view: View) -> Iterator[Finding]:
        raise ZeroDivisionError(view.partition)

    crowd = Crowd(Check("x", "X", (VirtualMachine.KIND,), PER_NAMESPACE, REASONS, raises))
    for number in range(130):
        crowd.seen("VirtualMachine", f"ns-{number}", "db")
    crowd.steps()
    unknowns = crowd.engine.unknowns()
    assert len(unknowns) == 101
    assert "30 more" in {each.partition for each in unknowns}
    assert crowd.engine.unknown_places() == {"x": 130}
    for number in range(130):  # with an object its partition goes, and there is nothing to be unknown any more
        crowd.gone("VirtualMachine", f"ns-{number}", "db")
    crowd.steps()
    assert crowd.engine.unknowns() == []


def test_a_check_of_the_whole_cluster_is_unknown_as_a_whole_wherever_the_undecodable_object_is() -> None:
    crowd = Crowd(Check("x", "X", (VirtualMachine.KIND,), PER_CLUSTER, REASONS, of_each(VirtualMachine)))
    crowd.steps()
    assert check_states(crowd.engine, ())["x"] is CheckState.ANSWERING
    crowd.undecodable("VirtualMachine", "a", "odd")
    assert {each.partition for each in crowd.engine.unknowns()} == {""}
    assert check_states(crowd.engine, ())["x"] is CheckState.UNKNOWN
    crowd.gone("VirtualMachine", "a", "odd")
    assert check_states(crowd.engine, ())["x"] is CheckState.ANSWERING


# -- generations


def test_a_watch_that_is_connected_again_without_news_is_no_news() -> None:
    crowd = Crowd(*all_checks())
    crowd.seen("VirtualMachine", "a", "db")
    crowd.steps()
    before, shown = crowd.engine.generation, take(crowd.engine).findings
    for kind in KINDS:
        crowd.sees(kind, SyncState.BEHIND, "the watch ended")
        crowd.steps()
        crowd.sees(kind, SyncState.BEHIND, "the API server did not answer")
        crowd.sees(kind, SyncState.LIVE)
        crowd.steps()
    assert crowd.engine.generation == before
    assert take(crowd.engine).findings == shown


@pytest.mark.parametrize("lost", [SyncState.STALE, SyncState.FORBIDDEN, SyncState.ABSENT])
def test_a_kind_that_is_lost_or_comes_back_is_news(lost: SyncState) -> None:
    crowd = Crowd(*all_checks())
    crowd.steps()
    for sync_state in (SyncState.BEHIND, lost, SyncState.LIVE):
        before = crowd.engine.generation
        crowd.sees("Pod", sync_state, "why")
        crowd.steps()
        assert (crowd.engine.generation > before) is (sync_state is not SyncState.BEHIND)


# -- what moves


def _node(record: Record, _: ByName) -> Iterable[str]:
    return (record.node,) if isinstance(record, VirtualMachineInstance) and record.node else ()


PER_NODE = Scope("one node", Index("node of a VMI", _node))


def per_node(reason: str) -> Check:
    find = of_each(VirtualMachineInstance, reason)
    return Check("x", "X", (VirtualMachineInstance.KIND,), PER_NODE, REASONS, find)


def test_a_finding_in_its_grace_keeps_it_when_its_object_moves_out_of_a_partition_that_was_dirty() -> None:
    crowd = Crowd(per_node("Slow"), initial=False)
    crowd.steps()
    crowd.seen("VirtualMachineInstance", "a", "db", node="one")
    crowd.steps()
    crowd.clock += 40.0
    crowd.seen("VirtualMachineInstance", "a", "web", node="one")  # so the old partition has its turn before the new one
    crowd.seen("VirtualMachineInstance", "a", "db", node="two")
    crowd.steps()
    crowd.clock += 19.0
    crowd.steps()
    assert list(crowd.engine.findings()) == []
    crowd.clock += 1.0
    crowd.steps()
    assert [(each.subject.name, each.since) for each in crowd.engine.findings()] == [("db", NOW)]


def test_an_open_finding_that_moves_out_of_a_partition_that_was_dirty_does_not_close_and_open() -> None:
    crowd = Crowd(per_node("Odd"))
    heard: list[tuple[list[str], ...]] = []

    def listen(*differences: Iterable[Finding]) -> None:
        heard.append(tuple([each.subject.name for each in findings] for findings in differences))

    crowd.engine.listen(listen)
    crowd.seen("VirtualMachineInstance", "a", "db", node="one")
    crowd.steps()
    for node in ("two", "one", "two"):
        crowd.clock += 5.0
        crowd.seen("VirtualMachineInstance", "a", node, node="one")
        crowd.seen("VirtualMachineInstance", "a", node, node="two")
        crowd.seen("VirtualMachineInstance", "a", "db", node=node)
        crowd.steps()
    assert [each for each in heard if "db" in (*each[0], *each[1])] == [([], ["db"])]
    (finding,) = (each for each in crowd.engine.findings() if each.subject.name == "db")
    assert (crowd.engine.partition_of(finding), finding.since) == ("two", NOW)


def test_a_finding_whose_object_moved_to_where_it_can_not_be_evaluated_stays_until_it_can() -> None:
    crowd = Crowd(per_node("Odd"))
    crowd.seen("VirtualMachineInstance", "a", "db", node="one")
    crowd.seen("VirtualMachineInstance", "b", "web", node="two")
    crowd.steps()
    crowd.undecodable("VirtualMachineInstance", "b", "odd")
    crowd.seen("VirtualMachineInstance", "a", "api", node="two")
    crowd.seen("VirtualMachineInstance", "a", "api", node="one")
    crowd.seen("VirtualMachineInstance", "a", "db", node="two")
    crowd.steps()
    (finding,) = (each for each in crowd.engine.findings() if each.subject.name == "db")
    assert crowd.engine.unknown_of(finding).startswith("VirtualMachineInstance b/odd could not be read: ")
    crowd.gone("VirtualMachineInstance", "a", "db")
    crowd.gone("VirtualMachineInstance", "b", "odd")
    crowd.steps()
    assert {each.subject.name for each in crowd.engine.findings()} == {"api", "web"}


def test_an_object_that_moves_and_goes_leaves_nothing() -> None:
    crowd = Crowd(per_node("Odd"))
    crowd.seen("VirtualMachineInstance", "a", "db", node="one")
    crowd.steps()
    crowd.seen("VirtualMachineInstance", "a", "db", node="two")
    crowd.gone("VirtualMachineInstance", "a", "db")
    crowd.steps()
    assert list(crowd.engine.findings()) == []


# -- what goes


class Weighed:
    """An engine with all checks and states, and how much all of it holds."""

    def __init__(self, *, initial: bool) -> None:
        self.crowd = Crowd(*all_checks(), initial=initial, look=1e-9)
        engine = self.crowd.engine
        self.aggregates = Aggregates(engine.cluster, all_states())
        engine.observe(self.aggregates.changed)
        self.exposition = Exposition(engine.checks)
        engine.listen(self.exposition.update)
        assert self.aggregates.of(AddressUsage)

    def rest(self) -> None:
        self.crowd.steps()
        list(self.aggregates.settle())

    def come_and_go(self, generation: str, vms: int, *, rests: bool = True) -> None:
        """VMs that run, each with what belongs to it, are created, seen and deleted."""
        crowd = self.crowd
        for number in range(vms):
            name = f"{generation}-{number}"
            uid = f"VirtualMachine-{name}"
            crowd.seen("VirtualMachine", "ns", name, uid=uid, networks={"blue": "blue"}, serial=name)
            crowd.seen("VirtualMachineInstance", "ns", name, vm=uid, networks={"blue": "blue"}, node=generation)
            address = {"ns/blue": [f"10.0.{number // 250}.{number % 250 + 1}/16"]}
            crowd.seen("Pod", "ns", name, domain=name, claims=[f"{name}.blue"], addresses=address)
            crowd.seen("IPAMClaim", "ns", f"{name}.blue", vm="nobody", owner=f"of {name}", network=generation)
        if rests:
            self.rest()
        for number in range(vms):
            name = f"{generation}-{number}"
            for kind, of_it in (("IPAMClaim", f"{name}.blue"), ("Pod", name), ("VirtualMachineInstance", name)):
                crowd.gone(kind, "ns", of_it)
            crowd.gone("VirtualMachine", "ns", name)
        self.rest()

    def hours_pass(self) -> None:
        """What closed in the last hour is kept as long."""
        self.crowd.clock += 2 * HOUR
        self.rest()
        assert list(self.crowd.engine.causes.ended()) == []

    @property
    def weight(self) -> int:
        """The entries of all that can be reached."""
        seen: set[int] = set()
        left: list[Any] = [self.crowd.engine, self.aggregates, self.exposition]
        entries = 0
        while left:
            each = left.pop()
            if id(each) in seen or isinstance(each, type):
                continue
            seen.add(id(each))
            own = type(each).__module__.startswith("exporter")
            table = isinstance(each, dict | list | set | frozenset | tuple | deque)
            if own or table:
                entries += len(each) if table else 0
                left += gc.get_referents(each)
        return entries


BLIND: dict[str, tuple[str, SyncState | None] | None] = {
    "all-is-seen": None,
    "pods-are-forbidden": ("Pod", SyncState.FORBIDDEN),
    "vmis-are-stale": ("VirtualMachineInstance", SyncState.STALE),
    "vms-are-behind": ("VirtualMachine", SyncState.BEHIND),
    "the-kubevirt-is-undecodable": ("KubeVirt", None),
    "a-node-is-undecodable": ("Node", None),
    "the-namespace-is-undecodable": ("Namespace", None),
    "a-vm-is-undecodable": ("VirtualMachine", None),
}
CAME_AND_WENT = [
    pytest.param(BLIND[blind], initial, rests, id=f"{blind}-{initial}-{rests}")
    for blind, initial, rests in itertools.product(BLIND, (True, False), (True, False))
]


@drawn
@pytest.mark.parametrize(("blind", "initial", "rests"), part(CAME_AND_WENT, 3))  # still each way of being blind
def test_nothing_stays_of_what_came_and_went(
    blind: tuple[str, SyncState | None] | None, initial: bool, rests: bool
) -> None:
    weighed = Weighed(initial=initial)
    crowd = weighed.crowd
    crowd.seen("NetworkAttachmentDefinition", "ns", "blue")
    crowd.seen("Namespace", "", "ns")
    if blind and blind[1]:
        crowd.sees(blind[0], blind[1], "lost")
    elif blind:
        crowd.undecodable(blind[0], "" if blind[0] in ("Node", "Namespace") else "ns", "odd")
    weighed.rest()
    weighed.come_and_go("a", 5, rests=rests)
    weighed.hours_pass()
    before = weighed.weight
    weighed.come_and_go("b", 150, rests=rests)
    # What has been found is still found where nobody can see that it went, and is let go of when they can.
    held = len(list(crowd.engine.findings()))
    weighed.hours_pass()
    if not held:
        assert weighed.weight - before < 150
    if blind and blind[1]:
        crowd.sees(blind[0], SyncState.LIVE)
    elif blind:
        crowd.gone(blind[0], "" if blind[0] in ("Node",) else "ns", "odd")
    weighed.rest()
    weighed.hours_pass()
    assert weighed.weight - before < 150


def test_graces_of_what_is_gone_do_not_pile_up() -> None:
    crowd = Crowd(per_node("Slow"), initial=False, look=1e-9)
    crowd.steps()
    weights = []
    for turn in range(3):
        for number in range(1500):
            crowd.seen("VirtualMachineInstance", "a", f"{turn}-{number}", node=f"{turn}-{number}")
        crowd.steps()
        for number in range(1500):
            crowd.gone("VirtualMachineInstance", "a", f"{turn}-{number}")
        crowd.steps()
        weighed = Weighed.__new__(Weighed)
        weighed.crowd, weighed.aggregates, weighed.exposition = crowd, None, None  # type: ignore[assignment]
        weights.append(weighed.weight)
    assert weights[2] - weights[0] < 500
