"""The controllers of networks with persistent IPs on a real API server: OVN-Kubernetes' cluster manager and KubeVirt's
ipam-extensions, each the real program, with Kubernetes' own garbage collector, end of namespaces and look at nodes.

The cluster manager allocates addresses with nothing but an API server; ipam-extensions has its webhook in the way of
launcher pods. Neither OVN nor KubeVirt is there: VMs, VMIs and launcher pods are written by `Stage`, as KubeVirt does.
`Nodes` give the signs of life that kubelets and virt-handlers do.

ipam-extensions binds its ports on all addresses, so all of it is in a network namespace that ends with the tests.
"""

from __future__ import annotations

import base64
import contextlib
import re
import shutil
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import trustme

from demo.fleet import surroundings as around

from ..cluster.apiserver import ApiServer, Setup, write_private
from ..cluster.client import Client
from ..cluster.custom_resources import crds, install
from ..cluster.process import Process, answers, free_ports
from ..cluster.repair_ground import is_dry
from ..cluster.resources import DEPLOYMENTS, LEASES, MUTATING_WEBHOOKS
from ..kubevirt.network import Network
from ..manifests import Object
from . import binaries
from .nodes import Nodes

__all__ = [
    "HOOK",
    "IPAM_ACCOUNT",
    "IPAM_NAMESPACE",
    "OVN_FLAGS",
    "OVN_NAMESPACE",
    "PERSISTENT",
    "ControlPlane",
    "Controller",
    "Place",
    "Webhook",
]

# One controller of networks: a process, and the Deployment that the cluster would show of it.
#
# Nothing schedules or runs pods here, so the Deployment's status is written as its kubelet and its controller would:
# ready from when the process answers, not ready from when it was ended.


@dataclass(frozen=True)
class Place:
    """Where it is in the cluster, and where its log is."""

    namespace: str
    deployment: str
    log: Path


class Controller:
    def __init__(self, client: Client, place: Place, command: Callable[[Sequence[str]], Sequence[str | Path]]) -> None:
        """`command` makes the command of more flags."""
        self._client, self._place, self._command = client, place, command
        self._process: Process | None = None
        self._read = 0

    def start(self, ready: Callable[[], bool], *flags: str, timeout: float = 180) -> None:
        """Returns when it is ready. RuntimeError with the end of its log if it ends before, or is not in time."""
        self._declare(flags)
        self._read = self._place.log.stat().st_size if self._place.log.exists() else 0
        self._process = Process(self._place.deployment, self._command(flags), self._place.log)
        self._process.start(ready, timeout)
        self._report(ready=True)

    def stop(self) -> None:
        """As a rollout ends it."""
        if self._process is not None:
            self._process.stop()
        self._report(ready=False)

    def uninstall(self) -> None:
        """Its Deployment goes; the next start makes it again."""
        self._client.remove(DEPLOYMENTS, self._place.namespace, self._place.deployment)

    def kill(self) -> None:
        """Without anything that the cluster would show of it: what a test ends with."""
        if self._process is not None:
            self._process.kill()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    def said(self) -> str:
        """Its log since its last start."""
        with self._place.log.open("rb") as file:
            file.seek(self._read)
            return file.read().decode("utf-8", "replace")

    def _declare(self, flags: Sequence[str]) -> None:
        made = around.deployment(self._place.namespace, self._place.deployment, ready=0)
        made["spec"]["template"]["spec"]["containers"][0]["args"] = list(flags)
        found = self._client.find(DEPLOYMENTS, self._place.namespace, self._place.deployment)
        if found is None:
            self._client.make(made)
        else:
            self._client.update({**found, "spec": made["spec"]})

    def _report(self, *, ready: bool) -> None:
        found: Object = self._client.get(DEPLOYMENTS, self._place.namespace, self._place.deployment)
        count, now = int(ready), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {"type": "Available", "status": str(ready), "lastTransitionTime": now, "lastUpdateTime": now}
        status = {"replicas": 1, "readyReplicas": count, "availableReplicas": count, "conditions": [condition]}
        self._client.update_status({**found, "status": status})


# The webhook of ipam-extensions: its certificate, and its registration as the manifests and cert-manager write it.

HOOK = "kubevirt-ipam-controller-mutating-webhook-configuration"
URL = "https://127.0.0.1:9443/mutate-v1-pod"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}


