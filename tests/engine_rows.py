"""Rows of few names, so that random objects meet, and what two engines are compared by."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from exporter.checks import all_checks
from exporter.facts.firmware import legacy
from exporter.findings.finding import Since
from tests.evaluation import api_kinds
from tests.eviction_rows import evicting

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
