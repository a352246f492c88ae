"""The command line at a real API server, with credentials that are worth little or nothing: one sentence, at once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.serve.access.decisions import Times
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import Exporter, grant, grant_access
from tests.cluster.resources import VMS
from tests.cluster.sidecar import steward

from .client import Account, account

NS = "shop"
PATIENCE = 180  # seconds: a start, and a list that comes every half a minute, on a busy host
UNBUFFERED = os.environ | {"PYTHONUNBUFFERED": "1"}
VIEW = [
    ("kubevirt.io", ["virtualmachines", "virtualmachineinstances", "virtualmachineinstancemigrations"]),
    ("", ["pods"]),
    ("apps", ["controllerrevisions"]),
    ("k8s.cni.cncf.io", ["ipamclaims", "network-attachment-definitions"]),
    ("instancetype.kubevirt.io", ["virtualmachineinstancetypes", "virtualmachinepreferences"]),
]
# What KubeVirt lets everybody list who has logged in.
EVERYBODY = [
    ("kubevirt.io", ["kubevirts"]),
    ("instancetype.kubevirt.io", ["virtualmachineclusterinstancetypes", "virtualmachineclusterpreferences"]),
]
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
UUID = "5b4e28ba-2fa1-41d2-883f-0016d3cca427"


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    grant(made.client())
    grant_access(made.client())
    return made


@pytest.fixture(scope="module")
def exporter(server: ApiServer) -> Iterator[Exporter]:
    """That asks the API server who may see what."""
    access = Times(user=0.3, stranger=0.1, allowed=0.3, denied=0.1, namespaces=0.3, again=0.2)
    with Exporter(server.kubeconfig("steward-exporter"), graces=0.0, access=access) as made:
        yield made.wait_ready()


def check(server: ApiServer, name: str, *more: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
    return steward("check", "--kubeconfig", str(server.kubeconfig(name, token)), *more)


def test_a_token_that_has_expired(server: ApiServer) -> None:
    done = check(server, "expired", token="of-yesterday")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"steward: {server.url} rejects your credentials (401 Unauthorized): they have expired or belong to "
        "another cluster. Log in again and check with `kubectl auth whoami`\n"
    )


def test_who_may_list_nothing(server: ApiServer) -> None:
    nobody = account(server.client())
    done = check(server, "nobody", token=nobody.token)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"steward: forbidden: {server.url} lets you list none of the required resources, not even "
        "virtualmachines.kubevirt.io in all namespaces. Ask a cluster administrator for a role that can, or name your "
        "namespace with -n\n"
    )


def test_a_namespace_that_is_not_there(server: ApiServer) -> None:
    done = check(server, "steward-exporter", "-n", "defualt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "steward: no namespace is called 'defualt'; did you mean default?\n"


@pytest.fixture(scope="module")
def tenant(server: ApiServer) -> Account:
    """May look at one of two namespaces, in each of which a VM shares its firmware UUID with the other, and another VM
    has none.
    """
    admin = server.client()
    for namespace in (NS, "billing"):
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        for name, uuid in (("web", UUID), ("plain", "")):
            firmware = {"firmware": {"uuid": uuid}} if uuid else {}
            spec = {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}, **firmware}}}}
            metadata = {"namespace": namespace, "name": name}
            admin.create({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": spec})
    made = account(admin, NS)
    for role, rules in (("test-tenant", VIEW), ("test-everybody", EVERYBODY)):
        listed = [{"apiGroups": [group], "resources": of, "verbs": ["get", "list"]} for group, of in rules]
        admin.apply({**ROLE, "metadata": {"name": role}, "rules": listed})
        made.grant(role, NS if rules is VIEW else None)
    return made


def test_who_may_look_at_one_namespace_is_told_what_can_be_known_of_it(server: ApiServer, tenant: Account) -> None:
    done = check(server, "tenant", "-n", NS, "-o", "json", token=tenant.token)
    assert (done.returncode, done.stderr) == (2, "")
    report = json.loads(done.stdout)
    whole = json.loads(check(server, "steward-exporter", "-o", "json").stdout)

    found = {f["fingerprint"]: f for f in report["findings"]}
    assert {f["subject"]["namespace"] for f in found.values()} == {NS}
    assert "plain" in {f["subject"]["name"] for f in found.values() if f["reason"] == "NotPersisted"}
    # Nothing is found that is not so, and what follows from another namespace is unknown instead.
    assert found.keys() <= {f["fingerprint"] for f in whole["findings"]}
    shared = {f["check"] for f in whole["findings"] if f["reason"] == "LatentDuplicate"}
    assert shared == {"firmware_duplicates"} <= {each["check"] for each in report["unknown"]}


def test_what_is_missing_is_said_once(server: ApiServer, tenant: Account) -> None:
    done = check(server, "tenant", "-n", NS, token=tenant.token)
    lines = done.stdout.partition("No answer:\n")[2].partition("\n\n")[0].splitlines()
    reasons = [line.rpartition(": ")[0] for line in lines]
    assert len(set(reasons)) == len(reasons)
    assert len(done.stdout.splitlines()) < 40
    (nodes,) = (line for line in lines if line.startswith("  Node: "))
    assert 'Grant "list" and "watch" on nodes: ' in nodes
    (vms,) = (line for line in lines if "you have permission to list virtualmachines.kubevirt.io" in line)
    assert f'only in {NS}. For the rest, grant "list" in all namespaces: ' in vms


def test_what_may_only_be_listed_is_listed_again_while_changes_are_followed(server: ApiServer, tenant: Account) -> None:
    spec = {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}}}}}
    metadata = {"namespace": NS, "name": "old"}
    server.client().create(
        {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": spec}
    )
    path = server.kubeconfig("tenant", tenant.token)
    command = [sys.executable, "-m", "exporter", "check", "-w", "-n", NS, "--kubeconfig", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=UNBUFFERED) as started:
        given_up = threading.Timer(PATIENCE, started.kill)
        given_up.start()
        try:
            assert started.stdout is not None
            assert started.stderr is not None
            assert started.stderr.readline() == b"What changes follows; Ctrl-C ends it.\n"
            server.client().remove(VMS, NS, "old")
            # Not "gone": a pool that can't be seen may still have its finding.
            changed = rb"\d\dZ  unknown .* NotPersisted  VM shop/old "
            assert any(re.search(changed, line) for line in started.stdout)
        finally:
            given_up.cancel()
            started.kill()


def asked(server: ApiServer, tenant: Account, *words: str) -> subprocess.CompletedProcess[str]:
    return steward(*words, "--kubeconfig", str(server.kubeconfig("tenant", tenant.token)))


def test_a_finding_in_the_own_namespace_is_explained(server: ApiServer, tenant: Account) -> None:
    checked = check(server, "tenant", "-n", NS, "-o", "json", token=tenant.token)
    assert checked.stderr == ""
    report = json.loads(checked.stdout)
    (found,) = (each for each in report["findings"] if each["reason"] == "NotPersisted")
    done = asked(server, tenant, "explain", found["fingerprint"], "-n", NS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{found['severity']} NotPersisted: VM {NS}/plain\n\n{found['message']}\n\n")


def test_a_vm_of_the_own_namespace_is_shown_with_what_is_not_seen_of_it(server: ApiServer, tenant: Account) -> None:
    done = asked(server, tenant, "vm", f"{NS}/plain")
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith(f"VM {NS}/plain does not run (runStrategy Halted).\n  Whether it can be started is ")
    assert "NotPersisted" in done.stdout
    said = " ".join(done.stdout.split())
    assert "Whether it can be started is not known: - can't list nodes in all namespaces" in said


def test_a_drain_is_not_previewed_for_who_may_see_no_node(server: ApiServer, tenant: Account) -> None:
    done = asked(server, tenant, "drain", "node01")
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("Not seen, so there is no answer:\n")
    assert 'Grant "list" and "watch" on nodes' in done.stdout


def test_labels_are_asked_for_in_the_own_namespace(server: ApiServer, tenant: Account) -> None:
    done = check(server, "tenant", "-n", NS, "-l", "tier=web", token=tenant.token)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"steward: no VM has the labels tier=web in {NS}\n"
    done = check(server, "tenant", "-l", "tier=web", token=tenant.token)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        'steward: which VMs have these labels is not known: grant "list" on virtualmachines.kubevirt.io, or name your '
        "namespace with -n\n"
    )


def test_a_running_steward_tells_a_tenant_of_the_own_namespace(
    server: ApiServer, exporter: Exporter, tenant: Account, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(tenant.token, encoding="utf-8")
    of = ("--exporter", exporter.url, "--token-file", str(tmp_path / "token"))
    done = steward("status", *of)
    assert done.stderr == ""
    assert done.returncode in (1, 2)
    assert f"Cluster   as {exporter.url} sees it" in done.stdout.splitlines()[0]
    assert f"{NS}/plain" in done.stdout
    assert "billing" not in done.stdout
    assert "Drains    not seen" in done.stdout
    refused = steward("drain", "--all-cordoned", *of)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"steward: {exporter.url} does not let you see that (403): system:serviceaccount:")
