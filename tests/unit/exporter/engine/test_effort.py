"""What a change takes, counted and not timed: evaluations, index operations and Python calls, whatever the fleet."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from bench.fleet.changes import CHANGES
from bench.fleet.population import Fleet
from demo.apiserver.resources import Obj
from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET
from exporter.store.index import Buckets
from exporter.store.source import SyncState
from tests.evaluation import NOW, Evaluation, api_kinds
from tests.rows import full

_CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]
_SMALL, _LARGE = 100, 400
_VM = 50  # whose objects change; nothing is wrong with it

# Of a change, at most: partitions evaluated, entries of indexes that are gained, lost or put in another's place, Python
# calls from the object's bytes on (on 3.11, and a tenth more; later ones make fewer). What nobody reads of an object
# evaluates nothing.
MOST: Mapping[str, tuple[int, int, int]] = {
    "vm": (1, 10, 680),
    "vmi": (6, 15, 1540),
    "vmi, unread": (0, 0, 205),
    "pod": (1, 9, 730),
    "pod, unread": (0, 0, 185),
    "claim": (3, 7, 1520),
    "node": (0, 0, 165),
}


class Counted:
    def __init__(self) -> None:
        self.calls = self.entries = 0

    @contextmanager
    def counting(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        def counted(act: Callable[..., None]) -> Callable[..., None]:
            def done(*arguments: Any) -> None:
                self.entries += 1
                act(*arguments)

            return done

        def called(frame: object, event: str, argument: object) -> None:
            self.calls += event == "call"

        with monkeypatch.context() as patched:
            patched.setattr(Buckets, "add", counted(Buckets.add))
            patched.setattr(Buckets, "remove", counted(Buckets.remove))
            patched.setattr(Buckets, "replace", counted(Buckets.replace))
            sys.setprofile(called)
            try:
                yield
            finally:
                sys.setprofile(None)


class Watched:
    """A fleet whose objects are all known and evaluated."""

    def __init__(self, vms: int) -> None:
        fleet = Fleet(vms, datetime.fromtimestamp(NOW, UTC))
        self.evaluation = Evaluation(_CHECKS, initial=False)
        self._version = 10**6
        for obj in fleet.objects():
            self.evaluation.seen(self._next(obj))
        self.evaluation.evaluate()
        self._objects: dict[str, Obj] = {each["kind"]: each for each in reversed(fleet.of(_VM))} | {
            "Node": fleet.node(0)
        }

    def _next(self, obj: Obj) -> Obj:
        """A state of an object that is newer than all before."""
        self._version += 1
        made = copy.deepcopy(obj)
        made["metadata"]["resourceVersion"] = str(self._version)
        return made

    def partitions(self) -> int:
        return sum(each.partitions for each in self.evaluation.engine.evaluated.values())

    def effort(self, name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, int]:
        """Of a change there and back: evaluations, index entries, Python calls; half of each."""
        change = CHANGES[name]
        obj = self._objects[change.kind]
        self.evaluation.seen(self._next(change.changed(obj, False)))
        self.evaluation.evaluate()
        before, counted = self.partitions(), Counted()
        for there in (True, False):
            made = self._next(change.changed(obj, there))
            with counted.counting(monkeypatch):
                self.evaluation.seen(made)
                self.evaluation.evaluate()
        return (self.partitions() - before) // 2, counted.entries // 2, counted.calls // 2


@pytest.fixture(scope="module")
def small() -> Watched:
    return Watched(_SMALL)


@pytest.fixture(scope="module")
def large() -> Watched:
    return Watched(_LARGE)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_costs_what_it_costs_and_the_same_in_a_larger_fleet(
    name: str, small: Watched, large: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_small, of_large = small.effort(name, monkeypatch), large.effort(name, monkeypatch)
    assert of_large[:2] == of_small[:2]
    assert of_large[2] <= of_small[2] * 1.05
    assert [what for what, most in zip(of_small, MOST[name], strict=True) if what > most] == []


# -- many NADs of one network, and as many who ask for them


def _nad(number: int, role: str, mtu: int = 1400) -> Obj:
    name = f"n{number:05}"
    net = {"cniVersion": "1.0.0", "name": "tenantblue", "type": "ovn-k8s-cni-overlay", "topology": "layer2"}
    net |= {"subnets": "10.0.0.0/8", "role": role, "netAttachDefName": f"ns/{name}"}
    made = full({"kind": "NetworkAttachmentDefinition", "namespace": "ns", "name": name})
    made["spec"] = {"config": json.dumps({**net, "allowPersistentIPs": True, "mtu": mtu})}
    made["metadata"]["resourceVersion"] = str(10**6 + mtu * 1000 + number)
    return made


def _calls(count: int, role: str, unseen: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Python calls after a change of one of so many NADs, of whose network there are as many IPAMClaims and VMs."""
    evaluation = Evaluation(_CHECKS, initial=False)
    for number in range(count):
        claim = {"kind": "IPAMClaim", "namespace": "ns", "name": f"vm{number}.net", "network": "tenantblue"}
        evaluation.seen(full({**claim, "ips": [f"10.1.{number // 200}.{number % 200 + 1}/8"], "vm": f"vm{number}"}))
        evaluation.seen(full({"kind": "VirtualMachine", "namespace": "ns", "name": f"vm{number}"}))
        evaluation.seen(_nad(number, role))
    if unseen:
        evaluation.intake.sync_state(api_kinds()[unseen], SyncState.FORBIDDEN, "forbidden")
    evaluation.evaluate()
    counted = Counted()
    with counted.counting(monkeypatch):
        evaluation.seen(_nad(0, role, mtu=1500))
        evaluation.evaluate()
    return counted.calls


@pytest.mark.parametrize("unseen", ["", "Pod"])
@pytest.mark.parametrize("role", ["secondary", "primary"])
def test_many_nads_and_claims_of_one_network_cost_their_sum(
    role: str, unseen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = _calls(50, role, unseen, monkeypatch), _calls(300, role, unseen, monkeypatch)
    assert many < 6.5 * few
