"""Rows of few names, so that random objects meet, and what two engines are compared by."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from exporter.checks import all_checks
from exporter.facts.firmware import legacy
from exporter.findings.finding import Since

from .evaluation import api_kinds
from .rows import CREATED

__all__ = ["NODES", "departing", "evicting"]

# Rows that evictions read, from few nodes and few names, for tests that draw fleets.

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
MANAGED = {"capk.cluster.x-k8s.io/kubevirt-machine-name": "a", "capk.cluster.x-k8s.io/kubevirt-machine-namespace": "ns"}


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


# -- whole fleets, of what decides whether a VMI leaves its node

_SINCE = "2026-06-01T10:00:00Z"
_LONG = "a-name-that-is-longer-than-the-sixty-three-bytes-of-a-label-value"
_PHASES = (None, "Pending", "Scheduling", "Running", "WaitingForSync", "Failed", "Succeeded")
_TAINTS = (
    "kubevirt.io/drain:NoSchedule",
    "kubevirt.io/drain:NoExecute",
    "medik8s.io/drain:NoSchedule",
    "medik8s.io/drain:PreferNoSchedule",
    "gpu:NoSchedule",
)


@st.composite
def departing(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The rows of a fleet: nodes however they are drained, and VMIs however far their departure is."""
    rows = [_fleet_node(draw, name) for name in NODES]
    version = draw(st.sampled_from(("v1.6.0", "v1.8.0", "v1.9.0")))
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": version}
    default = draw(st.sampled_from((None, "LiveMigrate", "LiveMigrateIfPossible")))
    limits = {"parallelMigrationsPerCluster": draw(st.integers(1, 3))}
    rows.append(kubevirt | {"strategy": default, "migrations": limits})
    for name in ("a", "b", "c", _LONG)[: draw(st.integers(1, 4))]:
        rows += _fleet_vmi(draw, name)
    for name in ("p1", "p2")[: draw(st.integers(0, 2))]:
        selects = {"selector": {}} if draw(st.booleans()) else {"selects": {"app": draw(st.sampled_from("abc"))}}
        counts = {"allowed": draw(st.integers(0, 1)), "desired": 1, "expected": draw(st.integers(1, 2))}
        rows.append({"kind": "PodDisruptionBudget", "name": name, **selects, **counts})
    if draw(st.booleans()):
        rows.append({"kind": "NodeMaintenance", "name": "m", "node": draw(st.sampled_from(NODES))})
    if draw(st.booleans()):
        rows.append({"kind": "Pod", "name": "app", "node": draw(st.sampled_from(NODES))})
    return rows


def _fleet_node(draw: st.DrawFn, name: str) -> dict[str, Any]:
    cordoned = draw(st.sampled_from((False, True, _SINCE)))
    taints = draw(st.lists(st.sampled_from(_TAINTS), max_size=1))
    labels = {"kubevirt.io/schedulable": "true"}
    ready = draw(st.sampled_from((True, True, True, False)))
    return {"kind": "Node", "name": name, "cordoned": cordoned, "taints": taints, "labels": labels, "ready": ready}


