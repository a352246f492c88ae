"""The controllers of kube-controller-manager that an installation needs: for tests in which a removal ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.apiserver import ApiServer, Setup
from tests.cluster.conftest import Tools
from tests.cluster.process import Process, free_ports

__all__ = ["controlled_api_server"]

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
