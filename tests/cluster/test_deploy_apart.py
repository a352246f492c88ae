"""deploy/overlays/repairs-apart: exporter and sidecar in two pods, of which only the sidecar's may ever write."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from reconcile.config_file import Loaded, load
from reconcile.remediations import all_remediations
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.deployed import NAMESPACE, kustomized
from tests.cluster.sidecar import steward
from tests.cluster.test_reconcile_permissions import rules
from tests.manifests import Object
from tests.shared import REPO

PEERS = {"steward-exporter": "exporter", "steward-reconcile": "reconcile"}
READS = {"get", "list", "watch"}
REVIEWS = {"tokenreviews", "subjectaccessreviews"}
SERVED = ("v1", "apps/v1", "rbac.authorization.k8s.io/v1", "networking.k8s.io/v1")


@pytest.fixture(scope="module")
def objects(binary: Tools) -> list[Object]:
    return kustomized(binary("kubectl"), REPO / "deploy/overlays/repairs-apart")


def named(objects: list[Object], kind: str) -> dict[str, Object]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def template(objects: list[Object], name: str) -> Object:
    found: Object = named(objects, "Deployment")[name]["spec"]["template"]
    return found


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer, objects: list[Object]) -> ApiServer:
    made = module_api_server()
    admin = made.client()
    for each in sorted(objects, key=lambda each: each["kind"] != "Namespace"):
        if each["apiVersion"] in SERVED:
            admin.apply(each)
    return made


def test_only_the_sidecars_account_gets_what_is_enabled(
    server: ApiServer, objects: list[Object], tmp_path: Path
) -> None:
    admin = server.client()
    accounts = {name: template(objects, name)["spec"]["serviceAccountName"] for name in PEERS}
    assert len(set(accounts.values())) == 2
    for name in PEERS:  # by the Pod Security Standard `restricted`
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}}
        admin.create(pod | {"spec": template(objects, name)["spec"]})
    file = tmp_path / "reconcile.yaml"
    file.write_text("mode: auto\n", encoding="utf-8")
    printed = steward("reconcile", "role", "--config", str(file), "-n", NAMESPACE)
    for each in yaml.safe_load_all(printed.stdout):
        admin.apply(each)

    def writes(account: str) -> set[str]:
        own = server.client("admin", **{"Impersonate-User": f"system:serviceaccount:{NAMESPACE}:{account}"})
        return {resource for verb, _, resource, _ in rules(own, NAMESPACE) if verb not in READS} - REVIEWS

    assert writes(accounts["steward-exporter"]) == set()
    assert {"virtualmachines", "ipamclaims", "leases"} <= writes(accounts["steward-reconcile"])


def test_they_ask_each_other_by_names_that_their_certificates_have(objects: list[Object], tmp_path: Path) -> None:
    exporter, sidecar = (template(objects, name)["spec"]["containers"][0] for name in PEERS)
    environment = {each["name"]: each["value"] for each in exporter["env"]}
    maps = named(objects, "ConfigMap")
    (data,) = (each["data"]["reconcile.yaml"] for each in maps.values() if "reconcile.yaml" in each["data"])
    file = tmp_path / "reconcile.yaml"
    file.write_text(data, encoding="utf-8")
    loaded = load(all_remediations(), file)
    assert isinstance(loaded, Loaded), str(loaded)
    config = loaded.config
    assert (config.mode, config.insecure) == ("plan", False)

    asked = {environment["STEWARD_RECONCILE__URL"]: sidecar, str(config.source.url): exporter}
    services, certificates = named(objects, "Service"), named(objects, "Certificate")
    for url, container in asked.items():
        host, port = urlsplit(url).hostname, urlsplit(url).port
        assert host is not None
        assert services[host]["spec"]["ports"][0]["port"] == port == container["ports"][0]["containerPort"]
        assert services[host]["spec"]["selector"].items() <= template(objects, host)["metadata"]["labels"].items()
        assert host in certificates[host]["spec"]["dnsNames"]
    assert len({json.dumps(certificates[name]["spec"]["issuerRef"]) for name in PEERS}) == 1
    for container, files in (
        (exporter, (environment["STEWARD_RECONCILE__CA_FILE"],)),
        (sidecar, (config.tls.cert_file, config.tls.key_file, config.source.ca_file, config.ledger.directory)),
    ):
        mounts = [each["mountPath"] for each in container["volumeMounts"]]
        assert all(any(str(each).startswith(f"{path}/") for path in mounts) for each in files)


def test_each_lets_the_other_in_and_may_read_what_it_serves(objects: list[Object]) -> None:
    for name, other in zip(PEERS, reversed(PEERS), strict=True):
        ((rule),) = named(objects, "NetworkPolicy")[name]["spec"]["ingress"]
        assert {"podSelector": {"matchLabels": {"app.kubernetes.io/name": other}}} in rule["from"]
    viewers: set[str] = {
        subject["name"]
        for each in named(objects, "ClusterRoleBinding").values()
        if each["roleRef"]["name"] == "steward-viewer"
        for subject in each["subjects"]
    }
    assert viewers == set(PEERS)
