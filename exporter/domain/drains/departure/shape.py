"""The answer to "will this VMI leave its node, and what is in the way"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ....facts.naming import filled
from ....facts.record import Record, Ref
from ....facts.times import UNKNOWN, Time
from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..eviction import EvictionAnswer
from .remedies import NOTHING, Remedy


class DrainState(StrEnum):
    """What a drain of the node does to a VMI; in the order in which they are shown."""

    BLOCKED = "blocked"  # it stays, and the node with it, while nothing changes
    UNKNOWN = "unknown"  # what decides can't be seen
    SHUTS_DOWN = "shuts_down"  # an eviction ends the guest
    EXTERNAL = "external"  # strategy External: a controller other than KubeVirt's has to act
    MAY_MIGRATE = "may_migrate"  # KubeVirt would migrate it, and what it last came to or is not known may be in the way
    MIGRATING = "migrating"
    WAITING = "waiting"  # KubeVirt migrates it when it is evicted, or in its turn
    ARRIVING = "arriving"  # it migrates to the node, and will have to leave again
    TERMINATING = "terminating"  # it is being deleted, or has ended


@dataclass(frozen=True)
class Departure:
    """`subject` is a VMI, or the launcher pod of one that is not on the node; `pod` is what an eviction asks for.

    `reason` is one of the check `evictions`, or of what a drain says beforehand; empty where nothing is in the way.
    `due` says that somebody wants it to leave by now. `also` are departures that are true beside this one. `answer`
    is what an eviction is answered with, where that was asked, and `to` the node or the controller that it goes to.
    """

    subject: Record
    state: DrainState
    reason: str = ""
    why: str = ""
    remedy: Remedy = NOTHING
    values: Mapping[str, str] = field(default_factory=dict)
    since: Time = UNKNOWN
    evidence: Mapping[str, object] = field(default_factory=dict)
    related: tuple[Ref, ...] = ()
    due: bool = False
    also: tuple[Departure, ...] = ()
    strategy: str = ""
    answer: EvictionAnswer | None = None
    to: str = ""
    vmi: VirtualMachineInstance | None = None
    pod: Pod | None = None

    @property
    def next(self) -> str:
        return filled(self.remedy.next, self.values)

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(filled(each, self.values) for each in self.remedy.commands)
