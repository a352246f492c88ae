"""The engine against an oracle: after every event its findings equal those of an evaluation from scratch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from exporter.checks import all_checks
from exporter.domain.identity.firmware import legacy
from exporter.engine.engine import Engine
from exporter.findings.affected import everything
from exporter.findings.check import Check
from exporter.findings.finding import Finding, Since
from exporter.kube.watch.decode import Decoder
from exporter.metrics.exposition import Exposition
from exporter.store.source import Source, SyncState
from exporter.usage.addresses import AddressUsage
from exporter.views.networks import subnet_reports
from tests.evaluation import Evaluation, api_kinds
from tests.rows import full
from tests.unit.eviction_rows import evicting

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


def blind(engine: Engine, holes: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """(check, partition) of what is evaluated by a namespace that the check can't see whole; `holes` are such pairs."""
    return {
        (check.id, partition)
        for check in engine.checks
        for partition in {*everything(check, engine.cluster), *_extra_keys(check, engine)}
        if any((check.id, namespace) in holes for namespace in check.namespaces(partition, engine.cluster))
    } | {
        # Its last object is gone, and what it was last found for stays open until its namespace can be seen.
        (finding.check, engine.partition_of(finding))
        for finding in engine.findings()
        if (finding.check, finding.subject.namespace) in holes
    }


def _extra_keys(check: Check, engine: Engine) -> Iterator[str]:
    """Partitions that may hold findings of what is gone, while who else counts there can't be seen."""
    for index in check.scope.indexes:
        yield from engine.cluster.keys(index)


def comparable(findings: Any) -> list[tuple[Any, ...]]:
    """Findings without the time of their first sync state, which only the one that was there can know."""
    return sorted(
        (
            *(f.check, f.reason, f.severity.value, str(f.subject), f.message, f.fingerprint, f.group),
            *(str(f.related), str(f.evidence), str(None if f.since_source is Since.FIRST_SEEN else f.since)),
        )
        for f in findings
    )


def counted(usage: AddressUsage) -> dict[str, Any]:
    return {network: (tuple(subnet_reports(usage, network)), usage.outside(network)) for network in usage.networks()}


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