class Webhook:
    def __init__(self, folder: Path) -> None:
        """`folder` is made, with what the controller serves by."""
        self.folder = folder
        folder.mkdir()
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1")
        issued.cert_chain_pems[0].write_to_path(folder / "tls.crt")
        write_private(folder / "tls.key", issued.private_key_pem.bytes().decode())
        self._ca = base64.b64encode(authority.cert_pem.bytes()).decode()

    def registered(self, *, trusted: bool) -> Object:
        """Not `trusted`, as if nothing had put the CA's certificate into it."""
        webhook = {
            "name": "ipam-claims.k8s.cni.cncf.io",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": URL} | ({"caBundle": self._ca} if trusted else {}),
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "objectSelector": {"matchLabels": {"kubevirt.io": "virt-launcher"}},
            "rules": [RULE],
            "sideEffects": "None",
        }
        kind = {"apiVersion": MUTATING_WEBHOOKS.api_version, "kind": "MutatingWebhookConfiguration"}
        return {**kind, "metadata": {"name": HOOK}, "webhooks": [webhook]}


TOOLS = ("etcd", "kube-apiserver", "kube-controller-manager")
CONTROLLER_MANAGER = "system:kube-controller-manager"
OVN_NAMESPACE, IPAM_NAMESPACE = "ovn-kubernetes", "kubevirt-ipam-controller-system"
IPAM_ACCOUNT = f"system:serviceaccount:{IPAM_NAMESPACE}:kubevirt-ipam-controller-manager"
OVN_ACCOUNT = f"system:serviceaccount:{OVN_NAMESPACE}:ovnkube-cluster-manager"
CONTROLLERS = "garbage-collector-controller,namespace-controller,node-lifecycle-controller,taint-eviction-controller"
PERSISTENT = "--enable-persistent-ips"
OVN_FLAGS = ("--enable-multi-network", "--enable-network-segmentation")
READY = re.compile(r"^ovnkube_clustermanager_ready_duration_seconds (?!0$)", re.MULTILINE)
# As the manifests of ipam-extensions grant it: it can't delete a claim.
IPAM_ROLE: list[Object] = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    {
        "apiGroups": ["kubevirt.io"],
        "resources": ["virtualmachines", "virtualmachineinstances"],
        "verbs": ["get", "list", "watch"],
    },
    {
        "apiGroups": ["kubevirt.io"],
        "resources": ["virtualmachines/finalizers", "virtualmachineinstances/finalizers"],
        "verbs": ["update"],
    },
    {
        "apiGroups": ["k8s.cni.cncf.io"],
        "resources": ["ipamclaims", "network-attachment-definitions"],
        "verbs": ["get", "list", "watch"],
    },
    {"apiGroups": ["k8s.cni.cncf.io"], "resources": ["ipamclaims"], "verbs": ["create", "update"]},
]