def _fleet_vmi(draw: st.DrawFn, name: str) -> list[dict[str, Any]]:
    node, uid = draw(st.sampled_from(NODES)), f"u-{name}"
    can = draw(st.sampled_from((None, True, True, True, False, "Unknown")))
    migratable = {} if can is None else {"migratable": can}
    state = {"migrationUid": "uid-m0", "startTimestamp": _SINCE}
    vmi = {
        "kind": "VirtualMachineInstance",
        "name": name,
        "uid": uid,
        "node": node,
        "phase": draw(st.sampled_from(("Running", "Running", "Running", "Scheduled"))),
        "strategy": draw(st.sampled_from((None, "None", "LiveMigrate", "LiveMigrateIfPossible", "External"))),
        "evacuation": draw(st.sampled_from((None, *NODES, "gone"))),
        "deleting": draw(st.sampled_from((False, False, False, True))),
        "descheduled": draw(st.sampled_from((False, False, True))),
        "outdated": draw(st.booleans()),
        "paused": draw(st.booleans()),
        "labels": draw(st.sampled_from(({}, MANAGED))),
        **migratable,
        **_one_of(draw, {}, {}, {"migration": state}, {"migration": state | {"endTimestamp": LATER_STILL}}),
        **_one_of(draw, {"vm": f"vm-{name}"}, {"set": "set"}, {}),
    }
    if vmi["evacuation"]:
        vmi |= draw(st.sampled_from(({}, {"evacuation_since": _SINCE}, {"evacuation_written": _SINCE})))
    pods = [_fleet_pod(draw, name, uid, number) for number in range(draw(st.sampled_from((0, 1, 1, 1, 2))))]
    made = [_fleet_migration(draw, name, number) for number in range(draw(st.integers(0, 3)))]
    gone = draw(st.integers(0, 9)) == 0
    return [*pods, *made] if gone else [vmi, *pods, *made]


LATER_STILL = "2026-06-01T10:09:00Z"


def _fleet_pod(draw: st.DrawFn, name: str, uid: str, number: int) -> dict[str, Any]:
    pod = {"kind": "Pod", "name": f"virt-launcher-{name}-{number}", "domain": name, "vmi": uid, "labels": {"app": name}}
    target = {"migration": f"uid-{name}-0", "phase": "Pending"}
    more = _one_of(draw, {}, {}, {}, target, target | {"unschedulable": "0/2 nodes", "node": ""}, {"ready": False})
    deleting = draw(st.sampled_from((False, False, False, True)))
    return pod | {"node": draw(st.sampled_from(NODES)), "deleting": deleting, **more}


def _fleet_migration(draw: st.DrawFn, name: str, number: int) -> dict[str, Any]:
    created = draw(st.sampled_from(("2026-06-01T09:00:00Z", "2026-06-01T10:05:00Z")))
    row = {"kind": "VirtualMachineInstanceMigration", "name": f"{name}-{number}", "uid": f"uid-{name}-{number}"}
    more = _one_of(draw, {}, {}, {"rejected": "migrationBlockedByBackup"})
    evacuates = {"evacuates": draw(st.sampled_from(NODES))} if draw(st.booleans()) else {}
    return row | {"vmi": name, "created": created, "phase": draw(st.sampled_from(_PHASES))} | more | evacuates


NAMESPACES = ("ns", "other")


NAMES = ("a", "b")


UIDS = ("u1", "u2", "u3")


IPS = ("10.0.0.5/24", "10.0.0.6/24")


NETWORKS = ("tenantblue", "tenantred", "ns_a", "cluster_udn_a")


RANDOM_UUID = "3e6c1f0a-6f0e-4d6b-9a43-0c8e5b1d2f31"


SERIAL = {"serial": "s1"}


# Of no VM, made of the name of one, of nobody's name, and what identifies nobody.
FIRMWARE_UUIDS = ("", legacy("a"), legacy("b"), RANDOM_UUID, RANDOM_UUID.upper(), legacy("nobody"), "x")


WITH_FIRMWARE = (
    "VirtualMachine",
    "VirtualMachineInstance",
    "VirtualMachinePool",
    "VirtualMachineInstanceReplicaSet",
    "VirtualMachineSnapshotContent",
)


