"""Rows that evictions read, from few nodes and few names, for tests that draw fleets."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.rows import CREATED

__all__ = ["NODES", "evicting"]

NODES = ("node01", "node02")


@st.composite
def evicting(draw: st.DrawFn, kind: str, name: str, uid: str) -> dict[str, Any]:
    """What evictions read of a kind, to be put over the row of any object of it."""
    row: dict[str, Any] = {}
    if kind in _MAKERS:
        row = _MAKERS[kind](draw, name, uid)
    return row


LATER = "2026-05-04T08:22:31Z"
# As Cluster API's provider labels what it makes.
MANAGED = {
    "capk.cluster.x-k8s.io/kubevirt-machine-name": "a",
    "capk.cluster.x-k8s.io/kubevirt-machine-namespace": "ns",
}


def _one_of(draw: st.DrawFn, *rows: dict[str, Any]) -> dict[str, Any]:
    return draw(st.sampled_from(rows))


def _node(draw: st.DrawFn, _: str, __: str) -> dict[str, Any]:
    taints = st.sampled_from(([], ["kubevirt.io/drain:NoSchedule"], ["example.com/drain:NoSchedule"]))
    uuids = st.sampled_from(("", "1", "4c4c4544-0038-4b10-8053-b7c04f4b4e32"))
    cordoned = draw(st.booleans())
    return {
        "name": draw(st.sampled_from(NODES)),
        "cordoned": cordoned,
        "taints": draw(taints),
        "systemUUID": draw(uuids),
    }


def _kubevirt(draw: st.DrawFn, _: str, __: str) -> dict[str, Any]:
    return _one_of(
        draw,
        {"strategy": "LiveMigrate"},
        {"strategy": "LiveMigrate", "version": "v1.9.0"},
        {"version": "v1.5.0", "migrations": {"nodeDrainTaintKey": "example.com/drain"}},
        {"version": "v1.8.0", "migrations": {"parallelMigrationsPerCluster": 1}},
    )


def _vmi(draw: st.DrawFn, _: str, __: str) -> dict[str, Any]:
    strategies = st.sampled_from((None, "None", "LiveMigrate", "LiveMigrateIfPossible", "External"))
    started = {"migrationUid": "m", "startTimestamp": CREATED}
    ended = {**started, "endTimestamp": CREATED, "failed": True, "failureReason": "no"}
    return {
        "node": draw(st.sampled_from(NODES)),
        "strategy": draw(strategies),
        "evacuation": draw(st.sampled_from((None, *NODES))),
        "labels": draw(st.sampled_from(({}, MANAGED))),
        **_one_of(draw, {}, {"migratable": True}, {"migratable": False}),
        **_one_of(draw, {}, {}, {"migration": started}, {"migration": ended}, {"descheduled": True}),
    }


def _migration(draw: st.DrawFn, name: str, _: str) -> dict[str, Any]:
    phases = st.sampled_from(("Pending", "Running", "Scheduling", "Failed", "Failed", "Succeeded", None))
    row = {"name": draw(st.sampled_from(("m1", "m2", "m3"))), "vmi": name, "phase": draw(phases)}
    node = draw(st.sampled_from(NODES))
    return row | _one_of(draw, {}, {"evacuates": node}, {"rejected": "migrationBlockedByBackup"})


def _pod(draw: st.DrawFn, name: str, uid: str) -> dict[str, Any]:
    vmi = uid.replace("Pod-", "VirtualMachineInstance-")
    row = {"node": draw(st.sampled_from(NODES)), "vmi": vmi, "labels": {"app": name}}
    target = {"migration": "VirtualMachineInstanceMigration-ns-m1-u1"}
    pending = {"node": "", "phase": "Pending", "unschedulable": "no"} | target
    return row | _one_of(draw, {}, {}, {"hotplug": "a"}) | _one_of(draw, {}, {}, pending)


def _pdb(draw: st.DrawFn, name: str, uid: str) -> dict[str, Any]:
    owned = {"owner": f"{name}/{uid.replace('PodDisruptionBudget', 'VirtualMachineInstance')}"}
    selects = _one_of(draw, {"selector": {}}, {"selects": {"app": name}}, {})
    status = {"allowed": draw(st.integers(0, 1)), "expected": 1, "desired": 1}
    return selects | status | _one_of(draw, {}, owned)


def _maintenance(draw: st.DrawFn, _: str, __: str) -> dict[str, Any]:
    return {"node": draw(st.sampled_from(NODES))}


def _manager(draw: st.DrawFn, _: str, __: str) -> dict[str, Any]:
    return {"namespace": "ns", "name": "a"} | _one_of(draw, {}, {"deadline": CREATED}, {"deadline": LATER})


def _slice(draw: st.DrawFn, _: str, __: str) -> dict[str, Any]:
    return {"ready": draw(st.integers(0, 1)), "unready": 1}


_MAKERS = {
    "Node": _node,
    "NodeMaintenance": _maintenance,
    "KubeVirt": _kubevirt,
    "VirtualMachineInstance": _vmi,
    "VirtualMachineInstanceMigration": _migration,
    "Pod": _pod,
    "PodDisruptionBudget": _pdb,
    "EndpointSlice": _slice,
    "KubevirtMachine": _manager,
}
