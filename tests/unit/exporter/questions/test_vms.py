"""The list of VMs: states, filters, order and pages, and that it never says more than the verdicts on one VM."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.cli.commands.vms import csv_of, listed_vms, names
from exporter.engine.evaluate import at_once
from exporter.findings.check import Check
from exporter.questions import vm
from exporter.questions.asked import VMsQuery
from exporter.questions.finding_index import FindingIndex
from exporter.questions.question import UnaskableError
from exporter.questions.vms import MOST, QUESTION, READER, VMs
from exporter.store.source import SyncState

from ....all_of import each_of, named
from ....check_cases import CASES_OF, CHECKS
from ....drain_rows import Row
from ....evaluation import Evaluation
from ....one_vm import running
from ....rows import full

_INDEXES = tuple(dict.fromkeys((*vm.INDEXES, *READER.indexes)))


class Stage(Evaluation):
    def __init__(self, *rows: Row, unseen: tuple[str, ...] = ()) -> None:
        super().__init__(all_checks(), indexes=_INDEXES)
        if not any(row["kind"] == "KubeVirt" for row in rows):
            self.seen(full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"}))
        for row in rows:
            self.seen(full(row))
        for each in unseen:
            self.sync_state(each, SyncState.MISSING)
        self.evaluate()

    def take(self, **asked: Any) -> VMs:
        return at_once(QUESTION.steps(self.engine, FindingIndex(self.engine), VMsQuery(**asked)))

    def bounded(self, **asked: Any) -> VMs:
        assert QUESTION.bounded is not None
        return at_once(QUESTION.bounded(self.engine, FindingIndex(self.engine), VMsQuery(**asked)))

    def names(self, **asked: Any) -> list[str]:
        return [row.vm.path for row in self.take(**asked).rows]


def stopped(name: str, **more: object) -> Row:
    return {"kind": "VirtualMachine", "name": name, "uid": f"vm-{name}", "runStrategy": "Halted", "networks": {}} | more


def states(stage: Stage) -> dict[str, str]:
    return {row.vm.name: row.state for row in stage.take().rows}


def test_the_state_of_each_is_that_of_its_objects() -> None:
    running_vm, vmi, pod = running("r")
    moving = {"migrationUid": "m", "startTimestamp": "2026-09-21T13:50:00Z"}
    stage = Stage(
        *(running_vm, vmi, pod),
        *running("paused", paused=True),
        *running("moving", migration=moving),
        stopped("pending", runStrategy="Always"),
        {"kind": "VirtualMachineInstance", "name": "pending", "vm": "vm-pending", "networks": {}, "phase": "Pending"},
        *running("ending", deleting=True),
        stopped("off"),
        stopped("always", runStrategy="Always"),
        stopped("asked", runStrategy="Manual"),
        stopped("crashing", runStrategy="Always", over={"status": {"startFailure": {"consecutiveFailCount": 2}}}),
        stopped("disks", runStrategy="Always", over={"status": {"printableStatus": "Provisioning"}}),
        stopped("going", deleting=True),
        {"kind": "VirtualMachineInstance", "name": "alone", "networks": {}, "phase": "Running"},
        {"kind": "VirtualMachineInstance", "name": "done", "networks": {}, "phase": "Succeeded"},
    )
    assert states(stage) == {
        "alone": "Running",
        "always": "Starting",
        "asked": "Stopped",
        "crashing": "Failing",
        "disks": "Waiting",
        "done": "Stopped",
        "ending": "Stopping",
        "going": "Terminating",
        "moving": "Migrating",
        "off": "Stopped",
        "paused": "Paused",
        "pending": "Starting",
        "r": "Running",
    }
    assert [row.vm.kind for row in stage.take().rows if row.vm.name in ("alone", "r")] == [
        "VirtualMachineInstance",
        "VirtualMachine",
    ]


def test_what_can_not_be_seen_is_no_state_and_is_named() -> None:
    hidden = Stage(stopped("off"), unseen=("VirtualMachineInstance",))
    assert states(hidden) == {"off": "Unknown"}
    assert (hidden.take().unseen, hidden.take().complete) == (("VirtualMachineInstance",), False)
    blind = Stage(unseen=("VirtualMachine", "VirtualMachineInstance")).take()
    assert (blind.in_all, blind.unseen, blind.complete) == (0, ("VirtualMachine", "VirtualMachineInstance"), False)
    nads = Stage(stopped("off"), unseen=("NetworkAttachmentDefinition",))
    assert (nads.take().unseen, nads.take().complete) == (("NetworkAttachmentDefinition",), True)
    assert not nads.take(network=("ns/blue",)).complete
    broken = {"kind": "VirtualMachine", "name": "odd", "over": {"spec": {"runStrategy": ["Always"]}}}
    found = Stage(broken, stopped("off")).take()
    assert ([each.name for each in found.unread], found.complete) == (["odd"], False)
    assert [each.vm.name for each in found.rows] == ["off"]


def fleet() -> Stage:
    small = {"kind": "VirtualMachineClusterInstancetype", "name": "small", "uid": "t1", "generation": 1}
    own = {"kind": "VirtualMachineInstancetype", "name": "own", "uid": "t2", "generation": 1, "namespace": "b"}
    nads = [{"kind": "NetworkAttachmentDefinition", "name": name, "network": "blue"} for name in ("one", "two")]
    waits = {"status": {"conditions": [{"type": "RestartRequired", "status": "True", "message": "cpu"}]}}
    return Stage(
        small,
        own,
        *nads,
        *running("web", node="node01", networks={"n": "ns/one"}),
        *running("db", node="node02", networks={"n": "ns/two"}),
        *running(
            "gpu", node="node02", over={"spec": {"domain": {"devices": {"gpus": [{"name": "g", "deviceName": "n"}]}}}}
        ),
        stopped("sized", instancetype={"name": "small"}, over=waits),
        stopped("other", namespace="b", instancetype={"name": "own", "kind": "VirtualMachineInstancetype"}),
        stopped("lost", namespace="b", instancetype={"name": "nowhere"}, runStrategy="Always"),
    )


def test_filters_leave_what_has_all_that_is_asked_for() -> None:
    stage = fleet()
    assert stage.names() == ["b/lost", "b/other", "ns/db", "ns/gpu", "ns/sized", "ns/web"]
    assert stage.names(namespace=("b",)) == ["b/lost", "b/other"]
    assert stage.names(namespace=("nowhere",)) == []
    assert stage.names(node=("node02",)) == ["ns/db", "ns/gpu"]
    assert stage.names(node=("node01", "node02"), state=("Running",)) == ["ns/db", "ns/gpu", "ns/web"]
    assert stage.names(network=("blue",)) == ["ns/db", "ns/web"]
    assert stage.names(network=("ns/two",)) == ["ns/db"]
    assert stage.names(network=("blue",), node=("node01",)) == ["ns/web"]
    assert stage.names(instancetype=("small",)) == ["ns/sized"]
    assert stage.names(instancetype=("b/own",)) == ["b/other"]
    assert stage.names(instancetype=("own", "small"), namespace=("ns",)) == ["ns/sized"]
    assert stage.names(feature=("gpu",)) == ["ns/gpu"]
    assert stage.names(restart_required=True) == ["ns/sized"]
    assert stage.names(cannot=("start",)) == ["b/lost"]
    assert stage.names(cannot=("start",), namespace=("ns",)) == []


def test_order_and_pages_leave_none_out_and_show_none_twice() -> None:
    stage = fleet()
    for sort in ("", "name", "findings", "node", "state"):
        whole = stage.names(sort=sort)
        for limit in range(1, 8):
            pages = [stage.take(sort=sort, limit=str(limit), page=str(n)) for n in range(1, 8)]
            assert [row.vm.path for page in pages for row in page.rows] == whole, (sort, limit)
            assert {page.in_all for page in pages} == {6}
            assert [page.first for page in pages] == [limit * n for n in range(7)]
    assert stage.names(sort="findings")[0] == "b/lost"
    assert stage.names(sort="node")[0] == "ns/web"
    filtered = [stage.take(state=("Running",), limit="2", page=page) for page in ("1", "2")]
    assert [[row.vm.name for row in page.rows] for page in filtered] == [["db", "gpu"], ["web"]]


def test_the_api_shows_a_page_of_very_many() -> None:
    stage = Stage(*(stopped(f"vm-{n:04}") for n in range(MOST + 7)))
    assert (len(stage.bounded().rows), stage.bounded().in_all) == (100, MOST + 7)
    assert len(stage.bounded(limit="100000").rows) == MOST
    assert [row.vm.name for row in stage.bounded(limit="500", page="2").rows] == [f"vm-{MOST + n:04}" for n in range(7)]
    assert len(stage.take().rows) == MOST + 7


@each_of(
    ("asked", "said"),
    [
        ({"state": ("runnning",)}, "no state is called 'runnning'; did you mean Running?"),
        ({"cannot": ("upgrade",)}, "no act is called 'upgrade'"),
        ({"feature": ("vsok",)}, "did you mean vsock?"),
        ({"sort": "age"}, "no sort order is called 'age'"),
        ({"limit": "0"}, "limit is a whole number from 1 on, and not '0'"),
        ({"page": "two"}, "page is a whole number from 1 on, and not 'two'"),
        ({"limit": "9" * 40}, "limit is a whole number from 1 on"),
    ],
)
def test_what_can_not_be_asked_is_refused_in_a_sentence(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(UnaskableError) as refused:
        Stage().take(**asked)
    assert said in str(refused.value)


@each_of("check", named(CHECKS, lambda check: check.id))
def test_what_the_list_forbids_the_verdict_on_the_vm_forbids_too(check: Check) -> None:
    """And the other way round, where it is a finding that forbids it."""
    for name, case in CASES_OF[check].items():
        if case["finds"] == []:
            continue
        evaluation = Evaluation([check], case.get("unsynced", ()), indexes=_INDEXES)
        for kind, state in case.get("sync_state", {}).items():
            evaluation.sync_state(kind, SyncState(state))
        evaluation.given(case["given"])
        evaluation.evaluate()
        engine = evaluation.engine
        for row in at_once(QUESTION.steps(engine, FindingIndex(engine), VMsQuery())).rows:
            one = at_once(vm.steps(engine, row.vm.namespace, row.vm.name))
            no = {
                each.act: {r.reason for r in each.reasons if r.reason} for each in one.verdicts if each.answer == "no"
            }
            listed = {each.act: each.reason for each in row.forbidden}
            assert listed.keys() <= no.keys(), (name, row, one.verdicts)
            assert all(not reason or reason in no[act] for act, reason in listed.items()), (name, listed, no)
            by_finding = {act for act, reasons in no.items() if reasons and act != "upgrade"}
            assert by_finding <= listed.keys(), (name, row.vm, listed, no)
            own = [
                each
                for each in engine.findings()
                if (each.subject.namespace, each.vm) == (row.vm.namespace, row.vm.name)
            ]
            assert row.findings == len(own)


def test_the_list_as_text_csv_and_names() -> None:
    stage = fleet()
    text = listed_vms(stage.take(), 120)
    assert "b          lost   Starting  -       2 (critical)  start (ObjectMissing)" in text
    assert text.endswith("6 VMs.\n")
    assert listed_vms(stage.take(limit="2", page="2"), 120).endswith("3 to 4 of 6 VMs.\n")
    assert listed_vms(stage.take(limit="2", page="9"), 120) == "There are 6 VMs, and none on this page.\n"
    assert listed_vms(stage.take(node=("gone",)), 120) == "No VMs match.\n"
    head, first, *_ = csv_of(stage.take()).splitlines()
    assert head.startswith("kind,namespace,name,state,node,findings,severity,")
    assert first.startswith("VirtualMachine,b,lost,Starting,,2,critical,Always,nowhere,")
    assert first.endswith(",no,start (ObjectMissing)")
    assert names(stage.take(namespace=("b",))) == "vm/b/lost\nvm/b/other\n"
