"""The probe of edits on a real API server: a dry run is one, RBAC is what it says, and a refusal at admission is known.

What KubeVirt's webhook would refuse is refused by a policy in its words.
"""

from __future__ import annotations

from typing import Any

import pytest

from demo.fleet import surroundings as around
from tests.case_files import read_yaml
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import binding, grant
from tests.cluster.resources import VMS
from tests.manifests import Object
from tests.probing import differences, probed_edits
from tests.rows import full
from tests.shared import REPO
from tests.waiting import wait_until

from ..impacts import HOST_DISK, VSOCK, vm

NAMESPACE = "default"
GROUP = "admissionregistration.k8s.io/v1"
NAMES = ("db", "vsock", "spare")


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    """Of its own: what is refused is refused cluster-wide."""
    server = module_api_server()
    client = server.client()
    grant(client)
    developer = {"developerConfiguration": {"featureGates": ["VSOCK"]}}
    client.make(around.kubevirt(NAMESPACE, "kubevirt", "v1.9.0", configuration=developer))
    for row in (*vm("db", HOST_DISK), *vm("vsock", VSOCK), *vm("spare", HOST_DISK)):
        made = full(row | {"namespace": NAMESPACE})
        made["metadata"].pop("uid", None)
        client.make(made)
    return server


def refuse(client: Client, name: str, sentence: str) -> None:
    """Every edit of a VM is refused with the sentence."""
    rule = {
        "apiGroups": ["kubevirt.io"],
        "apiVersions": ["*"],
        "operations": ["UPDATE"],
        "resources": ["virtualmachines"],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": f"object.metadata.name != '{name}'", "message": sentence}],
    }
    policy: Object = {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": f"no-{name}"}}
    client.apply(policy | {"spec": spec})
    bound: Object = {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"no-{name}"},
    }
    client.apply(bound | {"spec": {"policyName": f"no-{name}", "validationActions": ["Deny"]}})


def looked(server: ApiServer, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    return probed_edits(server.kubeconfig("steward-exporter"), capsys, *words)


def versions(client: Client) -> dict[str, Any]:
    metas = (client.get(VMS, NAMESPACE, name)["metadata"] for name in NAMES)
    return {meta["name"]: (meta["resourceVersion"], meta["generation"], meta["managedFields"]) for meta in metas}


def test_a_real_server_is_asked_by_dry_runs_and_nothing_changes(
    server: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    client = server.client()
    before = versions(client)
    code, probes = looked(server, capsys)
    assert code == 2
    assert {each["said"] for each in probes["unanswered"]} == {"forbidden"}
    assert (probes["asked"], probes["agree"], probes["differences"]) == (3, 0, [])

    client.apply(read_yaml((REPO / "deploy/base/feature-probe/clusterrole.yaml").read_text(encoding="utf-8")))
    client.apply(binding("steward-feature-probe"))
    refuse(client, "db", "HostDisk feature gate is not enabled")
    refuse(client, "vsock", "VSOCK feature gate is not enabled in kubevirt-config")

    def answers() -> dict[str, str]:
        return differences(looked(server, capsys)[1], NAMESPACE)

    # The gate of db is off here and there; that of vsock is on, and nobody refuses spare although its gate is off.
    wait_until(lambda: answers() == {"vsock": "refused", "spare": "taken"}, 60, "the policies are in force")
    code, probes = looked(server, capsys)
    assert (code, probes["asked"], probes["agree"], probes["unanswered"]) == (2, 3, 1, [])
    assert all(each["contradicts"] for each in probes["differences"])
    assert "ValidatingAdmissionPolicy" in probes["differences"][1]["answer"]

    code, probes = looked(server, capsys, "impact", "--disable", "VSOCK", "--probe")
    assert (code, [each["vm"]["name"] for each in probes["differences"]]) == (2, ["vsock"])
    assert versions(client) == before
