"""What released an IPAMClaim can't be taken back. The annotation that was tried before can: it is for nothing but its
event.
"""

from __future__ import annotations

from exporter.store.kinds import virtual_machine

from ..remediation import Scene
from ..undo import Given, Taken, Undo

__all__ = ["UNDO"]


def _weigh(taken: Taken, _: Scene) -> Given:
    return Given(
        effect=f"{taken.plan.target} no longer has the annotation. KubeVirt's IPAM controller reconciles it once more, "
        "and may then release its IPAMClaims, as it does with any VM in deletion."
    )


UNDO = Undo(id="release_ipam_claim", reads=(virtual_machine.KIND,), weigh=_weigh)
