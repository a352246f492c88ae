"""What objects are like that several remediations write."""

from __future__ import annotations

from typing import Any

from ..patterns import ANYTHING, EMPTY, PRESENT, Begins, Each, Exactly, Is, Like

TERMINATING = Like(metadata=Like(deletionTimestamp=PRESENT))
LIVING = Like(metadata=Like(deletionTimestamp=EMPTY))


def an_owner(**values: Any) -> Exactly:
    """An owner reference with some of its values as given."""
    every = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return Exactly(**{**dict.fromkeys(every, ANYTHING), **values})


def owned_by(*kinds: str) -> Each:
    """One owner reference to an object of KubeVirt: to its controller, whose deletion it blocks."""
    group = Begins("kubevirt.io/")
    return Each(
        an_owner(
            apiVersion=group, kind=Is(*kinds), name=PRESENT, uid=PRESENT, controller=True, blockOwnerDeletion=True
        ),
        one=True,
    )