KINDS = tuple({kind.name: None for check in all_checks() for kind in check.reads if kind.name in api_kinds()})


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """Objects from few names, uids, networks and addresses, so that they meet each other in every way."""
    kind = draw(st.sampled_from(KINDS))
    namespace, name, uid = draw(st.sampled_from(NAMESPACES)), draw(st.sampled_from(NAMES)), draw(st.sampled_from(UIDS))
    row: dict[str, Any] = {"kind": kind, "namespace": namespace, "name": name}
    row["uid"] = f"{kind}-{namespace}-{name}-{uid}"
    vm = f"VirtualMachine-{namespace}-{name}-{uid}"
    row["deleting"] = draw(st.booleans())
    # Of what reaches over namespaces the last readable state counts there, and an evaluation from scratch has none.
    row["undecodable"] = (
        kind in ("VirtualMachine", "VirtualMachineInstance", "Namespace") and draw(st.integers(0, 9)) == 0
    )
    if kind == "Namespace":
        row["name"] = row["namespace"]
    if kind == "Deployment":
        row |= {"name": "kubevirt-ipam-controller-manager", "ready": draw(st.integers(0, 1)), "undecodable": False}
    if kind == "MutatingWebhookConfiguration":
        row |= {"namespace": "", "webhook": "ipam-claims.k8s.cni.cncf.io", "undecodable": False}
    if kind in ("VirtualMachine", "VirtualMachineInstance"):
        networks = st.sampled_from(("blue", "red", "other/red", "pod"))
        row["networks"] = draw(st.dictionaries(st.sampled_from(("n.1", "n_1", "blue")), networks, max_size=2))
        if list(row["networks"].values()) == ["pod", "pod"]:
            row["networks"].popitem()
    if kind == "VirtualMachineInstance" and draw(st.booleans()):
        row["vm"] = vm
    row |= _firmware(draw, kind, name)
    if kind == "NetworkAttachmentDefinition":
        row |= {"name": draw(st.sampled_from(("blue", "red"))), "network": draw(st.sampled_from(("", *NETWORKS)))}
        row |= draw(st.sampled_from(({}, {"persistent": False}, {"config": "{"}, {"config": {"role": "primary"}})))
        row |= draw(
            st.sampled_from(
                ({}, {"subnets": "10.0.0.4/30"}, {"subnets": "10.0.0.4/31"}, {"subnets": "10.0.0.0/16,fd00::/64"})
            )
        )
        row["accepted"] = draw(st.booleans())
    if kind == "ClusterUserDefinedNetwork":
        row |= {"namespace": "", "undecodable": False}
    if kind == "UserDefinedNetwork":
        row |= draw(st.sampled_from(({}, {"failed": "no"})))
    if kind == "IPAMClaim":
        row |= {"network": draw(st.sampled_from(NETWORKS)), "ips": draw(st.lists(st.sampled_from(IPS), max_size=2))}
        row |= draw(st.sampled_from(({}, {"finalizers": [], "deleting": False}, {"vm": name}, {"vm": "b"})))
        row |= draw(st.sampled_from(({}, {"owner": vm, "ownerName": name}, {"owner": vm, "ownerName": "b"})))
    if kind == "Pod":
        row |= draw(st.sampled_from(({}, {"domain": name})))
        row |= draw(st.sampled_from(({}, {"claims": [name]}, {"attached": [["ns/blue", None]]}, {"phase": "Pending"})))
        nads = st.sampled_from(("ns/blue", "other/red"))
        row |= {"addresses": draw(st.dictionaries(nads, st.lists(st.sampled_from(IPS), max_size=2)))}
        row |= draw(st.sampled_from(({}, {}, {"phase": "Succeeded"})))
    row |= draw(evicting(kind, name, row["uid"]))
    if kind in ("Node", "NodeMaintenance"):
        row |= {"namespace": "", "undecodable": False}
    if kind == "KubeVirt":
        row |= {"namespace": "ns", "name": "a", "undecodable": False}
    row["uid"] = f"{kind}-{row['namespace']}-{row['name']}-{uid}"  # no two objects share one
    return row


