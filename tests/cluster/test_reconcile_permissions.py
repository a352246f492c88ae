"""The sidecar with exactly the roles that are generated for its configuration: it does all of that, and nothing else.

The API server asks for the permission to block the deletion of an owner too, as OpenShift's does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.fleet import instancetypes as its
from exporter.checks import all_checks
from reconcile.cli.commands import add
from reconcile.config.loading import LoadedSidecar, load
from reconcile.permissions.accounts import ServiceAccount
from reconcile.permissions.approvals import APPROVER
from reconcile.permissions.rbac import needed
from reconcile.plan.plan import Create
from reconcile.plan.remediations import all_remediations
from reconcile.plan.requests import MANAGER
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer, Setup
from tests.cluster.client import ApiError, Client
from tests.cluster.conftest import Tools
from tests.cluster.custom_resources import crds, install
from tests.cluster.exporter import STEADY, Exporter, grant
from tests.cluster.resources import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    EVENTS,
    IPAM_CLAIMS,
    LEASES,
    NAMESPACES,
    PODS,
    SECRETS,
    VMIS,
    VMS,
    Resource,
)
from tests.cluster.sidecar import Sidecar, steward
from tests.cluster.test_instancetype_remediations import KIND, SPEC, sized
from tests.cluster.test_repairs import AUTO, HOUR, KUBEVIRT
from tests.manifests import Object
from tests.shared import REPO
from tests.waiting import wait_until

pytestmark = pytest.mark.long

ACCOUNT = "system:serviceaccount:kv:steward-reconcile"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
LABEL = {"labelSelector": "app.kubernetes.io/name=steward-reconcile"}
CLAIMS = {"delete_orphan_ipam_claim": AUTO, "release_ipam_claim": AUTO}
ASKED_BY_ALL = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}


@pytest.fixture(scope="module")
def cluster(binary: Tools) -> Iterator[ApiServer]:
    flags = ("--disable-admission-plugins", "ServiceAccount")
    more = ("--enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
    server = ApiServer(binary("etcd"), binary("kube-apiserver"), Setup(flags=(*flags, *more), accounts={ACCOUNT: ""}))
    server.start()
    try:
        admin = server.client()
        install(admin, crds())
        for name in ("kv", "kubevirt"):
            admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        admin.make(KUBEVIRT)
        grant(admin)
        yield server
    finally:
        server.stop()


@pytest.fixture
def admin(cluster: ApiServer) -> Client:
    """With no role of the sidecar there, and no Lease, which knows the ledger of the last one."""
    admin = cluster.client()
    for each in admin.list(LEASES, "kv")["items"]:
        admin.delete(LEASES, "kv", each["metadata"]["name"])
    for resource in ("clusterrolebindings", "clusterroles"):
        admin.connection.request("DELETE", f"{RBAC}/{resource}", None, query=LABEL)
    for resource in ("rolebindings", "roles"):
        for each in admin.connection.request("GET", f"{RBAC}/{resource}", None, query=LABEL)["items"]:
            meta = each["metadata"]
            admin.connection.request("DELETE", f"{RBAC}/namespaces/{meta['namespace']}/{resource}/{meta['name']}", None)
    return admin


@pytest.fixture
def namespace(admin: Client) -> str:
    name = f"test-{uuid.uuid4().hex[:10]}"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def sidecar(folder: Path, cluster: ApiServer, exporter: str, settings: Object) -> Sidecar:
    own = {"lease": {"namespace": "kv", "duration": "15s"}, **settings}
    return Sidecar(folder, cluster.kubeconfig(ACCOUNT), exporter, own, ahead=HOUR)


def granted(admin: Client, config: Path) -> list[Object]:
    """Applies what `steward reconcile role` prints for a file."""
    printed = steward("reconcile", "role", "--config", str(config), "-n", "kv")
    assert printed.returncode == 0, printed.stderr
    manifests = list(yaml.safe_load_all(printed.stdout))
    for each in manifests:
        admin.apply(each)
    return manifests


def configured(folder: Path, settings: Object) -> Path:
    file = folder / "reconcile.yaml"
    file.write_text(json.dumps({"lease": {"namespace": "kv"}, **settings}), encoding="utf-8")
    return file


def orphan(admin: Client, namespace: str, name: str = "db") -> Object:
    """An IPAMClaim whose VM is gone."""
    vm = fleet.vm(namespace, name, {"blue": "blue"})
    vm["metadata"]["uid"] = str(uuid.uuid4())
    return admin.make(fleet.claim(vm, f"net-{namespace}", "10.0.0.5/24"))


def refusals(cluster: ApiServer) -> list[str]:
    """What the sidecar's ServiceAccount was refused, by the audit log, but for the dry runs that have to be."""
    return [
        f"{each['verb']} {each['requestURI']}"
        for each in cluster.audit_events()
        if each["user"]["username"] == ACCOUNT
        and each.get("responseStatus", {}).get("code") == 403
        and "/leases?dryRun=All&" not in each["requestURI"]
    ]


