"""Who would revert a write: known by what it leaves on its objects, else by server-side apply; and who did so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporter.facts.record import Ref
from reconcile.plan.managed_fields import applied, touches
from reconcile.plan.owners import claimed, rival
from reconcile.plan.plan import Action, Add, Call, Create, Delete, Op, Patch, Plan, Remove, Replace, Risk, Step
from reconcile.plan.plan import Test as Expect  # pytest collects what is named Test
from reconcile.plan.requests import MANAGER
from tests.all_of import each_of

Obj = dict[str, Any]
VM = Ref("VirtualMachine", "shop", "db", "u1")
CLAIM = Ref("IPAMClaim", "shop", "db.blue", "c1")
FIRMWARE = "/spec/template/spec/domain/firmware"
SET_UUID: tuple[Op, ...] = (Expect(f"{FIRMWARE}/serial", "s"), Add(f"{FIRMWARE}/uuid", "1-2"))
WRITE_SPEC = Patch(target=VM, ops=SET_UUID)
ANNOTATE = Patch(target=VM, ops=(Add("/metadata/annotations/steward.kubevirt-steward.io~1nudged", "now"),))
STATUS = Patch(target=VM, ops=(Remove("/status/instancetypeRef/controllerRevisionRef"),), subresource="status")
ARGO: dict[str, Any] = {
    "annotations": {"argocd.argoproj.io/tracking-id": "shop-prod:kubevirt.io/VirtualMachine:shop/db"}
}
FLUX: dict[str, Any] = {"labels": {f"kustomize.toolkit.fluxcd.io/{key}": key for key in ("name", "namespace")}}
HELM: dict[str, Any] = {"annotations": {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "apps"}}


def plan_of(step: Step) -> Plan:
    return Plan(
        remediation="r",
        fingerprint="f",
        check="c",
        reason="R",
        subject=step.target,
        step=step,
        why="",
        effect="",
        risk=Risk.NONE,
        undo="none",
    )


def obj(kind: str = "VirtualMachine", version: str = "kubevirt.io/v1", **meta: Any) -> Obj:
    firmware = {"serial": "s"}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"namespace": "shop", "name": "db", "uid": "u1"} | meta,
        "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"firmware": firmware}}}},
        "status": {"instancetypeRef": {"controllerRevisionRef": {"name": "rev"}}},
    }


def managed(
    manager: str, fields: Obj, operation: str = "Apply", time: str = "2026-05-04T08:12:31Z", **more: Any
) -> Obj:
    return {
        "manager": manager,
        "operation": operation,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    } | more


def fields(path: str, leaf: Obj | None = None) -> Obj:
    """The set of one path: `spec.template`."""
    made: Obj = leaf or {}
    for name in reversed(path.split(".")):
        made = {f"f:{name}": made}
    return made


@each_of(
    ("meta", "owner", "where"),
    [
        (ARGO, "Argo CD application `shop-prod`", "Git repository of Argo CD application shop-prod."),
        (
            {"annotations": {"argocd.argoproj.io/tracking-id": "team_shop:kubevirt.io/VirtualMachine:shop/db"}},
            "Argo CD application `team/shop`",
            "application team/shop.",
        ),
        (
            {
                "labels": {"app.kubernetes.io/instance": "shop"},
                "annotations": {"argocd.argoproj.io/sync-options": "Prune=false"},
            },
            "Argo CD application `shop`",
            "",
        ),
        (
            {
                "labels": {"app.kubernetes.io/instance": "shop"},
                "managedFields": [managed("argocd-controller", fields("spec.runStrategy"), "Update")],
            },
            "Argo CD application `shop`",
            "",
        ),
        (FLUX, "Flux Kustomization `namespace/name`", "Git repository of Flux Kustomization namespace/name."),
        ({"labels": {"helm.toolkit.fluxcd.io/name": "vm"}}, "Flux HelmRelease `flux-system/vm`", "in Flux HelmRelease"),
        (HELM, "Helm release `apps/web`", "Change the values or templates of Helm release apps/web."),
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, "Helm", "values or templates of Helm."),
        (
            {"labels": {"app.kubernetes.io/managed-by": "hco-operator"}},
            "the HyperConverged Cluster Operator",
            "Change it in HyperConverged kubevirt-hyperconverged.",
        ),
        (
            {"labels": {"capk.cluster.x-k8s.io/kubevirt-machine-name": "node-1"}},
            "Cluster API's KubevirtMachine `node-1`",
            "",
        ),
        ({"labels": {"cluster.x-k8s.io/cluster-name": "edge"}}, "Cluster API's cluster `edge`", ""),
        (
            {
                "ownerReferences": [
                    {"apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1", "kind": "KubevirtMachine", "name": "n1"}
                ]
            },
            "Cluster API's KubevirtMachine `n1`",
            "",
        ),
        ({"labels": {"olm.owner": "vms.v1"}}, "OLM's ClusterServiceVersion `vms.v1`", ""),
        (
            {"ownerReferences": [{"apiVersion": "acme.io/v1", "kind": "Appliance", "name": "a", "controller": True}]},
            "the controller of Appliance a",
            "Change Appliance a",
        ),
        (
            {"managedFields": [managed("acme", fields("spec.template"))]},
            "field manager `acme`",
            "where acme has it from",
        ),
    ],
)
def test_whoever_owns_the_spec_is_named_with_where_to_change_it(meta: Obj, owner: str, where: str) -> None:
    found = claimed(plan_of(WRITE_SPEC), obj(**meta))
    assert found is not None
    assert found.owner == owner
    assert where in found.where
    if "HyperConverged" not in owner:
        merged: Any = {"uuid": "1-2"}
        for name in ("firmware", "domain", "spec", "template", "spec"):
            merged = {name: merged}
        assert json.loads(found.patch) == merged


@each_of(
    "meta",
    [
        {},
        {"annotations": {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/db"}},
        {"annotations": {"argocd.argoproj.io/tracking-id": "shop:kubevirt.io/VirtualMachine:shop/golden"}},
        {"annotations": {"argocd.argoproj.io/tracking-id": "shop:kubevirt.io/VirtualMachine:other/db"}},
        {"labels": {"app.kubernetes.io/instance": "shop"}},
        {"labels": FLUX["labels"], "annotations": {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}},
        {"labels": FLUX["labels"] | {"kustomize.toolkit.fluxcd.io/ssa": "Ignore"}},
        {"labels": {"app.kubernetes.io/managed-by": "Helm"}, "ownerReferences": [{"kind": "VirtualMachine"}]},
        {"labels": {"app.kubernetes.io/managed-by": "Kustomize"}},
        {
            "ownerReferences": [
                {
                    "apiVersion": "pool.kubevirt.io/v1beta1",
                    "kind": "VirtualMachinePool",
                    "name": "p",
                    "controller": True,
                }
            ]
        },
        {"ownerReferences": [{"apiVersion": "acme.io/v1", "kind": "Appliance", "name": "a"}]},
        {"managedFields": [managed("acme", fields("spec.template"), "Update")]},
        {"managedFields": [managed("acme", fields("spec.runStrategy"))]},
        {"managedFields": [managed("acme", fields("spec.template.spec.domain.firmware.serial"))]},
        {"managedFields": [managed("acme", fields("spec.template"), subresource="status")]},
        {"managedFields": [managed("acme", {})]},
        {"managedFields": [managed("kubectl", fields("spec.template"))]},
        {"managedFields": [managed("kubectl-edit", fields("spec.template"))]},
        {"managedFields": [managed("virt-controller", fields("spec.template"))]},
        {"managedFields": [managed(MANAGER, fields("spec.template"))]},
        {"labels": None, "annotations": None, "ownerReferences": None, "managedFields": None},
        {"labels": [], "annotations": "x", "ownerReferences": [None, "x"], "managedFields": ["x", {}]},
        {"labels": {"olm.owner": None, "app.kubernetes.io/managed-by": 3}},
    ],
)
def test_what_was_copied_left_or_is_of_others_claims_nothing(meta: Obj) -> None:
    assert claimed(plan_of(WRITE_SPEC), obj(**meta)) is None


@pytest.mark.parametrize("meta", [ARGO, FLUX, HELM])
def test_annotations_status_and_a_new_object_are_in_the_way_of_no_gitops_tool(meta: Obj) -> None:
    create = Create(target=Ref("ControllerRevision", "shop", "rev"), manifest={}, of=VM)
    cancel = Call(target=Ref("VirtualMachineInstance", "shop", "db", "i1"), action=Action.CANCEL_EVACUATION)
    for step in (ANNOTATE, STATUS, create, cancel):
        assert claimed(plan_of(step), obj(**meta)) is None


def test_virt_operator_restores_metadata_of_what_it_brings() -> None:
    guard = Patch(
        target=Ref("VirtualMachineClusterInstancetype", "", "u1.small", "t1"), ops=(Add("/metadata/finalizers", ["x"]),)
    )
    found = claimed(plan_of(guard), obj(labels={"app.kubernetes.io/managed-by": "virt-operator"}))
    assert found is not None
    assert found.owner == "virt-operator"
    assert json.loads(found.patch) == {"metadata": {"finalizers": ["x"]}}


def test_a_stop_would_be_reverted_where_it_changes_the_spec() -> None:
    halt = Patch(target=VM, ops=(Expect("/spec/runStrategy", "Always"), Replace("/spec/runStrategy", "Halted")))
    found = claimed(plan_of(halt), obj(**ARGO))
    assert found is not None
    assert json.loads(found.patch) == {"spec": {"runStrategy": "Halted"}}
    ask = Patch(target=VM, ops=(Add("/status/stateChangeRequests", [{"action": "Stop"}]),), subresource="status")
    assert claimed(plan_of(ask), obj(**ARGO)) is None


def test_a_deleted_object_is_restored_by_whom_it_bears_the_tracking_of() -> None:
    bears: Obj = {"annotations": {"argocd.argoproj.io/tracking-id": "shop:policy/PodDisruptionBudget:shop/db"}}
    pdb = obj("PodDisruptionBudget", "policy/v1", **bears)
    found = claimed(plan_of(Delete(target=Ref("PodDisruptionBudget", "shop", "db", "u1"))), pdb)
    assert found is not None
    assert (found.owner, found.patch) == ("Argo CD application `shop`", "")


@pytest.mark.parametrize(
    "meta",
    [
        {
            "ownerReferences": [
                {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "db", "controller": True}
            ]
        },
        {"ownerReferences": [{"apiVersion": "acme.io/v1", "kind": "Appliance", "name": "a", "controller": True}]},
        {"managedFields": [managed("ovnk-cluster-manager", fields("status.ips"), subresource="status")]},
        {"managedFields": [managed("ovnk-cluster-manager", fields("metadata.labels"))]},
    ],
)
def test_an_object_that_nobody_applies_is_deleted_for_good(meta: Obj) -> None:
    assert claimed(plan_of(Delete(target=CLAIM)), obj("IPAMClaim", "k8s.cni.cncf.io/v1alpha1", **meta)) is None


def test_who_applies_the_spec_creates_a_deleted_object_anew() -> None:
    applies = obj("IPAMClaim", managedFields=[managed("acme", fields("spec.network"))])
    found = claimed(plan_of(Delete(target=CLAIM)), applies)
    assert found is not None
    assert found.owner == "field manager `acme`"


def test_annotations_and_finalizers_are_claimed_where_they_are_applied() -> None:
    name = "steward.kubevirt-steward.io/nudged"
    owns = [managed("acme", {"f:metadata": {"f:annotations": {".": {}, f"f:{name}": {}}}})]
    found = claimed(plan_of(ANNOTATE), obj(annotations={name: "old"}, managedFields=owns))
    assert found is not None
    assert found.owner == "field manager `acme`"
    assert claimed(plan_of(ANNOTATE), obj(annotations={"other": "x"}, managedFields=owns)) is not None
    others = [managed("acme", {"f:metadata": {"f:annotations": {".": {}, "f:other": {}}}})]
    assert claimed(plan_of(ANNOTATE), obj(annotations={"other": "x"}, managedFields=others)) is None


def test_a_status_that_somebody_applies_is_claimed() -> None:
    path = fields("status.instancetypeRef.controllerRevisionRef.name")
    assert claimed(plan_of(STATUS), obj(managedFields=[managed("acme", path, subresource="status")])) is not None
    assert claimed(plan_of(STATUS), obj(managedFields=[managed("acme", path)])) is None


def test_a_patch_that_does_not_fit_is_claimed_by_whoever_applies() -> None:
    step = Patch(target=VM, ops=(Replace("/spec/nowhere/at/all", 1),))
    assert claimed(plan_of(step), obj(managedFields=[managed("acme", fields("spec.runStrategy"))])) is not None
    assert claimed(plan_of(step), obj()) is None


def test_a_change_in_a_list_is_given_as_a_json_patch() -> None:
    ops = (Expect("/spec/list/0", "a"), Remove("/spec/list/0"))
    found = claimed(plan_of(Patch(target=VM, ops=ops)), obj(**FLUX))
    assert found is not None
    assert json.loads(found.patch) == [
        {"op": "test", "path": "/spec/list/0", "value": "a"},
        {"op": "remove", "path": "/spec/list/0"},
    ]


@pytest.mark.parametrize(
    ("path", "place", "patched"),
    [
        ("network/defaultNetworkInterface", "annotation kubevirt.kubevirt.io/jsonpatch decides it", True),
        ("evictionStrategy", "spec.virtualization.evictionStrategy decides it", False),
    ],
)
def test_of_a_kubevirt_object_it_is_said_where_hyperconverged_sets_it(path: str, place: str, patched: bool) -> None:
    op = Replace(f"/spec/configuration/{path}", "x")
    whole = obj("KubeVirt", name="kubevirt-kubevirt-hyperconverged")
    found = claimed(plan_of(Patch(target=Ref("KubeVirt", "shop", "kubevirt", "u1"), ops=(op,))), whole)
    assert found is not None
    assert place in found.where
    assert "HCO reverts" in found.where
    if not patched:
        assert found.patch == ""
        return
    text = json.loads(found.patch)["metadata"]["annotations"]["kubevirt.kubevirt.io/jsonpatch"]
    assert json.loads(text) == [{"op": "replace", "path": op.path, "value": "x"}]


# Sets of fields.


@each_of(
    ("owned", "before", "after", "touched"),
    [
        ({"f:a": {}}, {"a": 1}, {"a": 2}, True),
        ({"f:a": {}}, {"a": 1, "b": 1}, {"a": 1, "b": 2}, False),
        ({"f:a": {}}, {"a": 1}, {}, True),
        ({"f:a": {}}, {}, {"a": 1}, True),
        ({"f:a": {}}, {"a": {"b": 1}}, {"a": {"b": 2}}, True),
        ({"f:a": {".": {}, "f:b": {}}}, {"a": {"b": 1}}, {"a": {"b": 1, "c": 1}}, False),
        ({"f:a": {".": {}, "f:b": {}}}, {"a": {"b": 1}}, {}, True),
        ({"f:a": {".": {}}}, {"a": {"b": 1}}, {"a": {"b": 2}}, False),
        ({"f:a": {'v:"x"': {}}}, {"a": ["x", "y"]}, {"a": ["x"]}, False),
        ({"f:a": {'v:"x"': {}}}, {"a": ["x", "y"]}, {"a": ["y"]}, True),
        (
            {"f:a": {'k:{"name":"x"}': {"f:v": {}}}},
            {"a": [{"name": "x", "v": 1}]},
            {"a": [{"name": "x", "v": 2}]},
            True,
        ),
        (
            {"f:a": {'k:{"name":"x"}': {"f:v": {}}}},
            {"a": [{"name": "x", "v": 1}]},
            {"a": [{"name": "x", "v": 1, "w": 2}]},
            False,
        ),
        ({"f:a": {'k:{"name":"x"}': {"f:v": {}}}}, {"a": [{"name": "y"}]}, {"a": []}, False),
        ({"f:a": {"i:1": {}}}, {"a": [1, 2]}, {"a": [1, 3]}, True),
        ({"f:a": {"i:1": {}}}, {"a": [1, 2]}, {"a": [0, 2]}, False),
        ({"f:a": {"v:not json": {}}}, {"a": [1]}, {"a": [2]}, True),
        ({"f:a": {"z:new": {}}}, {"a": [1]}, {"a": [2]}, True),
        ({"f:a": None}, {"a": 1}, {"a": 2}, True),
        ({}, {"a": 1}, {"a": 2}, False),
        (None, {"a": 1}, {"a": 2}, False),
    ],
)
def test_a_set_of_fields_is_touched_by_what_differs_in_it(owned: Any, before: Obj, after: Obj, touched: bool) -> None:
    assert touches(owned, before, after) is touched


def test_a_patch_is_applied_to_a_copy() -> None:
    whole = {"a": {"x/y": 1, "list": ["p", "q"]}}
    ops = (
        Expect("/a/nothing", 1),
        Replace("/a/x~1y", 2),
        Add("/a/list/-", "r"),
        Add("/a/list/0", "o"),
        Remove("/a/list/1"),
        Add("/a/new", {"z": 1}),
    )
    assert applied(whole, ops) == {"a": {"x/y": 2, "list": ["o", "q", "r"], "new": {"z": 1}}}
    assert whole == {"a": {"x/y": 1, "list": ["p", "q"]}}


@each_of(
    "op",
    [Replace("/a/b", 1), Remove("/a"), Remove("/list/2"), Replace("/list/-", 1), Add("/list/9", 1), Add("/text/x", 1)],
)
def test_a_patch_of_what_is_not_there_is_no_patch(op: Op) -> None:
    with pytest.raises(ValueError, match=op.path):
        applied({"list": [1, 2], "text": "t"}, [op])


# Who took a write back.


def test_the_rival_is_the_newest_manager_that_owns_what_was_written() -> None:
    ops = (Add("/spec/runStrategy", "Halted"),)
    ours = managed(MANAGER, fields("spec.runStrategy"), "Update", "2026-05-04T09:00:00Z")
    before = obj(managedFields=[managed("kubectl", fields("spec.runStrategy"), "Update"), ours])
    after = obj(
        managedFields=[
            managed("argocd-controller", fields("spec.runStrategy"), "Update", "2026-05-04T09:01:00Z"),
            managed("virt-controller", fields("status.ready"), "Update", "2026-05-04T09:02:00Z", subresource="status"),
        ]
    )
    assert rival(before, after, ops) == "argocd-controller"


def test_who_removed_what_was_added_is_the_newest_to_have_written() -> None:
    ops = (Add("/metadata/finalizers", ["x"]),)
    old = managed("old", fields("spec"), "Update", "2026-05-04T08:00:00Z")
    newer = managed("virt-operator", fields("metadata.labels"), "Update", "2026-05-04T09:01:00Z")
    status = managed("virt-controller", fields("status"), "Update", "2026-05-04T09:02:00Z", subresource="status")
    before, after = obj(managedFields=[old]), obj(managedFields=[old, newer, status])
    assert rival(before, after, ops) == "virt-operator"


def test_a_status_is_taken_back_by_who_writes_the_status() -> None:
    ops = (Remove("/status/instancetypeRef/controllerRevisionRef"),)
    status = fields("status.instancetypeRef.controllerRevisionRef")
    entry = managed("virt-controller", status, "Update", subresource="status")
    assert rival(obj(), obj(managedFields=[entry]), ops) == "virt-controller"


def test_nobody_is_named_whom_managed_fields_do_not_show() -> None:
    ops = (Replace("/spec/nowhere/x", 1),)
    entry = managed("old", fields("spec"), "Update")
    ours = managed(MANAGER, fields("spec"), "Update", "2027-01-01T00:00:00Z")
    assert rival(obj(), obj(), ops) == ""
    assert rival(obj(managedFields=[entry]), obj(managedFields=[entry, ours]), ops) == ""
    assert rival(obj(), obj(managedFields=[{"manager": "odd", "time": None}]), ops) == "odd"
