"""Exporter and sidecar of an overlay as two processes: what their pods would mount is in a folder for each.

Their settings are those that the overlay renders. Only what has no place here is another: folders, the ports, and the
hosts of URLs, whose names are what the certificates are verified by all the same.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import trustme

from reconcile.ledger import Ledger
from tests.case_files import read_yaml
from tests.cluster.apiserver import ApiServer, write_private
from tests.cluster.deployed import NAMESPACE
from tests.cluster.process import Process, free_ports
from tests.cluster.test_deploy_pods import ACCOUNT, Deployed, Pod
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["TwoPods"]

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
