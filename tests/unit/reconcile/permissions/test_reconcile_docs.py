"""What the sidecar declares is what it does: the permissions of its roles, its reasons, its names, and its manual."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generator.sidecar import generated
from exporter.__main__ import main
from exporter.checks import all_checks
from exporter.config.keys import keys_within
from reconcile.app import kinds_of
from reconcile.carry_out.confirm import Confirmed
from reconcile.carry_out.metrics import Measures, ShownRepairs
from reconcile.cli import commands
from reconcile.config.loading import LoadedSidecar, load
from reconcile.config.settings import model_of
from reconcile.decide.gates import GATES
from reconcile.permissions.accounts import NAME, ServiceAccount
from reconcile.permissions.rbac import base_roles, guarded, needed, write_role
from reconcile.plan.plan import Create, Plan
from reconcile.plan.remediation import COMMON_PRECONDITIONS, Remediation
from reconcile.plan.remediations import all_remediations, all_undos, undo_of
from reconcile.plan.requests import Request, request
from reconcile.plan.undo import COMMON_UNDO_PRECONDITIONS, LOSSES, NoUndo, Undo
from tests.all_of import each_of
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.evaluation import NOW
from tests.remediation_cases import asked as reads_of
from tests.remediation_cases import cases_of
from tests.rows import full

ALL = all_remediations()
BY_ID = {each.id: each for each in ALL}
KINDS = kinds_of(ALL)
VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
ACCOUNT = ServiceAccount("kv")

Access = tuple[str, str, str]  # verb, group, resource


def access(rules: Iterable[dict[str, Any]]) -> set[Access]:
    return {
        (verb, group, resource)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


# -- requests and permissions


@cache
def planned(remediation: Remediation) -> tuple[Confirmed, ...]:
    """What the cases of a remediation plan, but for proposals."""
    return tuple(_planned(remediation))


def _planned(remediation: Remediation) -> Iterator[Confirmed]:
    for case in cases_of(remediation).values():
        if "plans" in case:
            objects = [full(row) for row in case["given"]]
            for each in objects:
                each["metadata"]["resourceVersion"] = "1"
            reads = MemoryReads(objects, case.get("fails"), case.get("absent", ()))
            made = confirmed(remediation, hint_of(case["about"], objects), reads, NOW + case.get("later", 0))
            if isinstance(made, Confirmed) and made.plan.proposal is None:
                yield made


def asked(sent: Request, plan: Plan) -> Iterator[Access]:
    """What RBAC asks of a request: of a subresource in several parts the API server its first, virt-api all of it."""
    parts = sent.path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if rest[0] == "namespaces":
        rest = rest[2:]
    verb, resource, subresource = VERBS[sent.method], rest[0], rest[2:]
    yield from (
        (verb, group, "/".join((resource, *subresource[:n]))) for n in {min(1, len(subresource)), len(subresource)}
    )
    yield from ((("update", *owner)) for owner in blocking(plan))


def blocking(plan: Plan) -> Iterator[tuple[str, str]]:
    """The owners whose deletion a new owner reference blocks: OwnerReferencesPermissionEnforcement asks for them."""
    step = plan.step
    found: list[Any] = []
    if isinstance(step, Create):
        found = step.manifest["metadata"].get("ownerReferences", [])
    else:
        for op in getattr(step, "ops", ()):
            if "/ownerReferences" in op.path and hasattr(op, "value"):
                found += op.value if isinstance(op.value, list) else [op.value]
    for owner in found:
        if owner.get("blockOwnerDeletion"):
            yield KINDS[owner["kind"]].group, f"{KINDS[owner['kind']].plural}/finalizers"


@each_of("remediation", [each for each in ALL if each.writes], ids=str)
def test_a_role_allows_what_is_sent_and_nothing_else(remediation: Remediation) -> None:
    sent: set[Access] = set()
    for made in planned(remediation):
        kind = KINDS[made.plan.target.kind]
        real, dry = (request(made.plan.step, kind, kind.versions[0], made.whole, dry=dry) for dry in (False, True))
        assert (real.method, real.path) == (dry.method, dry.path)
        sent |= set(asked(real, made.plan))
    allowed = access(write_role(remediation)["rules"]) - {("create", "", "events")}
    assert sent == allowed


@each_of("remediation", [each for each in ALL if not each.writes], ids=str)
def test_what_only_proposes_writes_nothing(remediation: Remediation) -> None:
    assert remediation.proposes_only
    assert planned(remediation) == ()


@each_of("remediation", ALL, ids=str)
def test_a_write_is_in_the_namespace_of_the_finding(remediation: Remediation) -> None:
    """A mode is that of the finding's namespace, and so is what its RoleBinding allows."""
    for made in planned(remediation):
        assert made.plan.target.namespace == made.plan.subject.namespace


