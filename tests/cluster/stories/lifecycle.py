"""IPAMClaims whose VM, finalizer or label is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.model.kinds.ipam_claim import FINALIZER
from tests.cluster import fleet
from tests.cluster.resources import IPAM_CLAIMS, VMS
from tests.cluster.stage import FOREIGN, NETWORKS, Stage, Story, nothing, touched
from tests.cluster.stories import acts
from tests.manifests import Object

__all__ = ["STORIES"]


# -- the VM and its claim


def _deleted(stage: Stage, **meta: Any) -> Object:
    """The VM is gone, and garbage collection has deleted its claim."""
    stage.nad()
    owner = stage.vm()
    stage.claim(owner, **meta)
    stage.client.delete(VMS, stage.namespace, "db")
    stage.delete_claim()
    return owner


def _stuck(stage: Stage) -> None:
    _deleted(stage, finalizers=[FOREIGN, FINALIZER])


def _held(stage: Stage) -> None:
    _deleted(stage, finalizers=[FOREIGN])


def _orphan(stage: Stage) -> None:
    stage.nad()
    stage.claim(stage.vm())
    stage.client.delete(VMS, stage.namespace, "db")


def _ownerless(stage: Stage) -> Mapping[str, str]:
    stage.nad()
    owner = stage.vm()
    stage.claim(owner, ownerReferences=None, finalizers=None)
    return {"OWNERUID": owner["metadata"]["uid"]}


def _abandoned(stage: Stage) -> None:
    stage.nad()
    stage.claim(stage.vm(), ownerReferences=None)
    stage.client.delete(VMS, stage.namespace, "db")


def _deleted_by_hand(stage: Stage) -> None:
    stage.nad()
    owner = stage.vm()
    stage.claim(owner)
    stage.running(owner)
    stage.pod()
    stage.delete_claim()


def _blocked(stage: Stage) -> None:
    stage.nad()
    owner = stage.client.create(
        {
            **(made := fleet.vm(stage.namespace, "db", NETWORKS)),
            "metadata": {**made["metadata"], "finalizers": [FOREIGN]},
        }
    )
    stage.claim(owner)
    stage.client.delete(VMS, stage.namespace, "db")
    stage.delete_claim()


def _replaced(stage: Stage) -> Mapping[str, str]:
    _orphan(stage)
    new = stage.vm()
    claim = stage.client.get(IPAM_CLAIMS, stage.namespace, "db.blue")
    old = claim["metadata"]["ownerReferences"][0]["uid"]
    return {"OLDUID": old, "OWNERUID": new["metadata"]["uid"]}


def _replaced_and_dying(stage: Stage) -> Mapping[str, str]:
    values = _replaced(stage)
    stage.delete_claim()
    return values


def _duplicate(stage: Stage) -> Mapping[str, str]:
    stage.nad()
    stage.claim(stage.vm())
    other = stage.client.create(fleet.vm(stage.namespace, "web", NETWORKS))
    stage.client.make(fleet.claim(other, stage.network))
    attached = {f"{stage.namespace}/blue": "web.blue"}
    stage.client.make(fleet.launcher_pod(stage.namespace, "web", attached, ("10.0.0.5/24",)))
    return {"OTHERNAMESPACE": stage.namespace, "OTHERPOD": "virt-launcher-web"}


def _unprotected(stage: Stage) -> None:
    stage.nad()
    stage.claim(stage.vm(), finalizers=None)


def _unlabelled(stage: Stage) -> None:
    stage.nad()
    stage.claim(stage.vm(), labels={"kubevirt.io/vm": "another"})


STORIES = [
    Story("VMIPAMClaimStuckTerminating", "StuckTerminatingOwnerGone", _stuck, (acts.RELEASE,)),
    Story("VMIPAMClaimForeignFinalizer", "StuckTerminatingForeignFinalizer", _held, leaves=nothing),
    Story("VMIPAMClaimOrphaned", "OrphanClaim", _orphan, acts.EXCHANGE),
    Story("VMIPAMClaimOwnerless", "OwnerlessClaim", _ownerless, (acts.OWN, acts.PROTECT, acts.LABEL)),
    Story("VMIPAMClaimOwnerless", "OwnerlessClaim", _abandoned, acts.EXCHANGE),
    Story("VMIPAMClaimDeletedByHand", "StuckTerminatingDeletedByHand", _deleted_by_hand, (acts.RELEASE,), stops=True),
    Story(
        "VMIPAMClaimBlocksVMDeletion",
        "StuckTerminatingBlocksOwnerDeletion",
        _blocked,
        (acts.TOUCH_VM,),
        leaves=touched(VMS, "db"),
    ),
    Story(
        "VMIPAMClaimBlocksVMDeletion", "StuckTerminatingBlocksOwnerDeletion", _blocked, (acts.TOUCH_VM, acts.RELEASE)
    ),
    Story("VMIPAMClaimOwnerReplaced", "OwnerUidMismatch", _replaced, (acts.DISOWN,)),
    Story("VMIPAMClaimOwnerReplaced", "OwnerUidMismatch", _replaced_and_dying, (acts.RELEASE,)),
    Story("VMIPAMClaimDuplicateIP", "DuplicateIP", _duplicate, (*acts.EXCHANGE, acts.TOUCH_POD)),
    Story("VMIPAMClaimUnprotected", "UnprotectedClaim", _unprotected, (acts.PROTECT,)),
    Story("VMIPAMClaimUnprotected", "UnlabelledClaim", _unlabelled, (acts.LABEL,)),
]
