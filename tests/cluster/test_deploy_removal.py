"""What is left of a steward that was installed and removed as docs/install.md says: nothing, on a real API server."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from exporter.facts.drain_stop import STOPPED_FOR_DRAIN
from reconcile.plan.annotations import APPROVED_PLAN, PAUSED, RESUMED

from ..manifests import Object, load_all
from ..shared import REPO
from ..tools.crds import published
from ..waiting import wait_until
from . import fleet
from .apiserver import ApiServer, Setup
from .client import Client
from .conftest import Tools
from .custom_resources import crds, install
from .deployed import CHART, NAMESPACE, VARIANTS
from .process import Process, free_ports
from .resources import SECRETS, Resource
from .shell import Shell

__all__ = ["controlled_api_server"]

# The controllers of kube-controller-manager that an installation needs: for tests in which a removal ends.

_ACCOUNT = "system:kube-controller-manager"
_CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "persistentvolumeclaim-protection-controller",
)


@contextlib.contextmanager
def controlled_api_server(binary: Tools, folder: Path) -> Iterator[ApiServer]:
    """An API server with them: namespaces are deleted to their end, and Secrets for tokens are filled."""
    flags = ("--disable-admission-plugins", "ServiceAccount")
    server = ApiServer(
        binary("etcd"), binary("kube-apiserver"), Setup(flags=flags, accounts={_ACCOUNT: "system:masters"})
    )
    with contextlib.ExitStack() as ends:
        ends.callback(server.stop)
        server.start()
        config, (port,) = server.kubeconfig(_ACCOUNT), free_ports(1)
        command: list[str | Path] = [
            *(binary("kube-controller-manager"), "--kubeconfig", config),
            *("--authentication-kubeconfig", config, "--authorization-kubeconfig", config),
            *("--bind-address=127.0.0.1", f"--secure-port={port}", "--leader-elect=false"),
            *("--cert-dir", folder / "controller-manager", f"--controllers={','.join(_CONTROLLERS)}"),
            *("--service-account-private-key-file", server.service_account_key, "--root-ca-file", server.ca_file),
        ]
        manager = Process("kube-controller-manager", command, folder / "kube-controller-manager.log")
        ends.callback(manager.kill)
        manager.start(lambda: True)
        yield server


pytestmark = pytest.mark.long
CERT_MANAGER = Path(__file__).parent / "cert_manager_crds.yaml"
INSTALL = REPO / "docs/install.md"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
OTHERS = ("ingress", "openshift-config-managed", "shop")
UNINTERESTING = ("events", "events.events.k8s.io", "componentstatuses", "leases.coordination.k8s.io")
PREFIX = "steward.kubevirt-steward.io/"
NOTED = ("nudged-at", "stop-allowed", "guard-allowed", "new-uuid-allowed")
ANNOTATIONS = (PAUSED, RESUMED, APPROVED_PLAN, *(f"{PREFIX}{each}" for each in NOTED))
WITH_HELM = ("overlays/prometheus-operator", "overlays/repairs-one-pod", "overlays/openshift-user")
Inventory = dict[tuple[str, str, str], tuple[str, str]]


def some(variants: Sequence[str], one: str) -> list[ParameterSet]:
    """All of them; those but for one are left to `make test-deploy`."""
    assert one in variants
    return [pytest.param(each, id=each, marks=[] if each == one else [pytest.mark.tier]) for each in variants]


@pytest.fixture(scope="module")
def server(binary: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with controlled_api_server(binary, tmp_path_factory.mktemp("controllers")) as made:
        admin = made.client()
        install(admin, [*crds(), *published("prometheus-operator"), *load_all(CERT_MANAGER)])
        for name in OTHERS:
            admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        vm = admin.create(fleet.vm("shop", "db", {"blue": "blue"}))
        admin.make(fleet.claim(vm, "net", "10.0.0.5/24"))  # whose owner is there, or it would be deleted
        yield made


@pytest.fixture
def shell(server: ApiServer, binary: Tools, tmp_path: Path) -> Shell:
    made = Shell(binary("kubectl"), server, [sys.executable, "-m", "exporter"], tmp_path)
    (tmp_path / ".bin/helm").symlink_to(binary("helm"))
    (tmp_path / "deploy").symlink_to(REPO / "deploy")
    (tmp_path / "reconcile.yaml").write_text("mode: auto\n", encoding="utf-8")
    return made


def run(shell: Shell, block: str) -> str:
    done = shell(f"set -e -o pipefail\n{block}")
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    return done.stdout


def commands(heading: str) -> list[str]:
    """The blocks of a section of docs/install.md."""
    section = INSTALL.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^```sh[^\n]*\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def inventory(shell: Shell) -> Inventory:
    """Every object that there is, with its UID, its labels and annotations."""
    kinds = run(shell, "kubectl api-resources --verbs=list,delete -o name").split()
    asked = ",".join(kind for kind in kinds if kind not in UNINTERESTING)
    fields = "{.kind}|{.metadata.namespace}|{.metadata.name}|{.metadata.uid}|{.metadata.labels}{.metadata.annotations}"
    said = run(shell, f"kubectl get {asked} -A -o jsonpath='{{range .items[*]}}{fields}{{\"\\n\"}}{{end}}'")
    rows = (line.split("|", 4) for line in said.splitlines())
    return {(kind, namespace, name): (uid, meta) for kind, namespace, name, uid, meta in rows}


def left(shell: Shell, before: Inventory) -> list[str]:
    now = inventory(shell)
    return [
        *(f"{key} is left" for key in now.keys() - before.keys()),
        *(f"{key} is gone" for key in before.keys() - now.keys()),
        *(f"{key} is another" for key in before.keys() & now.keys() if before[key] != now[key]),
    ]


def by_others(admin: Client, objects: Inventory) -> None:
    """What cert-manager and the service CA make of what is asked of them, and what the sidecar has for itself."""
    for kind, namespace, name in objects:
        if kind == "Certificate":
            admin.apply(secret(namespace, name if name == "steward-ca" else f"{name}-tls"))
    for each in admin.list(Resource("", "v1", "services"), NAMESPACE)["items"]:
        wanted = each["metadata"].get("annotations", {}).get("service.beta.openshift.io/serving-cert-secret-name")
        if wanted:
            made = secret(NAMESPACE, wanted)
            owner = {
                "apiVersion": "v1",
                "kind": "Service",
                "name": each["metadata"]["name"],
                "uid": each["metadata"]["uid"],
            }
            admin.apply({**made, "metadata": {**made["metadata"], "ownerReferences": [owner]}})


def secret(namespace: str, name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}}


@pytest.mark.parametrize("variant", some([*VARIANTS, "overlays/tenant"], "overlays/repairs"))
def test_nothing_is_left_of_what_kustomize_applied(variant: str, server: ApiServer, shell: Shell) -> None:
    before = inventory(shell)
    run(shell, f"kubectl apply --server-side -k deploy/{variant}")
    there = inventory(shell)
    assert len(there) > len(before)
    if variant != "overlays/tenant":
        by_others(server.client(), there)
        for block in granted("repairs" in variant):
            run(shell, block)
    taken_off, _, first, *others = commands("Removal")[:-1]
    take_off(shell, taken_off, variant)
    run(shell, first.replace("deploy/overlays/openshift", f"deploy/{variant}"))
    for block in others:
        run(shell, block)
    wait_until(lambda: not left(shell, before), 60, "all is gone", every=1)


def take_off(shell: Shell, block: str, variant: str) -> None:
    """What repairs left, before the sidecar's namespace goes."""
    if "repairs" in variant:
        said = run(shell, block.replace("clean --all", "clean --all --yes --ledger ledger"))
        assert said.count(": removed, attempt ") == 3