def allowed(client: Client, verb: str, group: str, resource: str, namespace: str = "") -> bool:
    resource, _, subresource = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    answer: Object = client.connection.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def rules(client: Client, namespace: str) -> set[tuple[str, str, str, tuple[str, ...]]]:
    """All that an account may do to objects in a namespace, by the API server."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    answer = client.connection.request("POST", path, review)
    return {each for rule in answer["status"]["resourceRules"] for each in single(rule)}


def single(rule: Any) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    for verb in rule["verbs"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                if resource not in ASKED_BY_ALL:
                    yield verb, group, resource, tuple(rule.get("resourceNames") or ())


def test_all_that_is_enabled_is_done_and_nothing_is_asked_for_in_vain(
    cluster: ApiServer, admin: Client, namespace: str, tmp_path: Path
) -> None:
    orphan(admin, namespace)
    of = admin.create(its.kept(KIND, namespace, "small", SPEC))
    lost = its.copy_name({"metadata": {"name": "web"}}, of)
    sized(admin, namespace, "web", of, lost)
    admin.create(fleet.vm(namespace, "other"))
    before = len(refusals(cluster))
    settings = {"budgets": {"fleetShare": 1}, "remediations": {**CLAIMS, "restash_missing_revision": AUTO}}
    with Exporter(cluster.kubeconfig("steward-exporter"), STEADY, graces=0) as exporter:
        exporter.wait_ready()
        made = sidecar(tmp_path, cluster, exporter.url, settings)
        granted(admin, made.config)
        with made:
            made.wait_for("verified", 3)
            assert made.value("kubevirt_steward_repair_leading") == 1.0
            assert refusals(cluster)[before:] == []
            for policy in ("steward-reconcile", "steward-approvals"):
                sample = f'kubevirt_steward_repair_policy_present{{policy="{policy}"}}'
                wait_until(lambda of=sample: made.value(of) == 1.0, 60, f"{policy} is seen", every=0.5)  # type: ignore[misc]
            owner = admin.get(CONTROLLER_REVISIONS, namespace, lost)["metadata"]["ownerReferences"][0]
            assert (owner["name"], owner["blockOwnerDeletion"]) == ("web", True)
            taken_back_by_whoever_may(made, cluster)
    assert admin.find(CONTROLLER_REVISIONS, namespace, lost) is None
    assert admin.find(IPAM_CLAIMS, namespace, "db.blue") is None
    assert {event["reason"] for event in admin.list(EVENTS, namespace)["items"]} == {"Repaired", "RepairUndone"}
    assert admin.list(LEASES, "kv")["items"] != []


def taken_back_by_whoever_may(made: Sidecar, cluster: ApiServer) -> None:
    """A creation, beside the sidecar: its own ServiceAccount may delete nothing of that kind."""
    (attempt,) = (entry.attempt for entry in made.entries() if entry.plan and isinstance(entry.plan.step, Create))
    given = ("--ledger", str(made.directory), "--accept", "copy", "--yes")
    undo = ("reconcile", "undo", attempt, *given, "--kubeconfig")
    own = steward(*undo, str(cluster.kubeconfig(ACCOUNT)))
    assert own.returncode == 1
    assert 'cannot delete resource "controllerrevisions"' in own.stderr
    admins = steward(*undo, str(cluster.kubeconfig("admin")))
    assert (admins.returncode, admins.stderr) == (0, "")


def test_the_service_account_may_do_what_is_printed_and_nothing_else(
    cluster: ApiServer, admin: Client, namespace: str, tmp_path: Path
) -> None:
    settings = {"remediations": {**CLAIMS, "delete_orphan_pdb": {"mode": "plan"}, "cancel_stale_evacuation": AUTO}}
    manifests = granted(admin, configured(tmp_path, settings))
    own = cluster.client(ACCOUNT)

    roles = [each for each in manifests if each["kind"] == "ClusterRole" and each["metadata"]["name"] != APPROVER]
    everywhere = {each for found in roles for each in map_rules(found)}
    wait_until(lambda: rules(own, namespace) == everywhere, 60, "the roles are in effect, and no others", every=0.2)
    assert rules(own, "kv") == everywhere | {
        ("get", "coordination.k8s.io", "leases", ("kubevirt-steward-reconcile",)),
        ("update", "coordination.k8s.io", "leases", ("kubevirt-steward-reconcile",)),
        ("create", "coordination.k8s.io", "leases", ()),
    }
    assert allowed(own, "update", "subresources.kubevirt.io", "virtualmachineinstances/evacuate/cancel", namespace)
    assert not allowed(own, "update", "subresources.kubevirt.io", "virtualmachines/stop", namespace)
    assert not allowed(own, "delete", "policy", "poddisruptionbudgets", namespace)


def map_rules(role: Object) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    for rule in role["rules"]:
        yield from single(rule)


def test_everything_else_is_refused(cluster: ApiServer, admin: Client, namespace: str, tmp_path: Path) -> None:
    admin.create(fleet.vm(namespace, "db"))
    claim = orphan(admin, namespace)
    granted(admin, configured(tmp_path, {"remediations": {"repair_ipam_claim_metadata": AUTO}}))
    own = cluster.client(ACCOUNT)
    claims: Resource = IPAM_CLAIMS

    assert own.get(claims, namespace, claim["metadata"]["name"]) == claim

    def dry_run() -> Object | None:
        try:
            taken: Object = own.connection.request(
                "PATCH",
                claims.path(namespace, claim["metadata"]["name"]),
                {"metadata": {"labels": {"kubevirt.io/vm": "other"}}},
                query={"dryRun": "All", "fieldManager": MANAGER},
                content_type="application/merge-patch+json",
            )
        except ApiError:
            return None
        return taken

    dry = wait_until(dry_run, 60, "roles and policy are in effect", every=0.2)
    assert dry["metadata"]["labels"]["kubevirt.io/vm"] == "other"

    note = {"metadata": {"annotations": {"a": "b"}}}
    acts: dict[str, Callable[[], object]] = {
        "list secrets": lambda: own.list(SECRETS, namespace),
        "get a secret": lambda: own.get(SECRETS, namespace, "any"),
        "list config maps": lambda: own.list(CONFIG_MAPS, namespace),
        "delete a VM": lambda: own.delete(VMS, namespace, "db"),
        "patch a VM": lambda: own.patch(VMS, namespace, "db", note),
        "patch a VMI": lambda: own.patch(VMIS, namespace, "db", note),
        "delete a pod": lambda: own.delete(PODS, namespace, "any"),
        "delete an IPAMClaim": lambda: own.delete(claims, namespace, claim["metadata"]["name"]),
        "patch a namespace": lambda: own.patch(NAMESPACES, None, namespace, note),
        "patch a deployment": lambda: own.patch(DEPLOYMENTS, namespace, "any", note),
        "patch a ClusterRole": lambda: own.patch(CLUSTER_ROLES, None, "steward-reconcile", {"rules": []}),
        "get another Lease": lambda: own.get(LEASES, "kv", "another"),
        "create a Lease elsewhere": lambda: own.create(lease(namespace)),
    }
    codes = {}
    for what, act in acts.items():
        with pytest.raises(ApiError) as raised:
            act()
        codes[what] = raised.value.code
    assert codes == dict.fromkeys(acts, 403)


def lease(namespace: str) -> Object:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": namespace, "name": "x"}}


@pytest.mark.parametrize(
    ("role", "resource", "precondition", "says"),
    [
        (
            "steward-reconcile-delete-orphan-ipam-claim",
            "ipamclaims",
            "dry_run_clean",
            'cannot delete resource "ipamclaims"',
        ),
        ("steward-reconcile", "pods", "everything_seen", "can't list pods in all namespaces: 403"),
    ],
)
def test_without_a_permission_nothing_is_written_and_it_says_which_is_missing(
    role: str,
    resource: str,
    precondition: str,
    says: str,
    cluster: ApiServer,
    admin: Client,
    namespace: str,
    tmp_path: Path,
) -> None:
    claim = orphan(admin, namespace)
    with Exporter(cluster.kubeconfig("steward-exporter"), STEADY, graces=0) as exporter:
        exporter.wait_ready()
        made = sidecar(tmp_path, cluster, exporter.url, {"remediations": {"delete_orphan_ipam_claim": AUTO}})
        whole = next(
            each
            for each in granted(admin, made.config)
            if (each["kind"], each["metadata"]["name"]) == ("ClusterRole", role)
        )
        admin.apply(without(whole, resource))
        with made:
            wait_until(lambda: refused(made) is not None, 60, "a repair is refused", every=0.2)
            found = refused(made)
            assert found is not None
            assert found["precondition"] == precondition
            assert says in found["why"]
            assert "`steward reconcile role`" in found["why"]
            assert admin.get(IPAM_CLAIMS, namespace, "db.blue") == claim
            assert made.entries() == []
            admin.apply(whole)
            made.wait_for("verified")
    left = admin.get(IPAM_CLAIMS, namespace, "db.blue")
    assert left["metadata"]["deletionTimestamp"]


def refused(made: Sidecar) -> Object | None:
    found: list[Object] = [
        each["refused"]
        for each in made.plans()
        if each["state"] == "refused" and each["remediation"] == "delete_orphan_ipam_claim"
    ]
    return found[0] if found else None


def without(role: Object, resource: str) -> Object:
    """The role without one resource."""
    rules = [{**rule, "resources": [each for each in rule["resources"] if each != resource]} for rule in role["rules"]]
    return {**role, "rules": [rule for rule in rules if rule["resources"]]}


def test_a_mode_of_one_namespace_is_a_permission_there_alone(
    cluster: ApiServer, admin: Client, namespace: str, tmp_path: Path
) -> None:
    other = f"{namespace}-b"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    kept = orphan(admin, other)
    orphan(admin, namespace)
    remediations = {"delete_orphan_ipam_claim": {"minAge": "0s", "namespaces": {namespace: "auto"}}}
    with Exporter(cluster.kubeconfig("steward-exporter"), STEADY, graces=0) as exporter:
        exporter.wait_ready()
        made = sidecar(tmp_path, cluster, exporter.url, {"remediations": remediations})
        granted(admin, made.config)
        own = cluster.client(ACCOUNT)
        assert allowed(own, "delete", "k8s.cni.cncf.io", "ipamclaims", namespace)
        assert not allowed(own, "delete", "k8s.cni.cncf.io", "ipamclaims", other)
        assert not allowed(own, "create", "", "events", other)
        with made:
            made.wait_for("verified")
            states = {each["namespace"]: each["state"] for each in made.plans()}
            assert states[other] == "planned"
    assert admin.get(IPAM_CLAIMS, namespace, "db.blue")["metadata"]["deletionTimestamp"]
    assert admin.get(IPAM_CLAIMS, other, "db.blue") == kept


def test_with_the_defaults_it_plans_and_may_write_nothing(
    cluster: ApiServer, admin: Client, namespace: str, tmp_path: Path
) -> None:
    claim = orphan(admin, namespace)
    before = len(refusals(cluster))
    with Exporter(cluster.kubeconfig("steward-exporter"), STEADY, graces=0) as exporter:
        exporter.wait_ready()
        made = sidecar(tmp_path, cluster, exporter.url, {})
        granted(admin, made.config)
        with made:
            wait_until(lambda: "planned" in made.states().values(), 60, "a repair is planned", every=0.2)
        for each in (namespace, "kv"):
            assert {verb for verb, *_ in rules(cluster.client(ACCOUNT), each)} == {"get", "list"}
    assert refusals(cluster)[before:] == []
    assert admin.get(IPAM_CLAIMS, namespace, "db.blue") == claim


# -- the deployment


def built(binary: Tools) -> list[Object]:
    """What `kubectl apply -k` would send."""
    command = [str(binary("kubectl")), "kustomize", str(REPO / "deploy/overlays/repairs-one-pod")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def test_the_deployment_is_taken_and_may_write_nothing(
    binary: Tools, cluster: ApiServer, admin: Client, namespace: str, tmp_path: Path
) -> None:
    objects = built(binary)
    for each in sorted(objects, key=lambda each: each["kind"] != "Namespace"):
        admin.apply(each)
    (deployment,) = (each for each in objects if each["kind"] == "Deployment")
    template = deployment["spec"]["template"]
    within = deployment["metadata"]["namespace"]

    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "steward", "namespace": within}}
    admin.create(pod | {"spec": template["spec"]})  # by the Pod Security Standard `restricted`
    for container in range(2):
        lax = deepcopy(template["spec"])
        del lax["containers"][container]["securityContext"]["allowPrivilegeEscalation"]
        with pytest.raises(ApiError, match="violates PodSecurity"):
            admin.create(pod | {"spec": lax})

    account = f"system:serviceaccount:{within}:{template['spec']['serviceAccountName']}"
    own = cluster.client("admin", **{"Impersonate-User": account})
    everywhere = rules(own, namespace)
    asks = {
        ("create", "authentication.k8s.io", "tokenreviews", ()),
        ("create", "authorization.k8s.io", "subjectaccessreviews", ()),
    }  # whose token it was sent, and what they may: nothing is kept of either
    assert {verb for verb, *_ in everywhere - asks} == {"get", "list", "watch"}
    assert asks <= everywhere
    assert not {resource for _, _, resource, _ in everywhere} & {"secrets", "configmaps"}
    assert rules(own, within) == everywhere
    base = load(all_remediations(), None)
    assert isinstance(base, LoadedSidecar)
    wanted = needed(base.config, all_remediations(), all_checks(), ServiceAccount(within))
    assert {each for found in wanted if found["kind"] == "ClusterRole" for each in map_rules(found)} <= everywhere


def test_the_sidecar_of_the_deployment_finds_its_files_and_its_exporter(binary: Tools, tmp_path: Path) -> None:
    objects = built(binary)
    (deployment,) = (each for each in objects if each["kind"] == "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    exporter, sidecar = spec["containers"]
    assert (exporter["name"], sidecar["name"]) == ("exporter", "reconcile")
    mounts = {each["mountPath"]: each["name"] for each in sidecar["volumeMounts"]}
    volumes = {each["name"]: each for each in spec["volumes"]}
    file = Path(sidecar["args"][-1])
    (mounted,) = (each for each in objects if each["kind"] == "ConfigMap" and file.name in each["data"])
    assert volumes[mounts[str(file.parent)]]["configMap"]["name"] == mounted["metadata"]["name"]

    (tmp_path / "reconcile.yaml").write_text(mounted["data"][file.name], encoding="utf-8")
    loaded = load(all_remediations(), tmp_path / "reconcile.yaml")
    assert isinstance(loaded, LoadedSidecar), str(loaded)
    config = loaded.config
    assert config.mode == "plan"
    ledger = volumes[next(name for path, name in mounts.items() if config.ledger.directory.startswith(f"{path}/"))]
    claims = [each["metadata"]["name"] for each in objects if each["kind"] == "PersistentVolumeClaim"]
    assert ledger["persistentVolumeClaim"]["claimName"] in claims
    assert deployment["spec"]["strategy"]["type"] == "Recreate"  # two pods would want one ledger
    ports = {each["containerPort"] for each in sidecar["ports"]}
    assert ports == {int(config.listen.rpartition(":")[2])}
    set_of_exporter = {each["name"]: each["value"] for each in exporter["env"]}
    assert set_of_exporter["STEWARD_RECONCILE__URL"] == f"https://127.0.0.1:{ports.pop()}"
    assert config.source.url == f"https://127.0.0.1:{exporter['ports'][0]['containerPort']}"
    # one certificate for both, and its CA beside it
    assert set_of_exporter["STEWARD_RECONCILE__CA_FILE"] == config.source.ca_file
    assert set_of_exporter["STEWARD_TLS__CERT_FILE"] == config.tls.cert_file
    (certificate,) = spec["initContainers"]
    (made,) = (each["mountPath"] for each in certificate["volumeMounts"])
    assert f"--directory={made}" in certificate["args"]
    files = (config.tls.cert_file, config.tls.key_file, config.source.ca_file)
    assert [str(Path(str(each)).parent) for each in files] == [made] * 3
    assert {mounts[made], *(each["name"] for each in exporter["volumeMounts"])} == {"config", "tls"}

    parser = argparse.ArgumentParser()
    add(parser.add_subparsers())
    assert parser.parse_args(sidecar["args"]).config == file
