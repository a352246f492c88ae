"""IPAMClaims whose VM, finalizer or label is gone."""

from __future__ import annotations

from typing import Any

from exporter.store.kinds.ipam_claim import FINALIZER
from tests.cluster import fleet
from tests.cluster.resources import VMS
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


def _ownerless(stage: Stage) -> None:
    stage.nad()
    stage.claim(stage.vm(), ownerReferences=None)


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


def _replaced(stage: Stage) -> None:
    _orphan(stage)
    stage.vm()


def _replaced_and_dying(stage: Stage) -> None:
    _replaced(stage)
    stage.delete_claim()


def _duplicate(stage: Stage) -> None:
    stage.nad()
    stage.claim(stage.vm())
    other = stage.client.create(fleet.vm(stage.namespace, "web", NETWORKS))
    stage.client.make(fleet.claim(other, stage.network))
    attached = {f"{stage.namespace}/blue": "web.blue"}
    stage.client.make(fleet.launcher_pod(stage.namespace, "web", attached, ("10.0.0.5/24",)))


def _unprotected(stage: Stage) -> None:
    stage.nad()
    stage.claim(stage.vm(), finalizers=None)


def _unlabelled(stage: Stage) -> None:
    stage.nad()
    stage.claim(stage.vm(), labels={"kubevirt.io/vm": "another"})


STORIES = [
    Story("VMIPAMClaimLeftBehind", "StuckTerminatingOwnerGone", _stuck, (acts.RELEASE,)),
    Story("VMIPAMClaimStuckTerminating", "StuckTerminatingForeignFinalizer", _held, leaves=nothing),
    Story("VMIPAMClaimLeftBehind", "OrphanClaim", _orphan, acts.EXCHANGE),
    Story("VMIPAMClaimLeftBehind", "OwnerlessClaim", _ownerless, (acts.OWN,)),
    Story("VMIPAMClaimLeftBehind", "OwnerlessClaim", _abandoned, acts.EXCHANGE),
    Story(
        "VMIPAMClaimStuckTerminating", "StuckTerminatingDeletedByHand", _deleted_by_hand, (acts.RELEASE,), stops=True
    ),
    Story(
        "VMIPAMClaimStuckTerminating",
        "StuckTerminatingBlocksOwnerDeletion",
        _blocked,
        (acts.TOUCH_VM,),
        leaves=touched(VMS, "db"),
    ),
    Story(
        "VMIPAMClaimStuckTerminating", "StuckTerminatingBlocksOwnerDeletion", _blocked, (acts.TOUCH_VM, acts.RELEASE)
    ),
    Story("VMIPAMClaimUnprotected", "OwnerUidMismatch", _replaced, (acts.DISOWN,)),
    Story("VMIPAMClaimUnprotected", "OwnerUidMismatch", _replaced_and_dying, (acts.RELEASE,)),
    Story(
        "VMIPAMClaimDuplicateIP",
        "DuplicateIP",
        _duplicate,
        (*acts.EXCHANGE, acts.TOUCH_POD),
        values={"NAME": "db.blue", "VM": "db"},
    ),
    Story("VMIPAMClaimUnprotected", "UnprotectedClaim", _unprotected, (acts.PROTECT,)),
    Story("VMIPAMClaimUnprotected", "UnlabelledClaim", _unlabelled, (acts.LABEL,)),
]
