"""With its old owner reference an IPAMClaim is nobody's again, and garbage collection deletes it.

What released one can't be taken back.
"""

from __future__ import annotations

from exporter.store.kinds.ipam_claim import FINALIZER, IPAMClaim

from ..plan import Refused
from ..remediation import Scene
from ..remediations.networks._releasing import came_to_run
from ..undo import Given, Taken, Undo
from ._ipam_claims import LOSSES, PRECONDITIONS, READS, given_away

_GOING = "garbage collection deletes it, whose owner is gone"


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ref = taken.plan.target
    claim = scene.named(IPAMClaim, ref.namespace, ref.name)
    if claim is None:
        return Refused("same_object", f"{ref} does not exist")
    if FINALIZER in claim.finalizers:
        return Given(
            effect=f"{ref} is of the earlier VM again: {_GOING}, and its finalizer keeps its addresses. It can't be "
            "given to the VM any more then."
        )
    return given_away(scene, claim, _GOING)


UNDO = Undo(
    id="adopt_ipam_claim",
    reads=READS,
    weigh=_weigh,
    looks_again=came_to_run,
    preconditions=PRECONDITIONS,
    losses=LOSSES,
)
