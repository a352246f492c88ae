"""Exporter and sidecar in two pods, of which only the sidecar's may write: as accounts and processes."""

from __future__ import annotations

import json
import os
import ssl
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme
import yaml

from reconcile.ledger import Ledger

from ..case_files import read_yaml
from ..manifests import Object
from ..shared import REPO
from ..waiting import wait_until
from . import fleet
from .apiserver import ApiServer, write_private
from .client import ApiError, Client
from .conftest import MakeApiServer, Tools
from .deployed import NAMESPACE, kustomized
from .process import Process, free_ports
from .resources import EVENTS, IPAM_CLAIMS, LEASES
from .sidecar import steward
from .test_deploy_pods import ACCOUNT, Deployed, Pod
from .test_reconcile_permissions import rules
from .test_repairs import AUTO, HOUR, KUBEVIRT

__all__ = ["TwoPods"]

# Exporter and sidecar of an overlay as two processes: what their pods would mount is in a folder for each.
#
# Their settings are those that the overlay renders. Only what has no place here is another: folders, the ports, and the
# hosts of URLs, whose names are what the certificates are verified by all the same.

TLS, VOLUME = "/run/kubevirt-steward/tls", "/var/lib/kubevirt-steward"


class TwoPods:
    """`with` starts both, and ends them. `settings` are put over the sidecar's, whose clock is `ahead`."""

    def __init__(self, server: ApiServer, deployed: Deployed, folder: Path, settings: Object, *, ahead: float) -> None:
        assert deployed.sidecar is not None
        self._authority, self._ends = trustme.CA(), ExitStack()
        self._deployed, self._server, self._folder = deployed, server, folder
        self._ports = dict(zip((deployed.exporter.name, deployed.sidecar.name), free_ports(2), strict=True))
        self.tokens = {name: self._mounted(pod) for name, pod in self._pods.items()}
        environment = {each["name"]: each["value"] for each in deployed.exporter.containers["exporter"]["env"]}
        self._environment = self._exporters(environment)
        self.config = folder / deployed.sidecar.name / "reconcile.yaml"
        self._write_config(settings)
        self._ledger = self._here(deployed.sidecar.name, f"{VOLUME}/ledger")
        command: list[str | Path] = [sys.executable, "-m", "tests.cluster.exporter_process"]
        self._exporter = Process(
            "exporter",
            [
                "env",
                *(f"{name}={value}" for name, value in self._environment.items()),
                *command,
                self._kubeconfig(deployed.exporter.name),
            ],
            folder / "exporter.log",
        )
        command = [sys.executable, "-m", "tests.cluster.sidecar_process", self.config]
        self._sidecar = Process(
            "sidecar",
            [*command, self._kubeconfig(deployed.sidecar.name), "--ahead", str(ahead)],
            folder / "sidecar.log",
        )

    @property
    def _pods(self) -> dict[str, Pod]:
        return {pod.name: pod for pod in self._deployed.pods}

    def __enter__(self) -> TwoPods:
        for name, process in zip(self._ports, (self._exporter, self._sidecar), strict=True):
            self._ends.callback(process.stop)
            process.start(lambda name=name: self.ask(name, "/healthz")[0] == 200, 60)  # type: ignore[misc]
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def ask(self, name: str, path: str, token: str = "") -> tuple[int, str]:
        """What a pod answers, 0 if it does not; by a certificate of the CA, whatever it is for."""
        context = ssl.create_default_context()
        context.check_hostname = False
        self._authority.configure_trust(context)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"https://127.0.0.1:{self._ports[name]}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30, context=context) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def wait_until(self, predicate: Callable[[], bool], what: str) -> None:
        """Raises TimeoutError, with the end of both logs, where it does not come within 90 s."""
        try:
            wait_until(predicate, 90, what, every=0.2)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; {self}") from error

    def events(self) -> list[str]:
        return [entry.event.value for entry in Ledger.read(self._ledger)]

    def __str__(self) -> str:
        logs = (self._folder / f"{name}.log" for name in ("exporter", "sidecar"))
        return "\n".join(f"{log.name}:\n{log.read_text('utf-8', 'replace')[-3000:]}" for log in logs if log.exists())

    # -- what the pods mount

    def _here(self, name: str, path: str) -> Path:
        """Where a path of a pod is here."""
        return self._folder / name / path.lstrip("/")

    def _mounted(self, pod: Pod) -> str:
        """Writes the Secret with the certificate, and the ServiceAccount's volume; its token."""
        tls, account = self._here(pod.name, TLS), self._here(pod.name, ACCOUNT)
        for path in (tls, account, self._here(pod.name, f"{VOLUME}/ledger")):
            path.mkdir(parents=True)
        made = self._authority.issue_cert(*pod.served_names())
        (tls / "tls.crt").write_bytes(made.cert_chain_pems[0].bytes())
        write_private(tls / "tls.key", made.private_key_pem.bytes().decode())
        by_cert_manager = bool(self._deployed.named("Certificate"))
        ca = tls / "ca.crt" if by_cert_manager else account / "service-ca.crt"
        ca.write_bytes(self._authority.cert_pem.bytes())
        name = pod.spec["serviceAccountName"]
        asked = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token: str = self._server.client().connection.request("POST", asked, request)["status"]["token"]
        write_private(account / "token", token)
        return token

    def _kubeconfig(self, name: str) -> Path:
        return self._server.kubeconfig(name, self.tokens[name])

    def _reached(self, url: str) -> tuple[str, str]:
        """The URL of the process behind a URL, and what its certificate is verified by without a name of its own."""
        name = self._deployed.answering(url).name
        return f"https://127.0.0.1:{self._ports[name]}", str(urlsplit(url).hostname)

    def _exporters(self, rendered: dict[str, str]) -> dict[str, str]:
        name = self._deployed.exporter.name
        file = self._folder / name / "config.yaml"
        file.write_text(self._deployed.exporter.mounted("exporter", rendered["STEWARD_CONFIG"]), encoding="utf-8")
        own = {key: self._moved(name, value) for key, value in rendered.items()}
        url, host = self._reached(rendered["STEWARD_RECONCILE__URL"])
        return {
            **os.environ,
            "STEWARD_RECONCILE__SERVER_NAME": host,
            **own,
            "STEWARD_RECONCILE__URL": url,
            "STEWARD_CONFIG": str(file),
            "STEWARD_LISTEN": f"127.0.0.1:{self._ports[name]}",
        }

    def _write_config(self, settings: Object) -> None:
        pod = self._deployed.sidecar
        assert pod is not None
        text = pod.mounted("reconcile", pod.containers["reconcile"]["args"][-1])
        config: dict[str, Any] = read_yaml(self._moved(pod.name, text))
        url, host = self._reached(config["source"]["url"])
        config |= {
            "listen": f"127.0.0.1:{self._ports[pod.name]}",
            "source": {"serverName": host, **config["source"], "url": url},
            "ledger": {"directory": str(self._here(pod.name, f"{VOLUME}/ledger"))},
            "lease": {"namespace": NAMESPACE, "duration": "15s"},
            **settings,
        }
        self.config.write_text(json.dumps(config), encoding="utf-8")  # which is YAML too

    def _moved(self, name: str, text: str) -> str:
        for path in (TLS, ACCOUNT):
            text = text.replace(path, str(self._here(name, path)))
        return text


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
