"""Things that happen to the sample fleet, over and over: findings open, close, and open again.

Each round ends where it began. The story plays people, kubelets and controllers; it does by
plain writes what they would have done. Whoever else writes to the server meanwhile may win:
a step whose object is gone, or there already, does nothing.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from .apiserver import ApiServer
from .errors import ApiError
from .fleet import complete, healthy_machines
from .machines import Machine, virtual_machine
from .registry import utc_now
from .resources import Obj
from .running import instance, launcher, plain_pod, start_revision

Step = tuple[Callable[[], None], str]
"""What happens, and the sentence that says so."""


async def tell(server: ApiServer, say: Callable[[str], None], pace: float = 10.0) -> None:
    """Tells the story for ever, one step every `pace` seconds; cancel it to end it."""
    turn = 0
    while True:
        turn += 1
        for happen, sentence in steps(server, utc_now(), turn):
            await asyncio.sleep(pace)
            say(sentence)
            happen()


def steps(server: ApiServer, now: datetime, turn: int) -> Iterator[Step]:
    """One round. Each step is made when its turn comes, hence from what is there then."""
    cast = {machine.name: machine for machine in healthy_machines(now)}
    yield from _deleted_and_stuck(_Stage(server), cast["flash-sale-1"], turn)
    yield from _one_address_twice(_Stage(server), cast["audit-1"])
    yield from _owner_lost(_Stage(server), cast["bench-3"])
    yield from _restarted(_Stage(server), cast["web-4"], turn)
    yield from _copied(_Stage(server), cast["cart-2"])
    yield from _drained(_Stage(server), cast["desktop-4"])


@dataclass(frozen=True, slots=True)
class _Stage:
    """The server, forgiving: what can't be done is left out."""

    server: ApiServer

    def create(self, *objects: Obj) -> None:
        for obj in objects:
            with suppress(ApiError):
                self.server.create(obj)

    def patch(self, plural: str, machine: Machine, name: str, patch: Obj) -> None:
        with suppress(ApiError):
            self.server.patch(plural, machine.namespace, name, patch)

    def remove(self, plural: str, namespace: str, name: str) -> None:
        """Deletes an object and takes its finalizers off."""
        with suppress(ApiError):
            self.server.patch(plural, namespace, name, {"metadata": {"finalizers": None}})
            self.server.delete(plural, namespace, name)

    def next_generation(self, machine: Machine) -> int:
        """What the VM's generation will be after a change of its spec."""
        with suppress(ApiError):
            now: int = self.server.get("virtualmachines", machine.namespace, machine.name)["metadata"]["generation"]
            return now + 1
        return 1

    def stop(self, machine: Machine) -> None:
        """Removes all that a machine has only while it runs, whatever it is called by now."""
        for plural in ("pods", "virtualmachineinstances", "controllerrevisions"):
            for obj in self.server.objects(plural):
                meta = obj["metadata"]
                if meta["namespace"] == machine.namespace and _belongs(obj, machine):
                    self.remove(plural, machine.namespace, meta["name"])


def _belongs(obj: Obj, machine: Machine) -> bool:
    owners = obj["metadata"].get("ownerReferences", ())
    return any(owner["name"] == machine.name for owner in owners)


def _deleted_and_stuck(stage: _Stage, machine: Machine, turn: int) -> Iterator[Step]:
    namespace, name = machine.namespace, machine.name
    title = f"{namespace}/{name}"

    def deleted() -> None:
        with suppress(ApiError):
            stage.server.delete("ipamclaims", namespace, machine.claim_name)
        stage.stop(machine)
        stage.remove("virtualmachines", namespace, name)
        stage.remove("persistentvolumeclaims", namespace, f"{name}-root")

    def released() -> None:
        stage.patch("ipamclaims", machine, machine.claim_name, {"metadata": {"finalizers": None}})

    def made_again() -> None:
        new = replace(machine, generation=f"turn {turn}", age=timedelta(minutes=1), up=timedelta(seconds=30))
        stage.create(*complete(new))

    yield (
        deleted,
        f"VM {title} is deleted while ipam-extensions is down: its claim keeps the finalizer and the address.",
    )
    yield released, f"The finalizer is taken off {machine.claim_name}: the claim goes, and its address is free."
    yield made_again, f"VM {title} is created again and starts, with a claim of its own."


