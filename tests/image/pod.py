"""Runs the pod of a Deployment as a kubelet does: commands, users, mounts and probes are the manifest's.

Each volume is a folder. What a container has and this does not know is a KeyError: nothing is left out silently.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.cluster.apiserver import ApiServer
from tests.image.runtime import Container, How, Image
from tests.kubevirt.network import Network
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["Answer", "Node", "Pod", "ask"]

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
KNOWN = {
    *("name", "image", "imagePullPolicy", "command", "args", "env", "ports", "resources", "securityContext"),
    *("volumeMounts", "startupProbe", "livenessProbe", "readinessProbe"),
}
ASK = """
import json, ssl, sys, urllib.error, urllib.request
url, ca, token = sys.argv[1:]
context = ssl.create_default_context(cafile=ca) if ca else ssl._create_unverified_context()
request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
try:
    answer = urllib.request.urlopen(request, timeout=30, context=context if url.startswith("https") else None)
except urllib.error.HTTPError as error:
    answer = error
except OSError as error:
    print(json.dumps([0, str(error)]))
    sys.exit()
print(json.dumps([answer.status, answer.read().decode()]))
"""


@dataclass(frozen=True)
class Answer:
    status: int  # 0: there was none, and `text` says why
    text: str


@dataclass(frozen=True)
class Node:
    """Where pods run, one at a time: with an API server, in one network, of which nothing is seen outside."""

    server: ApiServer
    network: Network

    def ask(self, url: str, *, ca: Path | None = None, token: str = "") -> Answer:
        return ask(self.network, url, ca=ca, token=token)


def ask(network: Network, url: str, *, ca: Path | None = None, token: str = "") -> Answer:
    """A GET from within a network; without `ca` the server's certificate is not verified, as by a kubelet."""
    command = [*network.within, sys.executable, "-I", "-c", ASK, url, str(ca or ""), token]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return Answer(*json.loads(done.stdout))


