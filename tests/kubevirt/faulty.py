"""A namespace with VMs to which things happen, one at a time and at random."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from tests.cluster import fleet
from tests.cluster.client import ApiError
from tests.cluster.resources import CONTROLLER_REVISIONS, IPAM_CLAIMS, NAMESPACES, VMS
from tests.kubevirt.sizes import INSTANCETYPE, KINDS, Sizes, sized
from tests.kubevirt.stage import Stage
from tests.manifests import Object

__all__ = ["IDLE", "STRANGER", "VM_NAMES", "Act", "Faulty", "begin", "create", "happen", "troubled"]

STRANGER = "stranger"
VM_NAMES = ("web", "db", "old", "batch", "gpu")
IDLE = "idle"  # a VM that is always off
# An act may fail as it may for a person: the object has changed, KubeVirt refuses, or is not yet back.
ERRORS = (ApiError, OSError, KeyError, IndexError, StopIteration, AssertionError, ValueError)


@dataclass
class Faulty:
    """What has happened in it is counted by the names of the acts."""

    stage: Stage
    sizes: Sizes
    dice: Random
    small: Object = field(default_factory=dict)
    number: int = 0
    done: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def namespace(self) -> str:
        return self.stage.namespace

    def name(self) -> str:
        return self.dice.choice(VM_NAMES)

    def vm(self, name: str) -> Object:
        return self.stage.client.get(VMS, self.namespace, name)

    def vms(self) -> list[Object]:
        found: list[Object] = self.stage.client.list(VMS, self.namespace)["items"]
        return found

    def next(self) -> int:
        self.number += 1
        return self.number


Act = Callable[[Faulty], None]


def begin(at: Faulty) -> None:
    """A NAD, an instancetype, and VMs of each sort."""
    at.stage.client.create(fleet.nad(at.namespace, "blue", f"net-{at.namespace}"))
    at.small = at.sizes.small(kind=INSTANCETYPE)
    at.stage.vm(IDLE, strategy="Halted")
    for name in VM_NAMES:
        create(at, name)
    for name in VM_NAMES:
        at.stage.wait_running(name)


def create(at: Faulty, name: str) -> None:
    """One of `VM_NAMES`, which runs then."""
    how = {"eviction": "LiveMigrate"} if name != "old" else {}
    sized = {"instancetype": at.small} if name in ("db", "gpu") else {}
    strategy = "Manual" if name == "batch" else "Always"
    at.stage.vm(name, strategy=strategy, **how, **sized)  # type: ignore[arg-type]
    if strategy == "Manual":
        at.stage.act(name, "start")


def happen(at: Faulty, acts: Sequence[Act]) -> None:
    """One act, drawn. One that fails has not happened."""
    act = at.dice.choice(acts)
    try:
        act(at)
        at.done[act.__name__] += 1
    except ERRORS:
        at.failed[act.__name__] += 1


@contextmanager
def troubled(stage: Stage, seed: int) -> Iterator[Faulty]:
    """The namespace of a stage; what would keep it from being deleted is taken off at the end."""
    with sized(stage) as sizes:
        made = Faulty(stage, sizes, Random(seed))
        yield made
        _end(made)


def _end(at: Faulty) -> None:
    client, bare = at.stage.client, {"metadata": {"finalizers": None}}
    for resource in (KINDS[INSTANCETYPE], IPAM_CLAIMS):
        for each in client.list(resource, at.namespace)["items"]:
            client.patch(resource, at.namespace, each["metadata"]["name"], bare)
    with contextlib.suppress(ApiError):
        for each in client.list(CONTROLLER_REVISIONS, STRANGER)["items"]:
            client.delete(CONTROLLER_REVISIONS, STRANGER, each["metadata"]["name"])
        client.delete(NAMESPACES, None, STRANGER)
