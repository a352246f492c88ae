"""Two VMs that are off have one MAC address on one network, and one of them is a clone."""

from __future__ import annotations

from reconcile.plan.remediations.identity._identities import ALLOWED
from tests.cluster import fleet
from tests.cluster.resources import VMS
from tests.cluster.stage import NETWORKS, Stage

from ._fault import Fault, cloned, named

__all__ = ["FAULTS"]

_MAC = "02:00:00:aa:00:01"


def _copied(stage: Stage) -> None:
    stage.nad()
    for name in ("db", "twin"):
        made = fleet.vm(stage.namespace, name, NETWORKS)
        made["metadata"]["annotations"] = {ALLOWED: "true"}  # they are created in the same second
        made["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0]["macAddress"] = _MAC
        stage.client.create(made)
    cloned(stage, "db", "twin")


FAULTS = (
    Fault("macs", "reassign_mac_address", "LatentDuplicateMAC", _copied, VMS, named("twin"), accepts="uniqueness"),
)
