"""What objects are like that several remediations write."""

from __future__ import annotations

from ..patterns import EMPTY, PRESENT, Begins, Each, Exactly, Is, Like

__all__ = ["LIVING", "TERMINATING", "owned_by"]

TERMINATING = Like(metadata=Like(deletionTimestamp=PRESENT))
LIVING = Like(metadata=Like(deletionTimestamp=EMPTY))


def owned_by(*kinds: str) -> Each:
    """One owner reference to an object of KubeVirt: to its controller, whose deletion it blocks."""
    group = Begins("kubevirt.io/")
    return Each(
        Exactly(apiVersion=group, kind=Is(*kinds), name=PRESENT, uid=PRESENT, controller=True, blockOwnerDeletion=True),
        one=True,
    )