class Pod:
    """One pod. `start` runs the init containers, then starts the others."""

    def __init__(
        self, node: Node, image: Image, objects: Sequence[Object], folder: Path, uid: int | None = None
    ) -> None:
        """`objects` are those of the manifest; `uid` is chosen in place of the manifest's, as OpenShift does it."""
        self.node, self.folder = node, folder
        self._image, self._objects = image, objects
        (deployment,) = (each for each in objects if each["kind"] == "Deployment")
        self.namespace: str = deployment["metadata"]["namespace"]
        self.spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
        self.grace = float(self.spec.get("terminationGracePeriodSeconds", 30))
        context = self.spec.get("securityContext", {})
        manifest = context.get("runAsUser"), context.get("runAsGroup", 0)
        self._user: tuple[int, int] = (uid, 0) if uid else manifest if manifest[0] else _numbers(image.config["User"])
        self._group: int | None = context.get("fsGroup")
        self._volumes = {each["name"]: self._volume(each) for each in self.spec.get("volumes", [])}
        self._account = self._service_account()
        self.containers = {each["name"]: self._container(each) for each in self.spec["containers"]}
        self._first = [self._container(each) for each in self.spec.get("initContainers", [])]

    def start(self) -> None:
        for container in self._first:
            code = container.run()
            assert code == 0, f"{container.name} ended with {code}:\n{container.says()}"
        for name in self.containers:
            assert self.probe(name, "livenessProbe").status == 0, f"another pod has the port of {name}"
        for container in self.containers.values():
            container.start()

    def wait_ready(self) -> None:
        """Until all containers have started, and those are ready of which the manifest says when they are."""
        for name in self.containers:
            wait_until(partial(self._passes, name, "startupProbe"), 120, f"{name} has started", every=0.5)
        for name in self.containers:
            if "readinessProbe" in self._manifest(name):
                wait_until(partial(self._passes, name, "readinessProbe"), 60, f"{name} is ready", every=0.5)

    def _passes(self, name: str, kind: str) -> bool:
        assert self.containers[name].running, f"{name} has ended:\n{self.containers[name].says()}"
        return self.probe(name, kind).status == 200

    def probe(self, name: str, kind: str) -> Answer:
        """Asks what the manifest says: `kind` is startupProbe, livenessProbe or readinessProbe."""
        container = self._manifest(name)
        asked = container[kind]["httpGet"]
        (port,) = (each["containerPort"] for each in container["ports"] if each["name"] == asked["port"])
        return self.node.ask(f"{asked.get('scheme', 'HTTP').lower()}://127.0.0.1:{port}{asked['path']}")

    def url(self, name: str) -> str:
        """Where the first port of a container is."""
        container = self._manifest(name)
        scheme = container["livenessProbe"]["httpGet"].get("scheme", "HTTP").lower()
        return f"{scheme}://localhost:{container['ports'][0]['containerPort']}"

    def file(self, path: str, container: str) -> Path:
        """Where a file of a container's volume is here."""
        for mount in self._manifest(container)["volumeMounts"]:
            if path.startswith(mount["mountPath"]):
                return self._volumes[mount["name"]] / path.removeprefix(mount["mountPath"]).lstrip("/")
        raise LookupError(f"{container} has no volume with {path}")

    def remove(self) -> None:
        for container in (*self._first, *self.containers.values()):
            container.remove()

    def _manifest(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(each for each in self.spec["containers"] if each["name"] == name)
        return found

    def _container(self, manifest: dict[str, Any]) -> Container:
        if unknown := manifest.keys() - KNOWN:
            raise KeyError(f"the container {manifest['name']} has {', '.join(unknown)}, which this can't run")
        context = manifest.get("securityContext", {})
        env = self._env(manifest.get("env", []))
        given = [_expanded(word, env) for word in manifest.get("args", [])]
        volumes = [
            (self._volumes[each["name"]], each["mountPath"], each.get("readOnly", False))
            for each in manifest.get("volumeMounts", [])
        ]
        how = How(
            args=[*manifest.get("command", self._image.config["Entrypoint"]), *given],
            env=env,
            user=self._user,
            groups=[] if self._group is None else [self._group],
            read_only=context.get("readOnlyRootFilesystem", False),
            drops_all=context.get("capabilities", {}).get("drop") == ["ALL"],
            no_new_privileges=not context.get("allowPrivilegeEscalation", True),
            mounts=[(self._account, ACCOUNT, True), *volumes],
            network=self.node.network.namespace,
        )
        return Container(self._image, how, manifest["name"], self.folder)

    def _env(self, rows: Sequence[dict[str, Any]]) -> dict[str, str]:
        server = urlsplit(self.node.server.url)
        env = {"KUBERNETES_SERVICE_HOST": str(server.hostname), "KUBERNETES_SERVICE_PORT": str(server.port)}
        fields = {"metadata.namespace": self.namespace, "metadata.name": "steward-exporter-0"}
        for row in rows:
            if "valueFrom" in row:
                env[row["name"]] = fields[row["valueFrom"]["fieldRef"]["fieldPath"]]
            else:
                env[row["name"]] = _expanded(row["value"], env)
        return env

    def _volume(self, manifest: dict[str, Any]) -> Path:
        folder = self.folder / f"volume-{manifest['name']}"
        folder.mkdir()
        if "configMap" in manifest:
            config_maps = {each["metadata"]["name"]: each for each in self._objects if each["kind"] == "ConfigMap"}
            for file, content in config_maps[manifest["configMap"]["name"]]["data"].items():
                (folder / file).write_text(content, encoding="utf-8")
            return folder
        if "emptyDir" in manifest:
            folder.chmod(0o777)
        elif "persistentVolumeClaim" not in manifest:
            raise KeyError(f"the volume {manifest['name']} is of a kind that this does not know")
        if self._group is not None:
            os.chown(folder, 0, self._group)
            folder.chmod(folder.stat().st_mode | 0o2070)
        return folder

    def _service_account(self) -> Path:
        """The projected volume that every pod has: the token is for the pod's user, or its group, alone."""
        name, folder = self.spec["serviceAccountName"], self.folder / "service-account"
        folder.mkdir()
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{name}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        token = self.node.server.client().connection.request("POST", path, body)["status"]["token"]
        (folder / "token").write_text(token, encoding="utf-8")
        (folder / "token").chmod(0o600 if self._group is None else 0o640)
        os.chown(folder / "token", self._user[0] if self._group is None else 0, self._group or 0)
        (folder / "ca.crt").write_bytes(self.node.server.ca_file.read_bytes())
        (folder / "namespace").write_text(self.namespace, encoding="utf-8")
        return folder


def _numbers(user: str) -> tuple[int, int]:
    uid, gid = user.split(":")
    return int(uid), int(gid)


def _expanded(text: str, env: Mapping[str, str]) -> str:
    return re.sub(r"\$\((\w+)\)", lambda found: env[found[1]], text)