def granted(repairs: bool) -> Iterator[str]:
    """What docs/install.md and docs/quickstart.md have people grant, and the sidecar's permissions."""
    text = INSTALL.read_text(encoding="utf-8") + (REPO / "docs/quickstart.md").read_text(encoding="utf-8")
    for begin in (
        "kubectl create clusterrolebinding ",
        "kubectl label namespace ingress ",
        "kubectl -n kubevirt-steward create s",
    ):
        lines = re.findall(rf"^{begin}.*?(?=  +#|$)", text, re.MULTILINE)
        assert lines, begin
        yield from lines
    if repairs:
        yield "steward reconcile role --config reconcile.yaml -n kubevirt-steward | kubectl apply -f -"
        for key in ANNOTATIONS:
            value = f"'{'0' * 16} by admin'" if key == APPROVED_PLAN else "x"
            yield f"kubectl annotate virtualmachine,ipamclaim -n shop --all {key}={value}"
        yield f"kubectl annotate ipamclaim -n shop --all {STOPPED_FOR_DRAIN}=x"  # a VM that is off keeps it
        yield f"kubectl annotate namespace shop {PAUSED}=x {RESUMED}=x"


@pytest.mark.parametrize("variant", some(WITH_HELM, "overlays/prometheus-operator"))
def test_nothing_is_left_of_what_helm_installed(variant: str, server: ApiServer, shell: Shell, tmp_path: Path) -> None:
    before = inventory(shell)
    (tmp_path / "values.json").write_text(json.dumps(VARIANTS[variant]), encoding="utf-8")
    run(shell, f"kubectl create namespace {NAMESPACE}")
    run(shell, f"helm install steward {CHART} -n {NAMESPACE} --values values.json")
    by_others(server.client(), inventory(shell))
    for block in granted("repairs" in variant):
        run(shell, block)
    taken_off, with_helm, _, *others = commands("Removal")[:-1]  # the last is for OLM
    take_off(shell, taken_off, variant)
    run(shell, with_helm)
    for block in others:
        run(shell, block)
    wait_until(lambda: not left(shell, before), 60, "all is gone", every=1)


@pytest.mark.tier
def test_a_token_is_valid_as_long_as_its_secret_is_there(server: ApiServer, shell: Shell) -> None:
    """Prometheus has one that nobody renews; another one comes by the commands of docs/install.md."""
    admin = server.client()
    run(shell, "kubectl apply --server-side -k deploy/overlays/prometheus-operator")

    def token() -> str:
        found = admin.find(SECRETS, NAMESPACE, "steward-scraper-token") or {}
        return base64.b64decode((found.get("data") or {}).get("token", "")).decode()

    def whose(text: str) -> str:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": text}}
        status = admin.connection.request("POST", TOKEN_REVIEWS, body)["status"]
        name: str = status.get("user", {}).get("username", "")
        return name

    wait_until(lambda: bool(token()), 30, "the Secret is filled")
    first, account = token(), f"system:serviceaccount:{NAMESPACE}:steward-scraper"
    assert whose(first) == account
    (block,) = (each for each in commands("Who reaches it, and who sees what") if "steward-scraper-token" in each)
    run(shell, block.replace("deploy/overlays/openshift", "deploy/overlays/prometheus-operator"))
    wait_until(lambda: token() not in ("", first), 30, "there is another token")
    assert whose(token()) == account
    wait_until(lambda: whose(first) == "", 30, "the first one is worth nothing")
    run(shell, "kubectl delete --ignore-not-found -k deploy/overlays/prometheus-operator")
