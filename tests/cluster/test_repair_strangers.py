"""A sidecar that writes unasked, and what users of other namespaces bring about, on a real API server with its RBAC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from exporter.store.kinds.node import CORDON, DRAINING
from tests.cluster import fleet, nodes
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.connection import ApiError
from tests.cluster.repair_faults import settings
from tests.cluster.repair_ground import Ground, ground_of
from tests.cluster.resources import NODES, PODS, VMS
from tests.cluster.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

from .client import account

pytestmark = pytest.mark.long

STOP = "stop_blocked_vmi"
EDIT = "system:aggregate-to-edit"  # of which the role `edit` is made, by a controller that does not run here
CORDONED = {"key": CORDON, "effect": "NoSchedule", "timeAdded": "2026-05-04T08:00:00Z"}


@pytest.fixture(scope="module")
def ground(module_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(module_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


def blocked(stage: Stage) -> str:
    """A VM that can't be migrated and may be stopped, on a node of its own that is only cordoned: the node's name."""
    nodes.node(stage.client, stage.namespace, cordoned=True, taints=(CORDONED,))
    vm = fleet.vm(stage.namespace, "db")
    vm["spec"]["runStrategy"] = "Always"
    vm["metadata"]["annotations"] = {"steward.kubevirt-steward.io/stop-allowed": "true"}
    vmi = fleet.vmi(stage.client.create(vm))
    vmi["spec"]["evictionStrategy"] = "LiveMigrate"
    fixed = {"type": "LiveMigratable", "status": "False", "reason": "DisksNotLiveMigratable"}
    vmi["status"] |= {"nodeName": stage.namespace, "conditions": [fixed]}
    stage.client.make(vmi)
    return stage.namespace


def tenant(ground: Ground) -> tuple[Client, str]:
    """Somebody who may write in a new namespace, and nowhere else."""
    namespace = ground.stage().namespace
    made = account(ground.client, namespace)
    made.grant(EDIT, namespace)
    return Client(ground.server.url, ground.server.ca_file, made.token), namespace


def evict(client: Client, namespace: str, node: str) -> None:
    container = {"name": "web", "image": "example.com/web"}
    meta = {"namespace": namespace, "name": "web"}
    spec = {"nodeName": node, "containers": [container], "automountServiceAccountToken": False}
    client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    body: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    client.connection.request("POST", PODS.path(namespace, "web", "eviction"), body)


def test_a_tenant_s_eviction_stops_no_other_s_vm_and_what_is_said_on_the_node_does(ground: Ground) -> None:
    victim = ground.stage()
    node = blocked(victim)
    client, elsewhere = tenant(ground)
    with client:
        evict(client, elsewhere, node)
        assert ground.client.get(PODS, elsewhere, "web")["metadata"]["deletionTimestamp"]
        ground.wait_found(victim.namespace, "NotMigratable")
        with ground.sidecar(victim.namespace, settings({(STOP, victim.namespace): "auto"})) as sidecar:
            ground.takes_over(victim.namespace, sidecar)
            sidecar.runs_again(3)
            assert (ground.writes(victim.namespace), sidecar.events()) == ([], [])
            (plan,) = sidecar.plans()
            assert (plan["remediation"], plan["refused"]["precondition"]) == (STOP, "node_drained")
            assert f"{DRAINING}=maintenance" in plan["refused"]["why"]
            says = ["kubectl", "annotate", "nodes", node, f"{DRAINING}=maintenance"]
            assert plan["proposal"]["patch"].split() == says
            assert plan["proposal"]["where"].endswith(f"kubectl annotate nodes {node} {DRAINING}-")

            with pytest.raises(ApiError, match="403"):
                annotate(client, node, says[-1])
            sidecar.runs_again()
            assert ground.writes(victim.namespace) == []

            annotate(ground.client, node, says[-1])
            sidecar.wait_for("done")
            assert vm(victim)["spec"]["runStrategy"] == "Halted"
            assert ground.writes(victim.namespace) == [("patch", "virtualmachines", "db")]


def annotate(client: Client, node: str, said: str) -> None:
    key, _, value = said.partition("=")
    client.patch(NODES, None, node, {"metadata": {"annotations": {key: value}}})


def vm(stage: Stage) -> Any:
    return stage.client.get(VMS, stage.namespace, "db")


def test_a_node_that_is_only_cordoned_is_a_proposal_too(ground: Ground) -> None:
    """A plain drain that meets nothing but VMs that can't be migrated leaves no trace of itself."""
    victim = ground.stage()
    node = blocked(victim)
    ground.wait_found(victim.namespace, "NotMigratableWhileCordoned")
    with ground.sidecar(victim.namespace, settings({(STOP, victim.namespace): "auto"})) as sidecar:
        ground.takes_over(victim.namespace, sidecar)
        wait_until(lambda: [each.get("proposal") for each in sidecar.plans()] != [None], 30, "it is proposed")
        sidecar.runs_again()
        assert ground.writes(victim.namespace) == []

        annotate(ground.client, node, f"{DRAINING}=firmware-update")
        sidecar.wait_for("done")
        assert vm(victim)["spec"]["runStrategy"] == "Halted"
