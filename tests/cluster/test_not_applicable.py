"""A cluster with KubeVirt alone: no OVN-Kubernetes, no Multus; or without instancetypes. Then they come while the
exporter watches.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporter.__main__ import main
from exporter.checks import all_checks
from exporter.findings.check import Check
from exporter.store.kind import ApiKind
from tests.cluster import custom_resources
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import ACCOUNT, Exporter, grant
from tests.cluster.fleet import claimed_vm, delete_vm, vm
from tests.waiting import wait_until

NS = "default"
INSTANCETYPES = "instancetype.kubevirt.io"
NETWORKS = ("k8s.cni.cncf.io", "k8s.ovn.org")


def kinds_of(check: Check) -> list[ApiKind[Any]]:
    """Those that it requires."""
    return [kind for kind in check.requires if isinstance(kind, ApiKind)]


SIZING = {check.id for check in all_checks() if any(kind.group == INSTANCETYPES for kind in kinds_of(check))}
NETWORK_STACK = {check.id for check in all_checks() if any(kind.group in NETWORKS for kind in kinds_of(check))}


def test_kubevirt_alone_then_the_network_stack_comes(
    own_api_server: MakeApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server = own_api_server(with_crds=False)
    client = server.client()
    everything = custom_resources.crds()
    alone = [crd for crd in everything if crd["spec"]["group"].endswith("kubevirt.io")]
    custom_resources.install(client, alone)
    grant(client)
    client.create(vm(NS, "web"))
    kubeconfig = server.kubeconfig(ACCOUNT)

    code = main(["check", "--kubeconfig", str(kubeconfig), "-o", "json"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (code, report["findings"], report["unknown"]) == (0, [], [])
    assert {each["check"] for each in report["notApplicable"]} >= NETWORK_STACK
    assert all("does not serve" in each["why"] for each in report["notApplicable"])

    with Exporter(kubeconfig, graces=0.0) as exporter:
        exporter.wait_ready()
        for check in NETWORK_STACK:
            assert exporter.value(f'kubevirt_steward_check_state{{check="{check}",state="not_applicable"}}') == 1
        custom_resources.install(client, [crd for crd in everything if crd not in alone])
        wait_until(lambda: not NETWORK_STACK & inapplicable(exporter), 20, "the checks of the network stack answer")
        claimed_vm(client, NS, "db")
        delete_vm(client, NS, "db")
        exporter.wait_found(NS, {"db.blue": "StuckTerminatingOwnerGone"})


def test_kubevirt_without_instancetypes_then_they_come(
    own_api_server: MakeApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server = own_api_server(with_crds=False)
    client = server.client()
    everything = custom_resources.crds()
    alone = [crd for crd in everything if crd["spec"]["group"] != INSTANCETYPES]
    custom_resources.install(client, alone)
    grant(client)
    sized = vm(NS, "web")
    sized["spec"]["instancetype"] = {"name": "gone"}
    client.create(sized)
    kubeconfig = server.kubeconfig(ACCOUNT)

    code = main(["check", "--kubeconfig", str(kubeconfig), "-o", "json"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (code, report["findings"], report["unknown"]) == (0, [], [])
    assert {each["check"] for each in report["notApplicable"]} == SIZING

    with Exporter(kubeconfig, graces=0.0) as exporter:
        exporter.wait_ready()
        custom_resources.install(client, [crd for crd in everything if crd not in alone])
        wait_until(lambda: not inapplicable(exporter), 20, "the checks of instancetypes answer")
        exporter.wait_found(NS, {"web": "ObjectMissing"})


def inapplicable(exporter: Exporter) -> set[str]:
    return {each["check"] for each in exporter.report()["notApplicable"]}
