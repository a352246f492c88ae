"""Exporter and sidecar in two pods, of which only the sidecar's may write: as accounts and processes."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
import yaml

from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import ApiError, Client
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.deployed import NAMESPACE, kustomized
from tests.cluster.resources import EVENTS, IPAM_CLAIMS, LEASES
from tests.cluster.sidecar import steward
from tests.cluster.test_deploy_pods import Deployed
from tests.cluster.test_reconcile_permissions import rules
from tests.cluster.test_repairs import AUTO, HOUR, KUBEVIRT
from tests.cluster.two_pods import TwoPods
from tests.manifests import Object
from tests.shared import REPO
from tests.waiting import wait_until

pytestmark = pytest.mark.long

EXPORTER, SIDECAR = "steward-exporter", "steward-reconcile"
READS = {"get", "list", "watch"}
REVIEWS = {"tokenreviews", "subjectaccessreviews"}
SERVED = ("v1", "apps/v1", "rbac.authorization.k8s.io/v1", "networking.k8s.io/v1")
REFUSED = "no remediation that is enabled there plans it"
SETTINGS: Object = {
    "interval": "1s",
    "verifyAfter": "2s",
    "remediations": {"delete_orphan_ipam_claim": AUTO, "release_ipam_claim": AUTO},
}


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    admin = made.client()
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
    admin.make(KUBEVIRT)
    return made


@pytest.fixture(params=["overlays/repairs", "overlays/openshift-repairs"])
def deployed(request: pytest.FixtureRequest, server: ApiServer, binary: Tools) -> Deployed:
    """Whose objects the API server has, but for custom resources and dashboards."""
    admin = server.client()
    if admin.find(LEASES, NAMESPACE, "kubevirt-steward-reconcile"):  # of another test, whose ledger is not this one's
        admin.delete(LEASES, NAMESPACE, "kubevirt-steward-reconcile")
    objects = kustomized(binary("kubectl"), REPO / "deploy" / request.param)
    for each in sorted(objects, key=lambda each: each["kind"] != "Namespace"):
        if each["apiVersion"] in SERVED and each["metadata"].get("namespace", NAMESPACE) == NAMESPACE:
            admin.apply(each)
    return Deployed(objects)


def granted(admin: Client, config: Path) -> None:
    """Applies the roles and the policy that are printed for a configuration."""
    printed = steward("reconcile", "role", "--config", str(config), "-n", NAMESPACE)
    assert printed.returncode == 0, printed.stderr
    kinds = [each["kind"] for each in yaml.safe_load_all(printed.stdout) if admin.apply(each)]
    assert "ValidatingAdmissionPolicyBinding" in kinds


def test_the_printed_roles_let_only_the_sidecars_account_write(
    server: ApiServer, deployed: Deployed, tmp_path: Path
) -> None:
    file = tmp_path / "reconcile.yaml"
    file.write_text("mode: auto\n", encoding="utf-8")
    granted(server.client(), file)

    def writes(account: str) -> set[str]:
        own = server.client("admin", **{"Impersonate-User": f"system:serviceaccount:{NAMESPACE}:{account}"})
        return {resource for verb, _, resource, _ in rules(own, NAMESPACE) if verb not in READS} - REVIEWS

    accounts = {pod.name: pod.spec["serviceAccountName"] for pod in deployed.pods}
    assert writes(accounts[EXPORTER]) == set()
    assert {"virtualmachines", "ipamclaims", "leases"} <= writes(accounts[SIDECAR])


def test_two_processes_with_two_accounts_repair_what_only_one_of_them_may_write(
    server: ApiServer, deployed: Deployed, tmp_path: Path
) -> None:
    """Each asks the other over TLS with its own token, by the names, files and settings that the overlay renders."""
    admin = server.client()
    namespace = f"test-{uuid.uuid4().hex[:10]}"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    vm = fleet.vm(namespace, "db", {"blue": "blue"})
    vm["metadata"]["uid"] = str(uuid.uuid4())
    admin.make(fleet.claim(vm, f"net-{namespace}", "10.0.0.5/24"))  # its VM is gone
    pods = TwoPods(server, deployed, tmp_path, SETTINGS, ahead=HOUR)
    granted(admin, pods.config)
    own = {name: Client(server.url, server.ca_file, token) for name, token in pods.tokens.items()}
    with own[EXPORTER], own[SIDECAR]:
        assert "cannot patch" in refusal(own[EXPORTER], namespace)
        wait_until(lambda: REFUSED in refusal(own[SIDECAR], namespace), 30, "the policy is in effect", every=0.2)

    with pods:
        assert pods.ask(EXPORTER, "/api/v1/findings")[0] == pods.ask(SIDECAR, "/api/v1/plans")[0] == 401
        pods.wait_until(lambda: pods.events().count("verified") == 2, "the IPAMClaim is deleted and released")
        pods.wait_until(lambda: bool(sidecar_seen(pods)["leading"]), "the exporter hears of the sidecar")
        assert sidecar_seen(pods)["modes"]["release_ipam_claim"] == "auto"
    assert admin.find(IPAM_CLAIMS, namespace, "db.blue") is None
    assert pods.events() == ["intended", "done", "verified"] * 2
    assert {each["reason"] for each in admin.list(EVENTS, namespace)["items"]} == {"Repaired"}


def relabel(client: Client, namespace: str) -> None:
    """A patch of the IPAMClaim that no plan makes, as a dry run."""
    client.connection.request(
        "PATCH",
        IPAM_CLAIMS.path(namespace, "db.blue"),
        {"metadata": {"labels": {"a": "b"}}},
        query={"dryRun": "All"},
        content_type="application/merge-patch+json",
    )


def refusal(client: Client, namespace: str) -> str:
    try:
        relabel(client, namespace)
    except ApiError as error:
        return error.message
    return ""


def sidecar_seen(pods: TwoPods) -> Object:
    """How the sidecar is set up and whether it leads, as the exporter reports it to its own account."""
    status, body = pods.ask(EXPORTER, "/api/v1/findings", pods.tokens[EXPORTER])
    assert status == 200, body
    found: Object = json.loads(body)["reconcile"]
    return found
