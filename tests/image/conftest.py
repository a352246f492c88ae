"""Fixtures of tests of the container image that `make image` wrote, run by an OCI runtime against a real API server.

Without the image, or without the API server's binaries, they fail, with what to run or install. They skip only where
the VM allows no containers.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.apiserver import ApiServer, Setup
from tests.cluster.conftest import Tools, binary
from tests.cluster.custom_resources import crds, install
from tests.cluster.repair_faults import FAULTS, KUBEVIRT
from tests.cluster.stage import Stage
from tests.image.pod import Node, Pod
from tests.image.runtime import Image, why_not
from tests.kubevirt.network import Network
from tests.shared import REPO

__all__ = ["CA", "TWINS", "binary"]

HERE = Path(__file__).parent
FILE = REPO / "dist/kubevirt-steward.oci.tar"
CA = "/run/kubevirt-steward/tls/ca.crt"  # in a pod
TWINS = "twins"  # the namespace of the two VMs

StartPod = Callable[..., Pod]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    reason = why_not() if ours else None
    for item in ours:
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    if not FILE.exists():
        pytest.fail(f"there is no {FILE.relative_to(REPO)}: run `make image`", pytrace=False)
    return Image(FILE, tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="session")
def node(binary: Tools) -> Iterator[Node]:
    """With an API server that has the CRDs, two VMs with one firmware UUID, and whatever `start_pod` applies."""
    with contextlib.ExitStack() as ends:
        network = Network([])
        ends.callback(network.stop)
        network.start()
        server = ApiServer(binary("etcd"), binary("kube-apiserver"), Setup(within=network.within))
        ends.callback(server.stop)
        network.forward(*server.ports)
        server.start()
        admin = server.client()
        install(admin, crds())
        for name in ("kubevirt", TWINS):
            admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        admin.make(KUBEVIRT)
        next(fault for fault in FAULTS if fault.id == "twins").seed(Stage(admin, TWINS))
        yield Node(server, network)


@pytest.fixture(scope="module")
def start_pod(node: Node, image: Image, binary: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartPod]:
    """`start_pod("deploy/base")`: applies what kustomize makes of the folder, and runs the pod of the Deployment."""
    with contextlib.ExitStack() as ends:

        def start(folder: str, uid: int | None = None) -> Pod:
            command: list[str | Path] = [binary("kubectl"), "kustomize", REPO / folder]
            made = subprocess.run(command, check=True, capture_output=True).stdout
            objects = [each for each in yaml.safe_load_all(made) if each]
            for each in sorted(objects, key=lambda each: each["kind"] != "Namespace"):
                node.server.client().apply(each)
            pod = Pod(node, image, objects, tmp_path_factory.mktemp("pod"), uid)
            ends.callback(pod.remove)
            pod.start()
            return pod

        yield start
