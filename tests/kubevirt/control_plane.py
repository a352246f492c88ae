"""KubeVirt's own control plane on a real API server, without VMs: nodes and guests are played by `VMs`.

There are etcd, kube-apiserver, kube-controller-manager, virt-operator, virt-api and virt-controller, each the real
program, in a network of their own. virt-operator installs the other two as everywhere; what a kubelet would run in
their pods, and in that of the job in which the operator makes its install strategy, is started here. So webhooks,
subresources, evictions, migrations, owners and the end of namespaces are KubeVirt's and Kubernetes' own.

Not there: virt-handler, guests, consoles, exports, CDI, networks and their controllers (tests/networks has those).
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import trustme

from tests.cluster.apiserver import ApiServer, Setup, write_private
from tests.cluster.client import ApiError, Client
from tests.cluster.custom_resources import crds, install
from tests.cluster.process import Process
from tests.cluster.resources import JOBS, KUBEVIRTS, SECRETS, SERVICE_ACCOUNTS, Resource
from tests.kubevirt.installation import ADDRESSES, IMAGES, NAMESPACE, OPERATOR_IMAGE, VERSION, objects
from tests.kubevirt.network import Network
from tests.kubevirt.vms import VMs
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["SIDECAR", "TOOLS", "ControlPlane"]

TOOLS = (
    *("etcd", "kube-apiserver", "kube-controller-manager"),
    *("virt-operator", "virt-api", "virt-controller", "resource-generator"),
)
CERTIFICATES = ("kubevirt-virt-api-certs", "kubevirt-controller-certs", "kubevirt-virt-handler-certs")
CONTROLLER_MANAGER = "system:kube-controller-manager"
SIDECAR = "system:serviceaccount:kubevirt:steward-reconcile"  # has just what is generated for it
CONTROLLER_MANAGER_PORT = 10_257
# Those of clouds and of networks have nothing to do here.
CONTROLLERS = "*,-node-ipam-controller,-node-route-controller,-service-lb-controller,-cloud-node-lifecycle-controller"
LONG = 86_400  # seconds that a token is good for, which these programs never get a second one of
PATIENCE = 300  # seconds for what takes up to one minute on two cores
# The programs end themselves, to be started again, when they find that the cluster has changed under them.
FOREVER = 'while :; do setpriv --pdeathsig KILL -- "$@"; sleep 0.5; done'


class ControlPlane:
    """`start` returns when KubeVirt is deployed; `stop` ends all and removes the folder, also after half a start."""

    def __init__(self, binary: Callable[[str], Path]) -> None:
        self._binaries = {name: binary(name) for name in TOOLS}
        self._ends = contextlib.ExitStack()
        self.folder = Path(tempfile.mkdtemp(prefix="steward-kubevirt-"))
        self._ends.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.network = Network(ADDRESSES.values())
        self.processes: dict[str, Process] = {}  # by the program's name; those besides the API server

    def start(self) -> None:
        try:
            self._start()
        except Exception as error:
            for log in sorted(self.folder.glob("*.log")):  # the folder will be gone when somebody asks why
                error.add_note(f"the end of {log.name}:\n{log.read_text(encoding='utf-8', errors='replace')[-1500:]}")
            raise

    def _start(self) -> None:
        self._ends.callback(self.network.stop)
        self.network.start()
        self.server = ApiServer(self._binaries["etcd"], self._binaries["kube-apiserver"], self._setup())
        self._ends.callback(self.server.stop)
        self.network.forward(*self.server.ports)
        self.server.start()
        self.admin = self.client()
        self._start_controller_manager()
        self._install_operator()
        self._start_what_it_installs()
        wait_until(lambda: self._phase() == "Deployed", PATIENCE, "KubeVirt is deployed", every=0.2)
        self._wait_served()

    def stop(self) -> None:
        self._ends.close()

    @contextlib.contextmanager
    def without(self, name: str) -> Iterator[None]:
        """Meanwhile this program does not run. Its pod goes on to be ready: nobody probes it."""
        process = self.processes[name]
        process.kill()
        try:
            yield
        finally:
            process.start(lambda: True)
            self._wait_served()

    def client(self, account: str = "admin", **headers: str) -> Client:
        return self.server.client(account, **headers)

    def kubeconfig(self, account: str = "admin") -> Path:
        return self.server.kubeconfig(account)

    def _setup(self) -> Setup:
        """What makes an API server one that others extend: it proves to virt-api who it is, and finds it by itself."""
        front = trustme.CA()
        proxy = front.issue_cert("front-proxy.invalid", common_name="front-proxy-client")
        files = {name: self.folder / name for name in ("front-ca.pem", "front.pem", "front.key")}
        front.cert_pem.write_to_path(files["front-ca.pem"])
        proxy.cert_chain_pems[0].write_to_path(files["front.pem"])
        write_private(files["front.key"], proxy.private_key_pem.bytes().decode())
        flags: tuple[str | Path, ...] = (
            *("--allow-privileged=true", "--enable-aggregator-routing=true"),
            *("--requestheader-client-ca-file", files["front-ca.pem"]),
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            *("--proxy-client-cert-file", files["front.pem"], "--proxy-client-key-file", files["front.key"]),
        )
        return Setup(within=self.network.within, flags=flags, accounts={CONTROLLER_MANAGER: "", SIDECAR: ""})

    def _start_controller_manager(self) -> None:
        config = self.kubeconfig(CONTROLLER_MANAGER)
        command: list[str | Path] = [
            *(self._binaries["kube-controller-manager"], "--kubeconfig", config),
            *("--authentication-kubeconfig", config, "--authorization-kubeconfig", config),
            *("--bind-address=127.0.0.1", f"--secure-port={CONTROLLER_MANAGER_PORT}", "--leader-elect=false"),
            *("--cert-dir", self.folder / "controller-manager", "--use-service-account-credentials=true"),
            *("--service-account-private-key-file", self.server.service_account_key),
            *("--root-ca-file", self.server.ca_file, f"--controllers={CONTROLLERS}"),
            *("--node-monitor-period=1s", "--node-monitor-grace-period=16s"),
        ]
        self._run("kube-controller-manager", command)

    def _install_operator(self) -> None:
        for each in objects(self._binaries["resource-generator"]):
            if each["kind"] == "CustomResourceDefinition":
                install(self.admin, [each])
            else:
                self.admin.create(each)
        self.vms = VMs(self.client, ADDRESSES, self.folder / "VMs.log")
        self._ends.callback(self.vms.stop)
        self.vms.start()
        self._keep("virt-operator", "kubevirt-operator", env={"VIRT_OPERATOR_IMAGE": OPERATOR_IMAGE})
        # The operator thinks for ten seconds first; there is time for the kinds of others.
        install(self.admin, [crd for crd in crds() if not crd["spec"]["group"].endswith("kubevirt.io")])
        self._make_install_strategy()

    def _make_install_strategy(self) -> None:
        """As the pod of the operator's job would."""
        job = wait_until(self._job, PATIENCE, "the operator asks for its install strategy", every=0.2)
        (container,) = job["spec"]["template"]["spec"]["containers"]
        env = [f"{row['name']}={row.get('value', '')}" for row in container["env"]]
        config = self.server.folder / "kubevirt-operator.kubeconfig"
        program = (self._binaries["virt-operator"], "--kubeconfig", config, "--dump-install-strategy")
        command = [*self.network.within, "env", *env, *map(str, program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"virt-operator made no install strategy: {done.stderr[-2000:]}")
        self.admin.delete(JOBS, NAMESPACE, job["metadata"]["name"], propagationPolicy="Background")

    def _job(self) -> Object | None:
        return next(iter(self.admin.list(JOBS, NAMESPACE)["items"]), None)

    def _start_what_it_installs(self) -> None:
        api, controller, handler = map(self._certificate, CERTIFICATES)
        self._keep(
            "virt-api",
            "kubevirt-apiserver",
            *("--console-server-port=8186", "--subresources-only=false"),
            *("--tls-cert-file", api / "tls.crt", "--tls-key-file", api / "tls.key"),
            *("--handler-cert-file", handler / "tls.crt", "--handler-key-file", handler / "tls.key"),
        )
        self._keep(
            "virt-controller",
            "kubevirt-controller",
            *("--launcher-image", f"{IMAGES}/virt-launcher:{VERSION}"),
            *("--exporter-image", f"{IMAGES}/virt-exportserver:{VERSION}"),
            *("--prom-cert-file", controller / "tls.crt", "--prom-key-file", controller / "tls.key"),
            env={"POD_NAME": "virt-controller"},
        )

    def _certificate(self, secret: str) -> Path:
        """The folder that a pod would have this secret of the operator's in."""
        found = wait_until(partial(self.admin.find, SECRETS, NAMESPACE, secret), PATIENCE, f"there is secret {secret}")
        folder = self.folder / secret
        folder.mkdir()
        for name, content in found["data"].items():
            write_private(folder / name, base64.b64decode(content).decode())
        return folder

    def _keep(self, name: str, account: str, *flags: str | Path, env: Mapping[str, str] | None = None) -> None:
        """Runs one of KubeVirt's, as its service account, on its address, again whenever it ends."""
        config = wait_until(partial(self._kubeconfig_of, account), PATIENCE, f"there is service account {account}")
        own = ("--kubeconfig", config, "--listen", ADDRESSES[name], "--port=8443", "-v=2")
        variables = [f"{key}={value}" for key, value in (env or {}).items()]
        command = ["env", *variables, self._binaries[name], *own, *flags]
        self._run(name, ["sh", "-c", FOREVER, "sh", *command])

    def _kubeconfig_of(self, account: str) -> Path | None:
        path = SERVICE_ACCOUNTS.path(NAMESPACE, account, "token")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": LONG}}
        try:
            token = self.admin.connection.request("POST", path, body)["status"]["token"]
        except ApiError as error:
            if error.code == http.client.NOT_FOUND:
                return None
            raise
        return self.server.kubeconfig(account, token)

    def _run(self, name: str, command: Sequence[str | Path]) -> None:
        process = Process(name, [*self.network.within, *command], self.folder / f"{name}.log")
        self.processes[name] = process
        self._ends.callback(process.kill)
        process.start(lambda: True)

    def _wait_served(self) -> None:
        """Until the API server hands requests for subresources on to virt-api, which it finds out by and by."""
        wait_until(self._serves, PATIENCE, "KubeVirt's subresources are served", every=0.2)

    def _serves(self) -> bool:
        try:
            self.admin.connection.request("GET", Resource("subresources.kubevirt.io", "v1", "").root)
        except ApiError as error:
            if error.code in (http.client.NOT_FOUND, http.client.SERVICE_UNAVAILABLE):
                return False
            raise
        return True

    def _phase(self) -> str | None:
        status: Object = self.admin.get(KUBEVIRTS, NAMESPACE, "kubevirt").get("status", {})
        return status.get("phase")