@each_of("remediation", ALL, ids=str)
def test_all_that_is_read_may_be_read(remediation: Remediation, tmp_path: Path) -> None:
    given = f"mode: off\nremediations:\n  {remediation.id}: {{mode: plan}}"
    (read, *_) = manifests(tmp_path, given)
    allowed = access(read["rules"])
    for case in cases_of(remediation).values():
        for kind, _, name in reads_of(remediation, case):
            assert ("list" if name is None else "get", KINDS[kind].group, KINDS[kind].plural) in allowed


# -- what a configuration needs


def manifests(tmp_path: Path, text: str) -> list[dict[str, Any]]:
    file = tmp_path / "reconcile.yaml"
    file.write_text(text, encoding="utf-8")
    got = load(ALL, file)
    assert isinstance(got, LoadedSidecar), str(got)
    return list(needed(got.config, ALL, all_checks(), ACCOUNT))


def bound(found: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """The role of each binding, and its namespace."""
    return {
        (each["roleRef"]["name"].removeprefix(f"{NAME}-"), each["metadata"].get("namespace", ""))
        for each in found
        if each["kind"].endswith("Binding")
    }


OWN = {(NAME, "")}
LEASE = {(NAME, "kv")}
RELEASE = "remediations: {release_ipam_claim: %s}"


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("", set()),
        ("mode: off", set()),
        (RELEASE % "{mode: auto}", {("release-ipam-claim", "")}),
        (RELEASE % "{mode: approve}", {("release-ipam-claim", "")}),
        (RELEASE % "{namespaces: {a: auto, b: approve, c: plan}}", {("release-ipam-claim", each) for each in "ab"}),
        (RELEASE % "{mode: auto, namespaces: {a: off}}", {("release-ipam-claim", "")}),
        ("mode: auto\n" + RELEASE % "{mode: plan}", {
            (each.id.replace("_", "-"), "") for each in ALL if each.writes and each.id != "release_ipam_claim"
        }),
    ],
)  # fmt: skip
def test_what_may_write_is_bound_where_it_may(text: str, more: set[tuple[str, str]], tmp_path: Path) -> None:
    found = manifests(tmp_path, text)
    assert bound(found) == OWN | more | (LEASE if more else set())
    assert all(
        each["subjects"] == [{"kind": "ServiceAccount", "namespace": "kv", "name": NAME}]
        for each in found
        if "subjects" in each
    )
    roles = {(each["kind"], each["metadata"]["name"]) for each in found if "rules" in each}
    assert {(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in found if "roleRef" in each} == roles


def test_in_shadow_nothing_may_be_written_and_the_lease_is_read(tmp_path: Path) -> None:
    found = manifests(tmp_path, RELEASE % "{namespaces: {a: shadow}}")
    assert bound(found) == OWN | LEASE
    allowed = access(rule for each in found for rule in each.get("rules", ()))
    assert {verb for verb, _, _ in allowed} == {"get", "list"}
    assert ("get", "coordination.k8s.io", "leases") in allowed


def test_where_labels_select_it_is_bound_everywhere_and_the_policy_asks_for_them(tmp_path: Path) -> None:
    selecting = "{namespaces: {a: off, b: approve}, namespaceSelectors: [%s]}"
    allowed, denied = "{matchLabels: {tier: test}, mode: auto}", "{matchLabels: {frozen: 'yes'}, mode: plan}"
    only_plans = manifests(tmp_path, RELEASE % selecting.replace("b: approve", "b: plan") % denied)
    assert bound(only_plans) == OWN
    found = manifests(tmp_path, RELEASE % selecting % f"{allowed}, {denied}")
    assert bound(found) == OWN | LEASE | {("release-ipam-claim", "")}

    loaded = load(ALL, tmp_path / "reconcile.yaml")
    assert isinstance(loaded, LoadedSidecar)
    policy, *_ = guarded(loaded.config, ALL, ACCOUNT)
    expression = next(
        each["expression"] for each in policy["spec"]["variables"] if each["name"] == "release_ipam_claim"
    )
    assert "namespaceObject.metadata.labels['tier'] in ['test']" in expression
    assert "!((has(namespaceObject.metadata.labels) && 'frozen' in" in expression


def test_in_plan_mode_nothing_may_be_written(tmp_path: Path) -> None:
    found = access(rule for each in manifests(tmp_path, "") for rule in each.get("rules", ()))
    assert {verb for verb, _, _ in found} == {"get", "list"}


def test_what_is_off_is_not_read(tmp_path: Path) -> None:
    found = manifests(tmp_path, "mode: off\nremediations: {delete_orphan_pdb: {namespaces: {a: plan}}}")
    resources = {resource for _, _, resource in access(found[0]["rules"])}
    assert {"poddisruptionbudgets", "namespaces", "kubevirts"} <= resources
    assert not {"ipamclaims", "controllerrevisions"} & resources


def test_the_lease_is_that_of_the_configuration(tmp_path: Path) -> None:
    found = manifests(tmp_path, "mode: auto\nlease: {namespace: elsewhere, name: own}")
    lease = next(each for each in found if each["kind"] == "Role")
    assert lease["metadata"]["namespace"] == "elsewhere"
    assert lease["rules"][1]["resourceNames"] == ["own"]
    assert (NAME, "elsewhere") in bound(found)


def test_nobody_may_read_secrets_or_delete_vms() -> None:
    found = access(rule for each in base_roles(ALL, all_checks()) for rule in each["rules"])
    assert not {resource for _, _, resource in found} & {"secrets", "configmaps", "pods/exec", "pods/eviction", "*"}
    assert not {verb for verb, _, _ in found} & {"*", "deletecollection", "escalate", "bind", "impersonate"}
    verbs = {of: {verb for verb, _, resource in found if resource == of} for _, _, of in found}
    # A decision: whatever is repaired, pods are only read, and of VMs nothing is created or deleted.
    assert {verb for of, own in verbs.items() if of.partition("/")[0] == "pods" for verb in own} == {"get", "list"}
    assert verbs["virtualmachines"] == {"get", "list", "patch"}
    assert {verb for of, own in verbs.items() if of.startswith("virtualmachines/") for verb in own} <= {
        "patch",
        "update",  # of finalizers alone: what the admission of owner references asks for, and no request of ours
    }
    assert {of for of, own in verbs.items() if "update" in own and of.startswith("virtualmachines")} <= {
        "virtualmachines/finalizers"
    }


def test_the_command_prints_what_a_file_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "reconcile.yaml"
    file.write_text(RELEASE % "{namespaces: {a: auto}}", encoding="utf-8")
    asked = ["reconcile", "role", "--config", str(file), "-n", "kv"]
    assert main([*asked, "--no-policy"]) == 0
    roles = list(yaml.safe_load_all(capsys.readouterr().out))
    assert roles == manifests(tmp_path, file.read_text(encoding="utf-8"))
    assert main(asked) == 0
    found = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [(each["kind"], each["metadata"]["name"]) for each in found[:5]] == [
        ("ValidatingAdmissionPolicy", "steward-reconcile"),
        ("ValidatingAdmissionPolicyBinding", "steward-reconcile"),
        ("ValidatingAdmissionPolicy", "steward-approvals"),
        ("ValidatingAdmissionPolicyBinding", "steward-approvals"),
        ("ClusterRole", "steward-approver"),
    ]
    assert found[5:] == roles


def test_a_file_with_mistakes_needs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "reconcile.yaml"
    file.write_text(RELEASE % "{mode: atuo}", encoding="utf-8")
    assert main(["reconcile", "role", "--config", str(file), "-n", "kv"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "remediations.release_ipam_claim.mode" in shown.err


# -- what is declared twice agrees


def test_pages_name_all_remediations_and_no_other() -> None:
    named = {reason.remediation for check in all_checks() for reason in check.reasons.values() if reason.remediation}
    assert named <= BY_ID.keys()
    assert [each.id for each in ALL if not each.answers] == []


def test_names_of_gates_and_preconditions_are_not_mixed_up() -> None:
    gates = Counter(gate.id for gate in GATES)
    assert gates.most_common(1)[0][1] == 1
    for remediation in ALL:
        assert not remediation.preconditions.keys() & (COMMON_PRECONDITIONS.keys() | gates.keys())
    assert not COMMON_PRECONDITIONS.keys() & gates.keys()
    for undo in all_undos().values():
        if isinstance(undo, Undo):
            assert not (undo.preconditions.keys() | undo.losses.keys()) & gates.keys()
    assert not COMMON_UNDO_PRECONDITIONS.keys() & gates.keys()


# -- the manual


@cache
def manual() -> str:
    return generated()["docs/repairs.md"]


@each_of("remediation", ALL, ids=str)
def test_the_manual_has_all_of_a_remediation(remediation: Remediation) -> None:
    _, _, rest = manual().partition(f"\n### {remediation.id}\n")
    own, _, _ = rest.partition("\n### ")
    assert remediation.title in own
    assert "\nUndo: " in own
    assert f"- Risk: {remediation.risk.value}\n" in own
    for name, what in remediation.preconditions.items():
        assert f"| `{name}` | {what} |" in own
    for write in remediation.writes:
        resource, _, subresource = write.resource.partition("/")
        assert f"`{resource}.{write.group}{subresource and '/'}{subresource}`" in own
    for reasons in remediation.answers.values():
        assert ", ".join(reasons) in own
    undo = undo_of(remediation.id)
    if isinstance(undo, NoUndo):
        assert undo.why in own
    if isinstance(undo, Undo):
        assert all(f"| `{name}` | {what} |  |" in own for name, what in undo.preconditions.items())
        assert all(f"| `{name}` | {what} | `--accept {word}` |" in own for name, (word, what) in undo.losses.items())


def test_the_manual_has_every_key_command_gate_and_metric() -> None:
    files = generated()
    manual = files["docs/repairs.md"]
    for key in keys_within(model_of(())):
        assert f"| `{key.name}` |" in manual
    top = argparse.ArgumentParser().add_subparsers()
    commands.add(top)
    described = dict(commands.described(top.choices["reconcile"]))
    assert len(described) > 5
    for command, what in described.items():
        assert f"| {command} | {what} |" in manual
    for gate in GATES:
        assert f"| `{gate.id}` | {gate.title} |" in files["docs/gates.md"]
    for word, (what, _) in LOSSES.items():
        assert f"| `{word}` | {what} |" in manual
    for precondition, what in COMMON_UNDO_PRECONDITIONS.items():
        assert f"| {precondition} | {what} |" in manual
    for family in Measures(ALL, {}, ShownRepairs()).registry.collect():
        assert f"| `{family.name}{'_total' if family.type == 'counter' else ''}` |" in manual