def _one_address_twice(stage: _Stage, machine: Machine) -> Iterator[Step]:
    intruder = plain_pod(machine, "report-export", "node02")
    meta = intruder["metadata"]
    pod = f"{meta['namespace']}/{meta['name']}"
    address = machine.addresses[0].partition("/")[0]

    def taken() -> None:
        stage.create(intruder)

    def freed() -> None:
        stage.remove("pods", meta["namespace"], meta["name"])

    yield taken, f"Pod {pod} starts on {address}, which is reserved for the stopped VM {machine.name}."
    yield freed, f"Pod {pod} ends: {address} has one holder again."


def _owner_lost(stage: _Stage, machine: Machine) -> Iterator[Step]:
    claim = machine.claim_name
    kept: list[Obj] = []

    def stripped() -> None:
        with suppress(ApiError):
            found = stage.server.get("ipamclaims", machine.namespace, claim)
            kept.extend(found["metadata"].get("ownerReferences", ()))
        stage.patch("ipamclaims", machine, claim, {"metadata": {"ownerReferences": None}})

    def put_back() -> None:
        stage.patch("ipamclaims", machine, claim, {"metadata": {"ownerReferences": kept}})

    yield stripped, f"A backup tool restores claim {machine.namespace}/{claim} without its owner."
    yield put_back, f"The owner of claim {machine.namespace}/{claim} is put back."


def _restarted(stage: _Stage, machine: Machine, turn: int) -> Iterator[Step]:
    title = f"{machine.namespace}/{machine.name}"

    def stopped() -> None:
        stage.stop(machine)
        off = virtual_machine(replace(machine.stopped(), up=timedelta(0), vm_generation=stage.next_generation(machine)))
        gone = {"created": None, "ready": None}
        change = {"spec": {"runStrategy": "Halted"}, "status": off["status"] | gone}
        stage.patch("virtualmachines", machine, machine.name, change)

    def started() -> None:
        generation = stage.next_generation(machine)
        new = replace(machine, boot=f"turn {turn}", up=timedelta(seconds=30), vm_generation=generation)
        stage.create(start_revision(new), instance(new), launcher(new))
        change = {"spec": {"runStrategy": "Always"}, "status": virtual_machine(new)["status"]}
        stage.patch("virtualmachines", machine, machine.name, change)

    yield stopped, f"VM {title} is stopped; it keeps its claim, and nothing is wrong with that."
    yield started, f"VM {title} starts again, on the address it had."


def _copied(stage: _Stage, machine: Machine) -> Iterator[Step]:
    copy = replace(machine.stopped(), name=f"{machine.name}-test", network=None, age=timedelta(0))

    def applied() -> None:
        vm = virtual_machine(copy)
        spec = vm["spec"]["template"]["spec"]["domain"]
        spec["firmware"] = virtual_machine(machine)["spec"]["template"]["spec"]["domain"]["firmware"]
        stage.create(vm)

    def removed() -> None:
        stage.remove("virtualmachines", copy.namespace, copy.name)

    what = f"VM {copy.namespace}/{copy.name}"
    yield applied, f"{what} is made from a copy of {machine.name}'s manifest, with its UUID and serial."
    yield removed, f"{what} is deleted: {machine.name} is the only one with its UUID again."


def _drained(stage: _Stage, machine: Machine) -> Iterator[Step]:
    """A drain that meets a machine with a disk of the node, until that is unplugged."""

    def node(**spec: object) -> None:
        with suppress(ApiError):
            stage.server.patch("nodes", "", machine.node, {"spec": spec})

    def able(*, migratable: bool) -> None:
        conditions = instance(machine)["status"]["conditions"]
        if not migratable:
            hindered = {"status": "False", "reason": "DisksNotLiveMigratable", "message": "disk scratch is not shared"}
            conditions = [c | hindered if c["type"] == "LiveMigratable" else c for c in conditions]
        stage.patch("virtualmachineinstances", machine, machine.name, {"status": {"conditions": conditions}})

    def cordoned() -> None:
        able(migratable=False)
        node(unschedulable=True)

    title = f"{machine.namespace}/{machine.name}"
    yield cordoned, f"Node {machine.node} is drained, and VM {title} can't leave it: a disk of it is on that node."
    yield lambda: able(migratable=True), f"The disk is unplugged from VM {title}: it can migrate."
    yield lambda: node(unschedulable=None), f"Node {machine.node} is uncordoned."
