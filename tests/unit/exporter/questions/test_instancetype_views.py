"""Instancetypes as a view: who refers to each and how, what the copies lack, and who fails without it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.counts.base import Aggregates
from exporter.counts.instancetypes import STATE, InstancetypeUsage
from exporter.engine.evaluate import at_once
from exporter.questions.instancetypes import READER, InstancetypeReport, Instancetypes, steps
from exporter.store.source import SyncState

from ....evaluation import Evaluation
from ....instancetype_rows import CLUSTER, NAMESPACED, U1, revision, vm
from ....rows import full

Row = dict[str, Any]
LIVE = U1 | {"generation": 2, "spec": {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}}}
POOL: Row = {"kind": "VirtualMachinePool", "name": "p", "instancetype": {"name": "u1"}}


class Viewed(Evaluation):
    """With what the app puts beside the engine."""

    def __init__(self, *rows: Row) -> None:
        super().__init__(all_checks(), indexes=READER.indexes)
        aggregates = Aggregates(self.engine.cluster, [STATE])
        self.engine.observe(aggregates.changed)
        self.usage = aggregates.of(InstancetypeUsage)
        self.put(rows)

    def put(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.seen(full(row))

    def take(self, only: str = "") -> Instancetypes:
        self.evaluate()
        list(self.usage.settle())
        return at_once(steps(self.engine.cluster, self.usage, self.engine.findings(), self.engine.generation, only))

    def one(self, only: str = "u1") -> InstancetypeReport:
        (report,) = self.take(only).objects
        return report


def test_the_summary_of_an_instancetype() -> None:
    same = revision("r-c", labels=None) | {"vm": "c", "owner": "u-c"}
    report = Viewed(
        LIVE | {"labels": {"instancetype.kubevirt.io/deprecated": "true"}},
        vm("a"),
        vm("b", instancetypeRef="r-b"),
        vm("c", instancetype={"name": "u1", "revisionName": "r-c"}),
        vm("d", instancetypeRef="lost"),
        vm("gone", deleting=True),
        revision("r-b", vm="b", owner="u-b"),
        same,
        POOL,
    ).one()

    assert (report.role, report.kind, report.path) == ("instancetype", CLUSTER, "u1")
    assert (report.state, report.deprecated, report.deleting_since) == ("present", True, "")
    assert (report.vms, report.users) == (4, {"pinned": 1, "revision": 2, "unversioned": 1})
    assert (report.safe, report.broken, report.dependents) == (2, 1, 1)
    assert [ref.path for ref in report.first_dependents] == ["ns/a"]
    assert (report.pools, [ref.path for ref in report.first_pools]) == (1, ["ns/p"])
    assert (report.revisions, report.drifted) == (2, 2)
    assert report.fields == {"cpu.guest": 2, "memory.guest": 2}
    assert [(each.generation, each.uid, each.vms, each.fields) for each in report.copies] == [
        (1, "t1", 2, ("cpu.guest", "memory.guest"))
    ]
    assert report.complete
    assert report.findings["Unversioned"] == report.findings["DeletableInUse"] == 1
    assert report.findings["Drifted"] == 2
    assert report.findings["RevisionMissing"] == report.findings["DeprecatedInUse"] == 1


def test_what_is_missing_and_what_goes_come_first() -> None:
    viewed = Viewed(
        {"kind": CLUSTER, "name": "busy"},
        {"kind": CLUSTER, "name": "idle"},
        {"kind": CLUSTER, "name": "going", "deleting": True},
        *(vm(f"vm-{each}", instancetype={"name": "busy"}) for each in range(12)),
        vm("a", instancetype={"name": "lost"}, preference={"name": "p", "kind": "VirtualMachinePreference"}),
    )
    found = viewed.take().objects
    assert [(each.kind, each.path, each.state) for each in found] == [
        (CLUSTER, "lost", "missing"),
        ("VirtualMachinePreference", "ns/p", "missing"),
        (CLUSTER, "going", "present"),
        (CLUSTER, "busy", "present"),
        (CLUSTER, "idle", "present"),
    ]
    assert found[2].deleting_since == "2026-06-03T16:20:00Z"
    assert (found[3].dependents, len(found[3].first_dependents)) == (12, 10)
    assert [each.path for each in found[3].first_dependents][:3] == ["ns/vm-0", "ns/vm-1", "ns/vm-10"]
    assert found[0].findings == {"ObjectMissing": 1}
    assert found[4].vms == 0


def test_only_those_of_a_name() -> None:
    other = {"kind": NAMESPACED, "name": "u1"}
    viewed = Viewed(U1, other, other | {"namespace": "other"}, {"kind": CLUSTER, "name": "u2"})
    assert [each.path for each in viewed.take("u1").objects] == ["u1", "ns/u1", "other/u1"]
    assert [each.path for each in viewed.take("other/u1").objects] == ["other/u1"]
    assert viewed.take("u3").objects == ()


@pytest.mark.parametrize(
    ("rows", "drifted", "safe"),
    [
        ([revision(of="u2")], 0, 1),  # a copy of another object
        ([revision(labels={})], 0, 1),  # nobody knows what of
        ([revision() | {"of": None, "data": {"kind": "Pod"}}], 0, 0),
        ([], 0, 0),
        ([revision()], 1, 1),
    ],
)
def test_a_copy_is_compared_where_its_label_says_what_it_is_of(rows: list[Row], drifted: int, safe: int) -> None:
    pinned = vm(instancetype={"name": "u1", "revisionName": "r"})
    report = Viewed(LIVE, pinned, *rows).one()
    assert (report.drifted, report.safe, report.broken) == (drifted, safe, 1 - safe)


def test_drift_follows_the_live_object_and_what_is_gone_differs_from_nothing() -> None:
    viewed = Viewed(LIVE, vm(instancetypeRef="r"), revision())
    assert viewed.one().drifted == 1
    viewed.seen(full(LIVE | {"spec": {"cpu": {"guest": 1}}}))
    assert viewed.one().drifted == 0
    viewed.gone(CLUSTER, "", "u1")
    assert (viewed.one().state, viewed.one().drifted, viewed.one().fields) == ("missing", 0, {})
    assert (viewed.one().safe, viewed.one().dependents) == (1, 0)


def test_a_pool_whose_template_names_a_revision_does_not_need_the_object() -> None:
    pinned = POOL | {"instancetype": {"name": "u1", "revisionName": "r"}}
    assert Viewed(U1, pinned).one().pools == 0
    viewed = Viewed(POOL)
    assert (viewed.one().state, viewed.one().pools, viewed.one().findings) == ("missing", 1, {"PoolObjectMissing": 1})
    viewed.seen(full(POOL | {"deleting": True}))
    assert viewed.take().objects == ()


def test_what_is_still_to_be_inferred_is_counted_by_role() -> None:
    waiting = {"inferFromVolume": "disk"}
    found = Viewed(vm(instancetype=waiting, preference=waiting), vm("b", instancetype=waiting)).take()
    assert (found.inferred, found.objects) == ({"instancetype": 2, "preference": 1}, ())


def test_a_reference_of_an_unknown_kind_is_no_use_of_the_object() -> None:
    report = Viewed(U1, vm(instancetype={"name": "u1", "kind": "Flavour"})).one()
    assert (report.vms, report.findings) == (0, {})


# -- what can't be seen


@pytest.mark.parametrize(
    "kind", ["VirtualMachine", "ControllerRevision", CLUSTER, "VirtualMachinePreference", "KubeVirt"]
)
def test_nothing_is_counted_while_a_kind_is_not_seen(kind: str) -> None:
    viewed = Viewed(U1, vm())
    viewed.sync_state(kind, SyncState.FORBIDDEN)
    found = viewed.take()
    assert (found.unseen, found.objects) == ((kind,), ())


def test_pools_that_are_not_seen_are_not_none() -> None:
    viewed = Viewed(U1, vm(), POOL)
    viewed.sync_state("VirtualMachinePool", SyncState.FORBIDDEN)
    assert viewed.take().unseen == ("VirtualMachinePool",)
    assert (viewed.one().vms, viewed.one().pools, viewed.one().first_pools) == (1, None, ())


def test_not_applicable_where_they_are_not_served() -> None:
    viewed = Viewed(vm())
    viewed.sync_state(CLUSTER, SyncState.ABSENT)
    found = viewed.take()
    assert found.not_applicable == (
        "the cluster does not serve virtualmachineclusterinstancetypes.instancetype.kubevirt.io"
    )
    assert (found.unseen, found.objects) == ((), ())


def test_an_undecodable_object_is_not_missing() -> None:
    viewed = Viewed(vm(), U1 | {"undecodable": True}, {"kind": NAMESPACED, "name": "idle", "undecodable": True})
    assert [(each.path, each.state, each.complete, each.vms) for each in viewed.take().objects] == [
        ("u1", "unknown", False, 1),
        ("ns/idle", "unknown", False, 0),
    ]


@pytest.mark.parametrize(
    ("row", "complete"),
    [
        (vm("x", namespace="other"), {"u1": False, "ns/n": True, "other/n": False}),
        (revision("x", namespace="ns"), {"u1": False, "ns/n": False, "other/n": True}),
        (
            {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"},
            dict.fromkeys(("u1", "ns/n", "other/n"), False),
        ),
        ({"kind": "Pod", "name": "x"}, dict.fromkeys(("u1", "ns/n", "other/n"), True)),
    ],
)
def test_what_an_undecodable_object_leaves_open(row: Row, complete: dict[str, bool]) -> None:
    namespaced = {"kind": NAMESPACED, "name": "n"}
    viewed = Viewed(U1, namespaced, namespaced | {"namespace": "other"}, row | {"undecodable": True})
    assert {each.path: each.complete for each in viewed.take().objects} == complete


# -- many


def test_others_get_their_turn_while_many_are_looked_at() -> None:
    """3,000 VMs of one object, half of them with a copy that no other has: no turn compares or sorts them all."""
    viewed = Viewed(
        LIVE,
        *(vm(f"vm-{each}", instancetypeRef=f"r-{each}") for each in range(1500)),
        *(
            revision(
                f"r-{each}",
                labels={"instancetype.kubevirt.io/object-name": "u1", "instancetype.kubevirt.io/object-uid": f"{each}"},
            )
            for each in range(1500)
        ),
        *(vm(f"live-{each}") for each in range(1500)),
    )
    list(viewed.usage.settle())
    (report,) = viewed.take().objects
    assert (report.vms, len(report.copies), report.dependents) == (3000, 10, 1500)
    assert sum(1 for _ in steps(viewed.engine.cluster, viewed.usage, [], 1)) > 1500 // 50 + 1500 // 500
