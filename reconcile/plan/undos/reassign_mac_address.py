"""The old MAC address is free for the VM as long as nobody else has it, and its guest does not know the new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.domain.networks.addresses import comparable
from exporter.store.kinds import controller_revision
from exporter.store.kinds.pod import Pod

from ..effects import at
from ..plan import Patch, Refused, Replace
from ..remediation import Scene
from ..remediations.identity._identities import READS
from ..remediations.identity.reassign_mac_address import having
from ..undo import Given, Lost, Taken, Undo
from ._identifying import PRECONDITIONS, weighed_value


def _weigh(taken: Taken, scene: Scene) -> Given | Refused:
    ops = taken.plan.step.ops if isinstance(taken.plan.step, Patch) else ()
    path = next(op.path for op in ops if isinstance(op, Replace))

    def mac(whole: Mapping[str, Any]) -> str:
        found = at(whole, path)
        return found if isinstance(found, str) else ""

    return weighed_value(
        taken, scene, "MAC address", "mac_is_free", mac, lambda found: having(scene, comparable(found))
    )


UNDO = Undo(
    id="reassign_mac_address",
    reads=(*READS, controller_revision.KIND, Pod.KIND),
    weigh=_weigh,
    preconditions=PRECONDITIONS,
    losses={
        "same_identity": (Lost.IDENTITY, "the guest has not been started with the MAC address that goes"),
        "mac_is_free": (Lost.UNIQUENESS, "no other VM has the MAC address that is put back"),
    },
)
