"""An IPAMClaim is left of an interface that was removed, in a network that is nearly full, or was deleted by hand."""

from __future__ import annotations

from tests.cluster import fleet
from tests.cluster.resources import IPAM_CLAIMS
from tests.cluster.stage import Stage
from tests.manifests import Object

from ._fault import CLAIM, Fault, named

__all__ = ["FAULTS"]

_SUBNET = "10.0.0.0/29"  # six addresses
_TAKEN = tuple(f"10.0.0.{number}/29" for number in range(1, 5))


def _vm_without(stage: Stage) -> Object:
    return stage.vm(red="red")


def _leaked_claim(stage: Stage) -> None:
    stage.nad(subnets=_SUBNET)
    stage.claim(_vm_without(stage), "10.0.0.5/29")
    attached = {f"{stage.namespace}/blue": "web.blue"}
    stage.client.make(fleet.launcher_pod(stage.namespace, "web", attached, _TAKEN))


def _deleted_claim(stage: Stage) -> None:
    stage.nad()
    stage.claim(_vm_without(stage))
    stage.delete_claim()


FAULTS = (
    Fault(
        "leaked_claim",
        "reclaim_ipam_claim",
        "LeakedClaim",
        _leaked_claim,
        IPAM_CLAIMS,
        named(CLAIM),
        verb="delete",
        undone="created again",
        aged=True,
        leads_on=True,
    ),
    Fault(
        "claim_deleted_by_hand",
        "reclaim_ipam_claim",
        "StuckTerminatingDeletedByHand",
        _deleted_claim,
        IPAM_CLAIMS,
        named(CLAIM),
        undone="never",
        aged=True,
    ),
)
