"""What a next step does to a VM, so that no finding of a VM asks for what another one warns of.

The page of a check declares it (`does` of a reason), or a remedy does (`Remedy.does`); of a command it follows from
what the command calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum, auto


class Act(StrEnum):
    """The value is how a sentence says it."""

    START = "start the VM"
    STOP = "stop the VM"
    STOP_NOW = "stop the VM at once"  # its disks are at risk: nothing is worse, so nothing forbids it
    RESTART = "restart the VM"
    MIGRATE = "migrate the VM"
    DRAIN = "drain its node"
    END = "delete its VMI"
    DELETE = "delete it"  # the subject of the finding, where that is no VM

    @property
    def of_vm(self) -> bool:
        """Whether it concerns the VM, whichever of its objects the finding is about."""
        return self is not Act.DELETE


class Among(Enum):
    """Which VMs a finding is about, by its subject."""

    OWN = auto()
    NAMESPACE = auto()  # each one in the subject's namespace
    CLUSTER = auto()


@dataclass(frozen=True)
class Forbids:
    """What must not be done to the VM while a finding of it is open, and why: a clause about the VM. What is found of a
    node, a namespace or a NAD is about each VM there.
    """

    acts: tuple[Act, ...]
    why: str
    among: Among = Among.OWN


NOTHING_FORBIDDEN = Forbids((), "")


_CALLS = (
    ("virtctl start ", Act.START),
    ("virtctl stop ", Act.STOP),
    ("virtctl restart ", Act.RESTART),
    ("virtctl migrate ", Act.MIGRATE),
    ("kind: VirtualMachineInstanceMigration", Act.MIGRATE),
    ("kubectl drain ", Act.DRAIN),
    ("kubectl delete --raw /apis/kubevirt.io/v1/namespaces/", Act.END),
    ("kubectl delete ", Act.DELETE),
)


_BY_EDIT = {"Halted": (Act.START,), "Always": (Act.STOP,), "Once": (Act.STOP,)}  # by run strategy


def by_edit(run_strategy: str) -> tuple[Act, ...]:
    """What virt-api does by an edit of the VM's spec, which a webhook can reject; else it writes a request into the
    status (pkg/virt-api/rest/lifecycle.go of kubevirt/kubevirt).
    """
    return _BY_EDIT.get(run_strategy, ())


def acts_of(command: str) -> Iterable[Act]:
    """What a command does, by what its lines call."""
    lines = [part.strip() for line in command.splitlines() for part in line.split("|")]
    found = (next((act for call, act in _CALLS if line.startswith(call)), None) for line in lines)
    return [act for act in found if act is not None]