class Fleet(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.evaluation = Evaluation(all_checks())
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.lost: set[str] = set()
        self.shown: dict[str, Finding] = {}
        self.exposition = Exposition(all_checks())
        self.evaluation.engine.listen(self._listen)
        self.usage = AddressUsage(self.evaluation.engine.cluster)
        self.evaluation.engine.observe(self.usage.changed)
        self.evaluation.engine.listen(self.exposition.update)
        self.version = 0
        self.history: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for row in START:
            self.change(row)

    def _listen(self, gone: Any, come: Any) -> None:
        for finding in gone:
            assert self.shown.pop(finding.fingerprint) == finding
        for finding in come:
            assert finding.fingerprint not in self.shown
            self.shown[finding.fingerprint] = finding

    def _versioned(self, row: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        thing = full(row)
        thing["metadata"]["resourceVersion"] = str(self.version)
        return thing

    @rule(row=rows())
    def change(self, row: dict[str, Any]) -> None:
        thing = self._versioned(row)
        key = row["kind"], row["namespace"], row["name"]
        self.objects[key] = thing
        self.history.setdefault(key, []).append(thing)
        if row["kind"] not in self.lost:
            self.evaluation.seen(thing)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if not self.objects:
            return
        key = data.draw(st.sampled_from(sorted(self.objects)))
        del self.objects[key]
        if key[0] not in self.lost:
            self.evaluation.gone(*key)

    @rule(data=st.data())
    def repeat_an_old_event(self, data: st.DataObject) -> None:
        """An earlier state of an object that is still the same one, by its uid, and that was readable."""
        key = data.draw(st.sampled_from(sorted(self.objects))) if self.objects else None
        if key is None or key[0] in self.lost:
            return
        now = self.objects[key]["metadata"]
        earlier = [
            thing
            for thing in self.history[key]
            if thing["metadata"]["uid"] == now["uid"] and "not" not in str(thing["metadata"]["creationTimestamp"])
        ]
        if earlier and "not" not in str(now["creationTimestamp"]) and self.held(key):
            self.evaluation.seen(data.draw(st.sampled_from(earlier)))

    def held(self, key: tuple[str, str, str]) -> bool:
        """Whether something is kept of the object: of what is not, no version is known either."""
        kind = self.evaluation.kinds[key[0]]
        return (
            self.evaluation.engine.cluster.get(kind.record, key[1] if key[0] != "Namespace" else key[2], key[2])
            is not None
        )

    @precondition(lambda self: not self.lost)
    @rule(
        kind=st.sampled_from(KINDS),
        sync_state=st.sampled_from((SyncState.BEHIND, SyncState.STALE, SyncState.FORBIDDEN, SyncState.ABSENT)),
    )
    def lose_a_kind(self, kind: str, sync_state: SyncState) -> None:
        self.lost.add(kind)
        self.evaluation.sync_state(kind, sync_state)

    @precondition(lambda self: self.lost)
    @rule()
    def come_back(self) -> None:
        self.list_again(next(iter(self.lost)))

    @rule(kind=st.sampled_from(KINDS))
    def list_again(self, kind: str) -> None:
        decoder = Decoder(self.evaluation.kinds[kind])
        seen = [decoder.object(json.dumps(o).encode()) for key, o in self.objects.items() if key[0] == kind]
        swap = self.evaluation.intake.swap(self.evaluation.kinds[kind], seen)
        with pytest.raises(StopIteration):
            swap.send(None)  # few objects: it never waits
        self.lost.discard(kind)
        self.evaluation.sync_state(kind, SyncState.LIVE)

    @invariant()
    def findings_equal_an_evaluation_from_scratch(self) -> None:
        self.evaluation.evaluate()
        engine = self.evaluation.engine
        fresh = Evaluation(all_checks())
        for kind in sorted(self.lost):
            fresh.sync_state(kind, engine.cluster.get(Source, "", kind).sync_state)  # type: ignore[union-attr]
        for thing in reversed(self.objects.values()):  # the order in which things came must not count
            fresh.seen(thing)
        fresh.evaluate()
        unknown = {(each.check, each.partition) for each in engine.unknowns()}

        assert comparable(engine.findings()) == comparable(self.shown.values())
        holes = {(check, partition) for check, partition in unknown if partition}
        if not self.lost:
            assert unknown == {(each.check, each.partition) for each in fresh.engine.unknowns()}
        unseen = holes | blind(engine, holes) | blind(fresh.engine, holes)
        assert self.of(engine, unseen) == self.of(fresh.engine, unseen)

    def of(self, engine: Engine, unseen: set[tuple[str, str]]) -> list[tuple[Any, ...]]:
        """What is evaluated now: findings of blind checks and partitions are the last ones known."""
        seeing = {check.id for check in engine.checks if not self.lost & {kind.name for kind in check.reads}}
        return comparable(
            f
            for f in engine.findings()
            if f.check in seeing and f.evidence.get("kind") not in self.lost
            if (f.check, engine.partition_of(f)) not in unseen
        )

    @invariant()
    def uses_equal_a_count_from_scratch(self) -> None:
        fresh = AddressUsage.over(self.evaluation.engine.cluster)
        list(fresh.settle())
        list(self.usage.settle())
        assert counted(self.usage) == counted(fresh)

    @invariant()
    def counts_equal_what_is_open(self) -> None:
        self.evaluation.evaluate()
        for (check, reason, severity), count in self.exposition.counts.items():
            open_now = [f for f in self.shown.values() if (f.check, f.reason, f.severity) == (check, reason, severity)]
            assert count == len(open_now)


Fleet.TestCase.settings = settings(
    max_examples=100,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
)
TestFleet = Fleet.TestCase