def _firmware(draw: st.DrawFn, kind: str, name: str) -> dict[str, Any]:
    """What a row tells of identities."""
    if kind == "KubeVirt":
        return {"version": draw(st.sampled_from(("", "v1.5.0", "v1.7.1", "v1.9.0")))}
    if kind == "VirtualMachineInstanceMigration":
        end = st.sampled_from(({}, {"sends": "m1"}, {"receives": "m1"}, {"receives": "m2"}))
        return {"vmi": name, "phase": draw(st.sampled_from(("Running", "Succeeded", "Failed"))), **draw(end)}
    if kind not in WITH_FIRMWARE:
        return {}
    row = {"uuid": draw(st.sampled_from(FIRMWARE_UUIDS)), "serial": draw(st.sampled_from(("", "S1", " s1")))}
    if kind == "VirtualMachine":
        row |= draw(st.sampled_from(({}, {"runStrategy": "Halted"}, {"runStrategy": "WaitAsReceiver"})))
        row |= draw(st.sampled_from(({}, {"pool": "a"}, {"pool": "b"}, {"origin": "restore"}, {"tpm": True})))
        row |= draw(st.sampled_from(({}, {"failure": "FirmwareUUIDError"}, {"status": "Provisioning"})))
    if kind == "VirtualMachineInstance":
        row |= draw(st.sampled_from(({}, {"phase": "Succeeded"}, {"phase": "WaitingForSync"}, {"set": "a"})))
        row |= draw(st.sampled_from(({}, {"created": "2026-05-05T08:12:31Z"})))
    if kind == "VirtualMachineSnapshotContent":
        row |= {"source": draw(st.sampled_from(NAMES)), "snapshot": "s"}
    return row


def comparable(findings: Any) -> list[tuple[Any, ...]]:
    """Findings without the time of their first sync state, which only the one that was there can know."""
    return sorted(
        (
            *(f.check, f.reason, f.severity.value, str(f.subject), f.message, f.fingerprint, f.group),
            *(str(f.related), str(f.evidence), str(None if f.since_source is Since.FIRST_SEEN else f.since)),
        )
        for f in findings
    )


# What the story begins with, so that most changes meet something.
START: tuple[dict[str, Any], ...] = tuple(
    {"namespace": "ns", **row}
    for row in (
        {"kind": "NetworkAttachmentDefinition", "name": "blue"},
        {"kind": "VirtualMachine", "name": "a", "uid": "VirtualMachine-ns-a-u1", "networks": {"blue": "blue"}} | SERIAL,
        {"kind": "VirtualMachineInstance", "name": "a", "vm": "VirtualMachine-ns-a-u1", "networks": {"blue": "blue"}},
        {"kind": "Pod", "name": "a", "domain": "a", "claims": ["a.blue"], "addresses": {"ns/blue": ["10.0.0.5/16"]}},
        {"kind": "IPAMClaim", "name": "a.blue", "vm": "a", "owner": "VirtualMachine-ns-a-u1", "ips": ["10.0.0.5/16"]},
        {"kind": "VirtualMachine", "name": "b", "uid": "VirtualMachine-ns-b-u1", "networks": {"blue": "blue"}},
        {"kind": "VirtualMachineInstance", "name": "b", "vm": "VirtualMachine-ns-b-u1", "networks": {"blue": "blue"}},
        {"kind": "IPAMClaim", "name": "b.blue", "vm": "b", "owner": "VirtualMachine-ns-b-u1"},
        {"kind": "KubeVirt", "name": "a", "strategy": "LiveMigrate", "version": "v1.9.0"},
        {"kind": "VirtualMachinePool", "name": "a", "uuid": RANDOM_UUID},
        {"kind": "VirtualMachine", "namespace": "other", "name": "a", "uid": "VirtualMachine-other-a-u1"} | SERIAL,
        {
            "kind": "VirtualMachineInstance",
            "namespace": "other",
            "name": "a",
            "vm": "VirtualMachine-other-a-u1",
            "uuid": RANDOM_UUID,
            "serial": "S1",  # which its VM no longer has
        },
        {"kind": "VirtualMachineInstanceMigration", "name": "a", "vmi": "a", "sends": "m1"},
        {"kind": "VirtualMachineInstanceMigration", "namespace": "other", "name": "a", "vmi": "a", "receives": "m1"},
        {"kind": "VirtualMachine", "namespace": "other", "name": "b", "uuid": RANDOM_UUID, "pool": "a"},
        {"kind": "Node", "namespace": "", "name": "node01", "cordoned": True},
        {"kind": "Node", "namespace": "", "name": "node02"},
    )
)