class ControlPlane:
    """`start` returns when both controllers are ready; `stop` ends all and removes the folder, also after half a start.

    `ovn` and `ipam` are the controllers, which tests stop and start.
    """

    def __init__(self, binary: Callable[[str], Path]) -> None:
        self._binaries = {name: binary(name) for name in TOOLS}
        self._ends = contextlib.ExitStack()
        self.folder = Path(tempfile.mkdtemp(prefix="steward-networks-"))
        self._ends.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self._network = Network(())
        self._webhook = Webhook(self.folder / "webhook")
        (self._ovn_port,) = free_ports(1)
        (self._health_port,) = free_ports(1)

    def start(self) -> None:
        self._ends.callback(self._network.stop)
        self._network.start()
        accounts = {CONTROLLER_MANAGER: "", IPAM_ACCOUNT: "", OVN_ACCOUNT: "system:masters"}
        flags = ("--disable-admission-plugins", "ServiceAccount")
        setup = Setup(within=self._network.within, flags=flags, accounts=accounts)
        self.server = ApiServer(self._binaries["etcd"], self._binaries["kube-apiserver"], setup)
        self._ends.callback(self.server.stop)
        self._network.forward(*self.server.ports, self._ovn_port, self._health_port)
        self.server.start()
        self.admin: Client = self.server.client()
        install(self.admin, crds())
        self._start_controller_manager()
        self._make_ground()
        self.ovn = Controller(
            self.admin, Place(OVN_NAMESPACE, "ovnkube-control-plane", self.folder / "ovnkube.log"), self._ovn_command
        )
        self.ipam = Controller(
            self.admin,
            Place(IPAM_NAMESPACE, "kubevirt-ipam-controller-manager", self.folder / "ipam-controller.log"),
            self._ipam_command,
        )
        self._ends.callback(self.ovn.kill)
        self._ends.callback(self.ipam.kill)
        self.start_ipam()
        self.start_ovn()

    def stop(self) -> None:
        self._ends.close()

    def start_ovn(self, *flags: str, timeout: float = 180) -> None:
        """Without `flags` as a cluster with persistent IPs has it. RuntimeError if it ends before it is ready."""
        self._free_lease()
        self.ovn.start(self._ovn_ready, *(flags or (*OVN_FLAGS, PERSISTENT)), timeout=timeout)

    def restart_ovn(self, *flags: str) -> None:
        self.ovn.stop()
        self.start_ovn(*flags)

    def start_ipam(self) -> None:
        self.ipam.start(lambda: answers(f"http://127.0.0.1:{self._health_port}/readyz"))
        self.hook()

    @contextlib.contextmanager
    def without_garbage_collection(self) -> Iterator[None]:
        """Meanwhile what has lost its owner stays, and so do namespaces in deletion. Nodes stay what they are."""
        self._collector.kill()
        try:
            yield
        finally:
            self._collector.start(lambda: True)

    @contextlib.contextmanager
    def without_ipam(self, *, installed: bool = True) -> Iterator[None]:
        """Meanwhile ipam-extensions sees nothing and has no webhook; its Deployment is not ready, or gone."""
        self.ipam.stop()
        self.unhook()
        if not installed:
            self.ipam.uninstall()
        try:
            yield
        finally:
            self.start_ipam()

    def heal(self) -> None:
        """Starts what does not run."""
        if not self.ipam.running:
            self.start_ipam()
        if not self.ovn.running:
            self.start_ovn()
        if self.admin.find(MUTATING_WEBHOOKS, None, HOOK) is None:
            self.hook()

    def hook(self) -> None:
        """Registers the webhook, as the manifests of ipam-extensions and cert-manager do."""
        self.admin.apply(self._webhook.registered(trusted=True))

    def distrust(self) -> None:
        """As if nothing had put the CA's certificate into its registration."""
        self.unhook()
        self.admin.apply(self._webhook.registered(trusted=False))

    def unhook(self) -> None:
        self.admin.remove(MUTATING_WEBHOOKS, None, HOOK)

    def writers(self, plural: str, name: str, namespace: str) -> list[str]:
        """Who wrote to an object, or deleted it, as the audit log has it, the oldest first; dry runs are left out."""
        wanted = {"resource": plural, "name": name, "namespace": namespace}
        return [
            str(each["user"]["username"])
            for each in self.server.audit_events()
            if each["verb"] in ("create", "update", "patch", "delete")
            and wanted.items() <= (each.get("objectRef") or {}).items()
            and each["responseStatus"]["code"] < 300
            and not is_dry(each)
        ]

    def _ovn_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ovn_port}/metrics", timeout=5) as answer:
                return bool(READY.search(answer.read().decode()))
        except OSError:
            return False

    def _ovn_command(self, flags: Sequence[str]) -> Sequence[str | Path]:
        return [
            *self._network.within,
            *(binaries.ovnkube(), "--init-cluster-manager", "networks"),
            *("--k8s-kubeconfig", self.server.kubeconfig(OVN_ACCOUNT)),
            *flags,
            *("--cluster-subnets", "10.128.0.0/14/23", "--k8s-service-cidrs", "10.96.0.0/16"),
            *("--metrics-bind-address", f"127.0.0.1:{self._ovn_port}", "--loglevel", "5"),
        ]

    def _ipam_command(self, flags: Sequence[str]) -> Sequence[str | Path]:
        config = self.server.kubeconfig(IPAM_ACCOUNT)
        return [
            *self._network.within,
            *("env", f"KUBECONFIG={config}", binaries.ipam_controller()),
            *("--certificates-dir", self._webhook.folder),
            *("--health-probe-bind-address", f"127.0.0.1:{self._health_port}", *flags),
        ]

    def _start_controller_manager(self) -> None:
        config, (port,) = self.server.kubeconfig(CONTROLLER_MANAGER), free_ports(1)
        self.admin.apply(_granted(CONTROLLER_MANAGER, "cluster-admin"))
        command: list[str | Path] = [
            *self._network.within,
            *(self._binaries["kube-controller-manager"], "--kubeconfig", config),
            *("--authentication-kubeconfig", config, "--authorization-kubeconfig", config),
            *("--bind-address=127.0.0.1", f"--secure-port={port}", "--leader-elect=false"),
            *("--cert-dir", self.folder / "controller-manager", f"--controllers={CONTROLLERS}"),
        ]
        self._collector = Process("kube-controller-manager", command, self.folder / "kube-controller-manager.log")
        self._ends.callback(self._collector.kill)
        self._collector.start(lambda: True)

    def _make_ground(self) -> None:
        for name in (OVN_NAMESPACE, IPAM_NAMESPACE):
            self.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        nodes = Nodes(self.server.client, self.folder / "nodes.log")
        self._ends.callback(nodes.stop)
        nodes.start()
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
        name = "kubevirt-ipam-controller-manager-role"
        self.admin.apply({**role, "metadata": {"name": name}, "rules": IPAM_ROLE})
        self.admin.apply(_granted(IPAM_ACCOUNT, name))

    def _free_lease(self) -> None:
        """Spares the wait for one that was killed while it led."""
        self.admin.remove(LEASES, OVN_NAMESPACE, "ovn-kubernetes-master")


def _granted(user: str, role: str) -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"networks-{role}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
