"""`plan -o kustomize`: patches for what is in Git, which say who owns the fields, whatever others call themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from exporter.facts.record import Ref
from reconcile.carry_out.confirm import Confirmed
from reconcile.cli.commands.plan import component, snippet
from reconcile.config.settings import Mode
from reconcile.decide.repair import Found, Hint, Repair
from reconcile.plan.owners import claimed
from reconcile.plan.plan import Add, Delete, Op, Patch, Plan, Remove, Replace, Step
from reconcile.plan.plan import Test as Expect
from tests.repairs import plan

VM = Ref("VirtualMachine", "shop", "db.v2", "u1")
FIRMWARE = "/spec/template/spec/domain/firmware"
ARGO = {"argocd.argoproj.io/tracking-id": "shop-prod:kubevirt.io/VirtualMachine:shop/db.v2"}
HELM = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "apps"}
ITEM = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "db.v2", "namespace": "shop"}}


def whole(notes: dict[str, str], manager: str = "argocd-controller", **spec: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"f:spec": {"f:template": {"f:spec": {"f:domain": {}}}}}
    return {
        **ITEM,
        "metadata": {
            **ITEM["metadata"],  # type: ignore[dict-item]
            "uid": "u1",
            "annotations": notes,
            "managedFields": [{"manager": manager, "operation": "Update", "fieldsV1": fields}],
        },
        "spec": {"template": {"spec": {"domain": {"firmware": {"serial": "s"}, **spec}}}},
    }


def proposed(step: Step, of: dict[str, Any]) -> list[tuple[Repair, Confirmed | None]]:
    made: Plan = msgspec.structs.replace(plan(target=VM), step=step)
    made = msgspec.structs.replace(made, proposal=claimed(made, of))
    found = Found(Hint(made.check, made.reason, VM, made.fingerprint), "warning", "")
    confirmed = Confirmed(made, of)
    return [(Repair.of(found, "repair", Mode.PLAN, 0.0).planned(confirmed.plan), confirmed)]


def patches(text: str) -> list[dict[str, Any]]:
    """With each patch read, too."""
    found = yaml.safe_load(text)["patches"]
    return [{**each, "patch": yaml.safe_load(each["patch"])} for each in found]


UUID: tuple[Op, ...] = (Expect(f"{FIRMWARE}/serial", "s"), Add(f"{FIRMWARE}/uuid", "1-2"))


def test_what_is_said_by_names_alone_is_a_strategic_merge_patch() -> None:
    text = snippet(proposed(Patch(target=VM, ops=UUID), whole(ARGO)))
    firmware = {"uuid": "1-2"}
    wanted = {**ITEM, "spec": {"template": {"spec": {"domain": {"firmware": firmware}}}}}
    assert patches(text) == [{"patch": wanted}]
    assert [line.strip() for line in text.splitlines() if "#" in line] == [
        "# repair: VirtualMachine shop/db.v2, finding f1, OrphanClaim (ipam_claims), mode plan",
        "# owner: Argo CD application `shop-prod`",
        "# propose: Change it in the Git repository of Argo CD application shop-prod.",
        "# strategic merge patch",
        f"# field {FIRMWARE}/uuid: {FIRMWARE}, above it: written by argocd-controller",
    ]


def test_what_changes_a_list_or_takes_the_place_of_a_map_is_a_json_patch_that_tests_first() -> None:
    of = whole(ARGO, gates=["a", "b"])
    ops = (
        Expect("/metadata/annotations/x", "y"),  # of the cluster alone
        Expect("/spec/template/spec/domain/gates", ["a", "b"]),
        Remove("/spec/template/spec/domain/gates/1"),
    )
    (found,) = patches(snippet(proposed(Patch(target=VM, ops=ops), of)))
    assert found["patch"] == [
        {"op": "test", "path": "/spec/template/spec/domain/gates", "value": ["a", "b"]},
        {"op": "remove", "path": "/spec/template/spec/domain/gates/1"},
    ]
    assert found["target"] == {
        "group": "kubevirt.io",
        "version": "v1",
        "kind": "VirtualMachine",
        "name": "db\\.v2",
        "namespace": "shop",
    }
    replaced = (Replace(FIRMWARE, {"uuid": "1-2"}),)
    (found,) = patches(snippet(proposed(Patch(target=VM, ops=replaced), of)))
    assert found["patch"] == [{"op": "replace", "path": FIRMWARE, "value": {"uuid": "1-2"}}]


def test_what_is_to_be_deleted_is_taken_out_of_what_is_rendered() -> None:
    (found,) = patches(snippet(proposed(Delete(target=VM), whole(HELM))))
    assert found == {"patch": {"$patch": "delete", **ITEM}}


def test_helm_is_told_where_patches_go() -> None:
    assert snippet(proposed(Delete(target=VM), whole(HELM))).startswith("# Helm has no patches of its own: ")
    assert "Helm" not in snippet(proposed(Delete(target=VM), whole(ARGO)))


@pytest.mark.parametrize(
    "step",
    [
        Patch(target=VM, ops=(Add("/metadata/annotations/a", "b"),)),  # nobody reverts it
        Patch(target=VM, ops=()),
    ],
)
def test_what_nobody_in_git_owns_has_no_patch(step: Step) -> None:
    text = snippet(proposed(step, whole(ARGO)))
    assert text.startswith("# No plan is for an object that Argo CD, Flux or Helm owns")
    assert yaml.safe_load(text) == {"patches": []}
    hco = {"apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged", "name": "x", "controller": True}
    of = whole({})
    of["metadata"]["ownerReferences"] = [hco]
    assert yaml.safe_load(snippet(proposed(Patch(target=VM, ops=UUID), of))) == {"patches": []}


def test_whatever_others_call_themselves_stays_in_its_comment() -> None:
    evil = "x\n- patch: evil\n\u2028\x1b[2J"
    notes = {"meta.helm.sh/release-name": evil, "meta.helm.sh/release-namespace": evil}
    of = whole(notes, manager=evil)
    ops = (Add(f"{FIRMWARE}/uuid", "a: b\n# c"), Add(f"{FIRMWARE}/x: y", "- z"))
    text = snippet(proposed(Patch(target=VM, ops=ops), of))
    (found,) = patches(text)
    firmware = found["patch"]["spec"]["template"]["spec"]["domain"]["firmware"]
    assert firmware == {"uuid": "a: b\n# c", "x: y": "- z"}
    assert "\x1b" not in text


def test_a_component_has_a_file_a_patch_and_overwrites_nothing(tmp_path: Path) -> None:
    made = proposed(Patch(target=VM, ops=UUID), whole(ARGO))
    where = tmp_path / "steward"
    said = component(made, where)
    assert made[0][0].hash in said
    whole_file = yaml.safe_load((where / "kustomization.yaml").read_text("utf-8"))
    assert whole_file["kind"] == "Component"
    (listed,) = whole_file["patches"]
    assert yaml.safe_load((where / listed["path"]).read_text("utf-8"))["metadata"] == ITEM["metadata"]
    with pytest.raises(ValueError, match="isn't empty"):
        component(made, where)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ValueError, match="can't write to "):
        component(made, tmp_path / "file")
    assert component([], tmp_path / "none").startswith("# No plan")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "x\n y", "..", "\x00"])
def test_no_name_leads_out_of_the_directory(name: str, tmp_path: Path) -> None:
    """Names of objects are from the API server, which allows none of these."""
    made = proposed(Patch(target=Ref("VirtualMachine", "shop", name, "u1"), ops=UUID), whole(ARGO))
    component(made, tmp_path / "in")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in"]
    assert len(list((tmp_path / "in").iterdir())) == 2
