"""What a tenant does in one namespace, and what of it the repairs of another one notice."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster import fleet
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_ground import Ground, ground_of
from tests.cluster.resources import IPAM_CLAIMS, PDBS
from tests.cluster.sidecar import Sidecar
from tests.cluster.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

pytestmark = pytest.mark.long

HOUR = 3600.0
AUTO = {"mode": "auto", "minAge": "10s"}
SETTINGS = {
    "remediations": {"delete_orphan_pdb": AUTO, "delete_orphan_ipam_claim": AUTO},
    "budgets": {"fleetShare": 1.0},
}
UNREADABLE = {"k8s.ovn.org/pod-networks": "{"}


@pytest.fixture(scope="module")
def ground(module_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(module_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


def pdb(namespace: str, name: str) -> Object:
    uid = f"00000000-0000-4000-8000-{name:0>12}"
    selector = {"matchLabels": {"kubevirt.io/created-by": uid}}
    meta = {"namespace": namespace, "name": f"kubevirt-disruption-budget-{name}"}
    spec = {"minAvailable": 1, "selector": selector}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}


def orphan(stage: Stage, name: str, network: str, ip: str) -> Object:
    vm = fleet.vm(stage.namespace, name, {"blue": "blue"})
    vm["metadata"]["uid"] = (
        f"11111111-1111-4111-8111-{int(ip.split('.')[2]):06}{int(ip.split('.')[3].split('/')[0]):06}"
    )
    return stage.client.make(fleet.claim(vm, network, ip))


def plans(sidecar: Sidecar) -> Any:
    with urllib.request.urlopen(f"{sidecar.url}/api/v1/plans", timeout=10) as answer:
        return json.load(answer)


def test_twelve_pdbs_and_a_broken_pod_of_a_tenant_stop_nobody_else(ground: Ground) -> None:
    victim, tenant = ground.stage(), ground.stage()
    for each in range(20):
        victim.client.create(fleet.vm(victim.namespace, f"vm{each}"))
    victim.nad()
    victim.nad("shared", network="shared-by-both")
    tenant.nad("shared", network="shared-by-both")
    with ground.sidecar(victim.namespace, SETTINGS, ahead=HOUR) as sidecar:
        wait_until(lambda: sidecar.value("kubevirt_steward_repair_leading"), 40, "it leads")
        sidecar.runs_again()

        pod = fleet.launcher_pod(tenant.namespace, "web", {})
        pod["metadata"]["annotations"] |= UNREADABLE
        tenant.client.make(pod)
        for each in range(3):
            orphan(tenant, f"lost{each}", f"net-{tenant.namespace}", f"10.1.0.{each + 5}/24")
        for each in range(12):
            tenant.client.create(pdb(tenant.namespace, str(each)))
        wait_until(lambda: "OrphanPDB" in ground.found(tenant.namespace), 30, "the PDBs are found")
        sidecar.runs_again(3)
        orphan(victim, "db", victim.network, "10.0.0.5/24")
        orphan(victim, "held", "shared-by-both", "10.2.0.5/24")

        sidecar.wait_for("verified")
        sidecar.runs_again()
        claims = {each["metadata"]["name"]: each for each in victim.client.list(IPAM_CLAIMS, victim.namespace)["items"]}
        assert claims["db.blue"]["metadata"].get("deletionTimestamp")
        # The tenant's pod may be attached to the network that both have: a user is not hidden by being unreadable.
        assert not claims["held.blue"]["metadata"].get("deletionTimestamp")

        assert ground.writes(tenant.namespace) == []
        assert len(tenant.client.list(PDBS, tenant.namespace)["items"]) == 12
        assert sidecar.value('kubevirt_steward_repair_storm{state="normal"}') == 1
        assert sidecar.value('kubevirt_steward_repair_storm_namespaces{state="storm"}') == 1
        (why,) = {
            gate["why"]
            for each in sidecar.plans()
            for gate in each.get("blocked", ())
            if gate["gate"] == "storm" and each["namespace"] == tenant.namespace
        }
        assert f"12 findings of eviction_pdbs are new in namespace {tenant.namespace} with 0 VMs" in why

        (cause,) = plans(sidecar)["unseen"]
        assert (cause["object"], cause["repairs"]) == (f"Pod {tenant.namespace}/virt-launcher-web", 4)
