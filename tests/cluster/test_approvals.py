"""The ValidatingAdmissionPolicy for who lets the sidecar write, on a real server: by their own name, if they may."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import pytest

from exporter.kube.transport import Transport
from reconcile.carry_out.execute import PlanWriter
from reconcile.config.settings import SidecarConfig, model_of
from reconcile.permissions.accounts import ServiceAccount
from reconcile.permissions.approvals import APPROVER
from reconcile.permissions.rbac import guarded
from reconcile.plan.annotations import ACCEPT, APPROVALS, APPROVED_PLAN, PAUSED, RESUMED, resumes
from reconcile.plan.remediations import all_remediations
from reconcile.plan.requests import PROBE
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer, Setup
from tests.cluster.client import ApiError, Client
from tests.cluster.conftest import Tools
from tests.cluster.custom_resources import install, loose
from tests.cluster.forks import steward
from tests.cluster.resources import VMIS, VMS
from tests.manifests import Object
from tests.waiting import wait_until

SIDECAR = ServiceAccount("kv")
HANDLER = "system:serviceaccount:kubevirt:kubevirt-handler"
VELERO = "system:serviceaccount:velero:velero"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kv/leases"
NAMESPACES = "/api/v1/namespaces"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
MERGE = "application/merge-patch+json"
MAY_NOT, ANOTHER = "RBAC has to allow approve repairs", "under another name"
HASH, UNTIL = "0123456789abcdef", "2026-07-01T18:00:00Z"
RULES: Mapping[str, list[Object]] = {
    # What the ClusterRole edit gives, and of namespaces and the Lease more than any tenant has.
    "tenant": [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "create", "update", "patch", "delete"]}
    ],
    HANDLER: [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachineinstances"], "verbs": ["update", "patch"]}],
    VELERO: [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],  # as it is installed
}


@pytest.fixture(scope="module")
def cluster(binary: Tools) -> Iterator[ApiServer]:
    accounts = dict.fromkeys(("tenant", "approver", SIDECAR.username, HANDLER, VELERO), "")
    flags = ("--disable-admission-plugins", "ServiceAccount")
    server = ApiServer(binary("etcd"), binary("kube-apiserver"), Setup(flags=flags, accounts=accounts))
    server.start()
    try:
        admin = server.client()
        install(admin, loose())
        for name in ("kv", "ns", "other"):
            admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for account, rules in {**RULES, "approver": RULES["tenant"], SIDECAR.username: RULES["tenant"]}.items():
            bound(admin, account, rules)
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def admin(cluster: ApiServer) -> Client:
    return cluster.client()


def bound(admin: Client, account: str, rules: list[Object]) -> None:
    name = account.rpartition(":")[2]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}
    admin.apply({**role, "rules": rules})
    admin.apply(binding(name, name, account))


def binding(name: str, role: str, account: str, namespace: str = "") -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": account}],
    }


@pytest.fixture(scope="module")
def held(cluster: ApiServer, admin: Client) -> Callable[[str], Client]:
    """A client of each account, with the policy in effect, and `approver` allowed to approve in `ns`."""
    before = cluster.client("tenant")
    admin.create(fleet.vm("ns", "before"))
    path = VMS.path("ns", "before")
    assert said(annotate(before, path, {APPROVED_PLAN: by("platform-admin@example.org")})) == "taken"
    for each in guarded(SidecarConfig(), all_remediations(), SIDECAR):
        if each["metadata"]["name"] in (APPROVALS, APPROVER):
            admin.apply(each)
    admin.apply(binding("approves", APPROVER, "approver", "ns"))

    def answered(account: str) -> str:
        own = cluster.client(account)
        assert said(annotate(own, path, {APPROVED_PLAN: None})) == "taken"
        return said(annotate(own, path, {APPROVED_PLAN: by(account)}))

    wait_until(lambda: MAY_NOT in answered("tenant"), 60, "the policy is in effect", every=0.2)
    wait_until(lambda: answered("approver") == "taken", 60, "the approver is bound", every=0.2)
    return cluster.client


def by(name: str, plan: str = HASH) -> str:
    return f"{plan} by {name} until {UNTIL}"


def annotate(client: Client, path: str, annotations: Mapping[str, str | None]) -> Callable[[], Any]:
    body = {"metadata": {"annotations": annotations}}
    return lambda: client.connection.request("PATCH", path, body, content_type=MERGE)


def said(act: Callable[[], Any]) -> str:
    try:
        act()
    except ApiError as error:
        return f"{error.code}: {error.message}"
    return "taken"


def vm(admin: Client, name: str, annotations: Mapping[str, str] | None = None, namespace: str = "ns") -> str:
    made = fleet.vm(namespace, name)
    made["metadata"]["annotations"] = dict(annotations or {})
    admin.create(made)
    return VMS.path(namespace, name)


def test_who_approves_may_do_so_under_their_own_name(admin: Client, held: Callable[[str], Client]) -> None:
    path, elsewhere = vm(admin, "named"), vm(admin, "elsewhere", namespace="other")
    tenant, approver = held("tenant"), held("approver")
    refused = {
        "a tenant": (tenant, path, by("tenant"), MAY_NOT),
        "a tenant as an administrator": (tenant, path, by("platform-admin@example.org"), MAY_NOT),
        "an approver as another": (approver, path, by("alice"), ANOTHER),
        "as one whose name goes on": (approver, path, by("approver@example.org"), ANOTHER),
        "as one whose name has more words": (approver, path, by("approver until x"), ANOTHER),
        "without a name": (approver, path, HASH, ANOTHER),
        "with what is no approval": (approver, path, "yes", ANOTHER),
        "an approver of another namespace": (approver, elsewhere, by("approver"), MAY_NOT),
        "the sidecar": (held(SIDECAR.username), path, by(SIDECAR.username), MAY_NOT),
    }
    found = {
        name: said(annotate(client, where, {APPROVED_PLAN: text})) for name, (client, where, text, _) in refused.items()
    }
    assert {name: refused[name][3] in each and each.startswith("403") for name, each in found.items()} == dict.fromkeys(
        refused, True
    ), found
    for text in (by("approver"), f"{HASH} by approver", f"{HASH} by approver at {UNTIL} until {UNTIL}"):
        assert said(annotate(approver, path, {APPROVED_PLAN: text})) == "taken"
    # What is there stays, whoever writes something else, and anybody may take it off.
    assert said(annotate(tenant, path, {"other": "a"})) == "taken"
    assert said(annotate(tenant, path, {APPROVED_PLAN: None})) == "taken"
    assert said(annotate(tenant, path, {RESUMED: UNTIL})).startswith("403")
    assert said(annotate(approver, path, {RESUMED: UNTIL})) == "taken"


def test_owners_end_their_own_pauses_and_no_others(admin: Client, held: Callable[[str], Client]) -> None:
    tenant, approver, path = held("tenant"), held("approver"), vm(admin, "paused")
    for text in ("mine (tenant)", "theirs (alice)", ""):
        assert said(annotate(tenant, path, {PAUSED: text})) == "taken"  # of their own object
        assert said(annotate(tenant, path, {PAUSED: None})) == "taken"
    of_all, lease = f"{NAMESPACES}/ns", f"{LEASE}/kubevirt-steward-reconcile"
    assert MAY_NOT in said(annotate(tenant, of_all, {PAUSED: "x (tenant)"}))
    assert said(annotate(approver, of_all, {PAUSED: "x (approver)"})) == "taken"
    assert MAY_NOT in said(annotate(tenant, of_all, {PAUSED: None}))
    assert MAY_NOT in said(annotate(tenant, f"{of_all}/status", {PAUSED: None}))
    assert MAY_NOT in said(annotate(tenant, of_all, {PAUSED: "false"}))
    assert said(annotate(tenant, of_all, {"other": "a"})) == "taken"
    assert said(annotate(approver, of_all, {PAUSED: None})) == "taken"
    assert said(annotate(admin, of_all, {PAUSED: "x (tenant)"})) == "taken"  # before it was taken from them
    assert said(annotate(tenant, of_all, {PAUSED: None, RESUMED: UNTIL})).startswith("403")
    assert said(annotate(tenant, of_all, {PAUSED: None})) == "taken"

    # Of the Lease it takes all namespaces.
    admin.create(lease_of("kubevirt-steward-reconcile", {}))
    stops = resumes("release_ipam_claim")
    for key, text in ((PAUSED, "x"), (RESUMED, UNTIL), (stops, UNTIL), (ACCEPT, f"1-{HASH} by approver")):
        assert MAY_NOT in said(annotate(approver, lease, {key: text})), key
    assert said(annotate(held(SIDECAR.username), lease, {"steward.kubevirt-steward.io/storm": "x"})) == "taken"
    admin.apply(binding("approves-all", APPROVER, "approver"))
    wait_until(lambda: said(annotate(approver, lease, {PAUSED: "x"})) == "taken", 60, "it may everywhere", every=0.2)
    assert said(annotate(approver, lease, {stops: f"{UNTIL} by approver: the vendor mended it"})) == "taken"
    assert ANOTHER in said(annotate(approver, lease, {stops: f"{UNTIL} by alice: it is mended"}))
    assert ANOTHER in said(annotate(approver, lease, {ACCEPT: f"1-{HASH} by alice"}))
    assert MAY_NOT in said(annotate(tenant, lease, {PAUSED: None}))
    other = lease_of("kubevirt-steward-reconcile-x", {PAUSED: "x", RESUMED: UNTIL})  # which nobody reads
    assert said(lambda: tenant.create(other)) == "taken"


def test_by_the_command_who_may_not_approve_ends_a_pause_of_their_own(
    cluster: ApiServer, admin: Client, held: Callable[[str], Client]
) -> None:
    assert held("tenant")
    path = vm(admin, "asleep")

    def asked(account: str, verb: str, *what: str) -> tuple[int, str, Any]:
        done = steward("reconcile", verb, *what, "--kubeconfig", str(cluster.kubeconfig(account)))
        return done.returncode, done.stderr, admin.connection.request("GET", path)["metadata"].get("annotations", {})

    code, told, notes = asked("tenant", "pause", "VirtualMachine", "ns/asleep")
    assert (code, told, notes) == (0, "", {PAUSED: "paused (tenant)"})
    code, told, notes = asked("tenant", "resume", "VirtualMachine", "ns/asleep")
    assert (code, notes) == (0, {})
    assert "earlier reverts still count" in told
    assert MAY_NOT in told
    asked("tenant", "pause", "VirtualMachine", "ns/asleep")
    code, told, notes = asked("approver", "resume", "VirtualMachine", "ns/asleep")
    assert (code, told, list(notes)) == (0, "", [RESUMED])
    code, told, _ = asked("tenant", "pause", "-n", "ns")
    assert code == 2
    assert MAY_NOT in told


def lease_of(name: str, annotations: Mapping[str, str]) -> Object:
    meta = {"namespace": "kv", "name": name, "annotations": dict(annotations)}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": {}}


def test_a_restore_that_carries_an_old_approval(admin: Client, held: Callable[[str], Client]) -> None:
    """What is created is restored, with another UID and so of no plan. Of what is there no approval comes back."""
    old = {APPROVED_PLAN: by("alice"), PAUSED: "by alice", RESUMED: "2026-01-01T00:00:00Z"}
    velero = held(VELERO)
    saved = fleet.vm("ns", "restored")
    saved["metadata"]["annotations"] = dict(old)
    assert said(lambda: velero.create(deepcopy(saved))) == "taken"
    path = VMS.path("ns", "restored")
    assert admin.get(VMS, "ns", "restored")["metadata"]["annotations"] == old
    assert said(annotate(velero, path, {**old, "other": "a"})) == "taken"  # none of it is another one
    assert said(annotate(held("tenant"), path, {APPROVED_PLAN: None, "other": None})) == "taken"
    found = said(annotate(velero, path, old))
    assert found.startswith("403")
    assert ANOTHER in found  # Velero may approve, as cluster-admin, and is not alice
    assert said(annotate(velero, path, {"other": "b"})) == "taken"


def test_nothing_that_may_be_stored_is_refused_with_an_error(admin: Client, held: Callable[[str], Client]) -> None:
    tenant = held("tenant")
    for name, notes in (
        ("none", {}),
        ("empty", {APPROVED_PLAN: "", RESUMED: "", PAUSED: ""}),
        ("approved", {APPROVED_PLAN: by("alice")}),
        ("many", {f"example.org/{at}": "x" for at in range(3000)}),
        ("long", {APPROVED_PLAN: "ü" * 5000}),
    ):
        path = vm(admin, f"odd-{name}", notes)
        assert said(annotate(tenant, path, {"other": "a"})) == "taken"
        assert said(annotate(tenant, path, {APPROVED_PLAN: ""})) == "taken"
        assert MAY_NOT in said(annotate(tenant, path, {APPROVED_PLAN: "ü"}))
        assert said(cleared(tenant, path)) == "taken"


def cleared(client: Client, path: str) -> Callable[[], Any]:
    return lambda: client.connection.request("PATCH", path, {"metadata": {"annotations": None}}, content_type=MERGE)


def test_what_virt_handler_writes_reaches_no_validation_and_no_authorizer(
    cluster: ApiServer, admin: Client, held: Callable[[str], Client]
) -> None:
    handler = held(HANDLER)
    vm(admin, "beats")
    made = fleet.vmi(admin.get(VMS, "ns", "beats"))
    made["metadata"]["annotations"] = {f"kubevirt.io/{at}": "x" * 100 for at in range(50)}
    admin.create(made)
    path = VMIS.path("ns", "beats")
    before, asked = checks(admin), conditions(admin)
    for at in range(200):
        body = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "lastProbeTime": str(at)}]}}
        handler.connection.request("PATCH", path, body, content_type=MERGE)
    assert checks(admin) == before
    count, seconds = (now - then for now, then in zip(conditions(admin), asked, strict=True))
    assert count >= 200
    assert seconds / count < 0.01  # of wall time, on a machine that has other things to do


def checks(admin: Client) -> float:
    """How often the policy was evaluated behind its match condition."""
    name = "apiserver_validating_admission_policy_check_total"
    return sum(value for line, value in metrics(admin, name) if APPROVALS in line)


def conditions(admin: Client) -> tuple[float, float]:
    """How often match conditions were evaluated, and for how many seconds in all."""
    name = "apiserver_admission_match_condition_evaluation_seconds"
    count, seconds = (
        sum(value for line, value in metrics(admin, f"{name}_{part}") if APPROVALS in line) for part in ("count", "sum")
    )
    return count, seconds


def metrics(admin: Client, name: str) -> list[tuple[str, float]]:
    lines = admin.connection.request("GET", "/metrics").splitlines()
    found = (line.rpartition(" ") for line in lines if line.startswith(name))
    return [(line, float(value)) for line, _, value in found]


async def test_the_sidecar_finds_out_whether_the_policy_is_there(
    cluster: ApiServer, admin: Client, held: Callable[[str], Client]
) -> None:
    """Together with the policy for the sidecar, which lets that one dry run through."""
    assert held("admin")

    async def proven() -> tuple[bool | None, bool | None]:
        transport = Transport.from_environment(str(cluster.kubeconfig(SIDECAR.username)))
        try:
            await transport.load()
            writer = PlanWriter(transport)
            return (await writer.guarded("kv"))[0], (await writer.authorizing("kv"))[0]
        finally:
            await transport.close()

    def now() -> tuple[bool | None, bool | None]:
        return asyncio.run(proven())

    assert await proven() == (False, True)
    config = model_of(all_remediations()).model_validate({"mode": "auto", "lease": {"namespace": "kv"}})
    for each in guarded(config, all_remediations(), SIDECAR):
        admin.apply(each)
    await asyncio.to_thread(wait_until, lambda: now() == (True, True), 60, "both are there", every=0.2)
    admin.connection.request("DELETE", f"{BINDINGS}/{APPROVALS}")
    await asyncio.to_thread(wait_until, lambda: now() == (True, False), 60, "one is gone", every=0.2)
    kept = [each["metadata"]["name"] for each in admin.connection.request("GET", LEASE)["items"]]
    assert PROBE not in kept
