"""The command line at a real API server, with credentials that are worth little or nothing: one sentence, at once."""

from __future__ import annotations

import subprocess

import pytest

from tests.cluster.accounts import account
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import grant
from tests.cluster.sidecar import steward


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    grant(made.client())
    return made


def check(server: ApiServer, name: str, *more: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
    return steward("check", "--kubeconfig", str(server.kubeconfig(name, token)), *more)


def test_a_token_that_has_expired(server: ApiServer) -> None:
    done = check(server, "expired", token="of-yesterday")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"steward: {server.url} does not accept your credentials (401 Unauthorized): they have expired, or are for "
        "another cluster; log in again, and look with `kubectl auth whoami`\n"
    )


def test_who_may_list_nothing(server: ApiServer) -> None:
    nobody = account(server.client())
    done = check(server, "nobody", token=nobody.token)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"steward: {server.url} lets you list nothing of what is looked at, not even virtualmachines.kubevirt.io in "
        "all namespaces; whoever administers the cluster can bind you to the ClusterRole of the steward, or ask the "
        "one that runs there with --exporter\n"
    )


def test_a_namespace_that_is_not_there(server: ApiServer) -> None:
    done = check(server, "steward-exporter", "-n", "defualt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "steward: no namespace is called 'defualt'; did you mean default?\n"
