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

from .apiserver.errors import ApiError
from .apiserver.registry import timestamp, utc_now
from .apiserver.resources import Obj
from .apiserver.server import ApiServer
from .fleet.faulty_instancetypes import SIGNALLING, UNVERSIONED, signalling
from .fleet.instancetypes import copy, reference
from .fleet.networks import GATES
from .fleet.sample import healthy_vms
from .fleet.samples import SampleVM, complete, plain_pod, virtual_machine, vmi, while_running
from .fleet.trouble import deleting, minutes

_LONG_AGO = timedelta(minutes=15)  # longer than what is stuck has to be so before it is reported

Say = Callable[[str], None]
Step = tuple[Callable[[], None], str]
"""What happens, and the sentence that says so."""


async def play(server: ApiServer, say: Say, pace: float = 10.0) -> None:
    """Plays the story for ever, one step every `pace` seconds; cancel it to end it."""
    turn = 0
    while True:
        turn += 1
        for happen, sentence in steps(server, utc_now(), turn):
            await asyncio.sleep(pace)
            say(sentence)
            happen()


def steps(server: ApiServer, now: datetime, turn: int) -> Iterator[Step]:
    """One round. Each step is made when its turn comes, hence from what is there then."""
    cast = {sample.name: sample for sample in healthy_vms(now)}
    deleted, *made_again = _instancetype_deleted(_Stage(server), [cast["smsc-1"], cast["smsc-2"]], turn)
    yield from _deleted_and_stuck(_Stage(server), cast["flash-sale-1"], turn)
    yield deleted  # long enough before it is created again to be reported
    yield from _one_address_twice(_Stage(server), cast["audit-1"])
    yield from _owner_lost(_Stage(server), cast["bench-3"])
    yield from _restarted(_Stage(server), cast["web-4"], turn)
    yield from _copied(_Stage(server), cast["cart-2"])
    yield from _drained(_Stage(server), cast["desktop-4"])
    yield from made_again
    yield from _switched_off(_Stage(server))


@dataclass(frozen=True, slots=True)
class _Stage:
    """The server, forgiving: what can't be done is left out."""

    server: ApiServer

    def create(self, *objects: Obj) -> None:
        for obj in objects:
            with suppress(ApiError):
                self.server.create(obj)

    def patch(self, plural: str, sample: SampleVM, name: str, patch: Obj) -> None:
        with suppress(ApiError):
            self.server.patch(plural, sample.namespace, name, patch)

    def remove(self, plural: str, namespace: str, name: str) -> None:
        """Deletes an object and takes its finalizers off."""
        with suppress(ApiError):
            self.server.patch(plural, namespace, name, {"metadata": {"finalizers": None}})
            self.server.delete(plural, namespace, name)

    def begin_deletion(self, sample: SampleVM, ago: timedelta) -> None:
        """Makes the claim of the VM one that its finalizer has held for so long."""
        with suppress(ApiError):
            claim = self.server.get("ipamclaims", sample.namespace, sample.claim_name)
            self.remove("ipamclaims", sample.namespace, sample.claim_name)
            self.create(deleting(claim, utc_now() - ago))

    def next_generation(self, sample: SampleVM) -> int:
        """What the VM's generation will be after a change of its spec."""
        with suppress(ApiError):
            now: int = self.server.get("virtualmachines", sample.namespace, sample.name)["metadata"]["generation"]
            return now + 1
        return 1

    def stop(self, sample: SampleVM) -> None:
        """Removes all that a VM has only while it runs, whatever it is called by now."""
        for plural in ("pods", "virtualmachineinstances", "controllerrevisions"):
            for obj in self.owned(plural, sample):
                if plural != "controllerrevisions" or "labels" not in obj["metadata"]:
                    self.remove(plural, sample.namespace, obj["metadata"]["name"])

    def owned(self, plural: str, sample: SampleVM) -> list[Obj]:
        found = self.server.objects(plural)
        return [obj for obj in found if obj["metadata"]["namespace"] == sample.namespace and _belongs(obj, sample)]


def _belongs(obj: Obj, sample: SampleVM) -> bool:
    owners = obj["metadata"].get("ownerReferences", ())
    return any(owner["name"] == sample.name for owner in owners)


def _deleted_and_stuck(stage: _Stage, sample: SampleVM, turn: int) -> Iterator[Step]:
    namespace, name = sample.namespace, sample.name
    title = f"{namespace}/{name}"

    def deleted() -> None:
        stage.begin_deletion(sample, _LONG_AGO)
        stage.stop(sample)
        stage.remove("virtualmachines", namespace, name)
        stage.remove("persistentvolumeclaims", namespace, f"{name}-root")

    def released() -> None:
        stage.patch("ipamclaims", sample, sample.claim_name, {"metadata": {"finalizers": None}})

    def made_again() -> None:
        new = replace(sample, generation=f"turn {turn}", age=timedelta(minutes=1), up=timedelta(seconds=30))
        stage.create(*complete(new))

    yield (
        deleted,
        f"VM {title}, deleted {minutes(_LONG_AGO)} ago while ipam-extensions was down, is gone; its claim isn't.",
    )
    yield released, f"The finalizer of {sample.claim_name} is removed: the claim is deleted, and its address is free."
    yield made_again, f"VM {title} is created again and starts with its own claim."


def _one_address_twice(stage: _Stage, sample: SampleVM) -> Iterator[Step]:
    intruder = plain_pod(sample, "report-export", "node02")
    meta = intruder["metadata"]
    pod = f"{meta['namespace']}/{meta['name']}"
    address = sample.addresses[0].partition("/")[0]

    def taken() -> None:
        stage.create(intruder)

    def freed() -> None:
        stage.remove("pods", meta["namespace"], meta["name"])

    yield taken, f"Pod {pod} starts on {address}, which is reserved for the stopped VM {sample.name}."
    yield freed, f"Pod {pod} ends: {address} has one holder again."


def _owner_lost(stage: _Stage, sample: SampleVM) -> Iterator[Step]:
    claim = sample.claim_name
    kept: list[Obj] = []

    def stripped() -> None:
        with suppress(ApiError):
            found = stage.server.get("ipamclaims", sample.namespace, claim)
            kept.extend(found["metadata"].get("ownerReferences", ()))
        stage.patch("ipamclaims", sample, claim, {"metadata": {"ownerReferences": None}})

    def put_back() -> None:
        stage.patch("ipamclaims", sample, claim, {"metadata": {"ownerReferences": kept}})

    yield stripped, f"A backup tool restores claim {sample.namespace}/{claim} without its owner."
    yield put_back, f"The owner of claim {sample.namespace}/{claim} is restored."


def _restarted(stage: _Stage, sample: SampleVM, turn: int) -> Iterator[Step]:
    title = f"{sample.namespace}/{sample.name}"

    def stopped() -> None:
        stage.stop(sample)
        off = virtual_machine(replace(sample.stopped(), up=timedelta(0), vm_generation=stage.next_generation(sample)))
        gone = {"created": None, "ready": None}
        change = {"spec": {"runStrategy": "Halted"}, "status": off["status"] | gone}
        stage.patch("virtualmachines", sample, sample.name, change)

    def started() -> None:
        generation = stage.next_generation(sample)
        new = replace(sample, boot=f"turn {turn}", up=timedelta(seconds=30), vm_generation=generation)
        stage.create(*while_running(new))
        change = {"spec": {"runStrategy": "Always"}, "status": virtual_machine(new)["status"]}
        stage.patch("virtualmachines", sample, sample.name, change)

    yield stopped, f"VM {title} is stopped and keeps its claim, as expected."
    yield started, f"VM {title} starts again with its earlier address."


def _copied(stage: _Stage, sample: SampleVM) -> Iterator[Step]:
    copy = replace(sample.stopped(), name=f"{sample.name}-test", network=None, age=timedelta(0))

    def applied() -> None:
        vm = virtual_machine(copy)
        spec = vm["spec"]["template"]["spec"]["domain"]
        spec["firmware"] = virtual_machine(sample)["spec"]["template"]["spec"]["domain"]["firmware"]
        stage.create(vm)

    def removed() -> None:
        stage.remove("virtualmachines", copy.namespace, copy.name)

    what = f"VM {copy.namespace}/{copy.name}"
    yield applied, f"{what} is created from a copy of {sample.name}'s manifest, with the same UUID and serial."
    yield removed, f"{what} is deleted: {sample.name} is the only VM with its UUID again."


def _drained(stage: _Stage, sample: SampleVM) -> Iterator[Step]:
    """A drain that meets a VM with a disk of the node, until that is unplugged."""

    def node(**spec: object) -> None:
        with suppress(ApiError):
            stage.server.patch("nodes", "", sample.node, {"spec": spec})

    def disks(hindrance: str) -> None:
        conditions = vmi(replace(sample, hindrance=hindrance))["status"]["conditions"]
        stage.patch("virtualmachineinstances", sample, sample.name, {"status": {"conditions": conditions}})

    def cordoned() -> None:
        disks("disk scratch is not shared")
        node(unschedulable=True)

    title = f"{sample.namespace}/{sample.name}"
    yield (
        cordoned,
        f"Node {sample.node} is being drained, but VM {title} can't leave it: one of its disks is on that node.",
    )
    yield lambda: disks(""), f"The disk is unplugged from VM {title}: it can migrate."
    yield lambda: node(unschedulable=None), f"Node {sample.node} is uncordoned."


def _instancetype_deleted(stage: _Stage, versioned: list[SampleVM], turn: int) -> Iterator[Step]:
    """Two of its VMs have copies of it, and two have none."""
    new = signalling(timestamp(utc_now()), f"turn {turn}")

    def deleted() -> None:
        stage.remove("virtualmachineinstancetypes", "telecom", SIGNALLING)

    def created() -> None:
        stage.create(new)

    def copied() -> None:
        for sample in versioned:
            with suppress(ApiError):
                vm = stage.server.get("virtualmachines", sample.namespace, sample.name)
                fresh = copy(vm, new, created=timestamp(utc_now()))
                old = [each for each in stage.owned("controllerrevisions", sample) if "labels" in each["metadata"]]
                stage.create(fresh)
                referred = reference(new, fresh["metadata"]["name"])
                stage.patch("virtualmachines", sample, sample.name, {"status": {"instancetypeRef": referred}})
                for each in old:
                    stage.remove("controllerrevisions", sample.namespace, each["metadata"]["name"])

    title = f"Instancetype telecom/{SIGNALLING}"
    kept, lost = " and ".join(each.name for each in versioned), " and ".join(UNVERSIONED)
    yield deleted, f"{title} is deleted: {kept} keep their ControllerRevisions; {lost} have none and can't be stopped."
    yield (
        created,
        f"{title} is created again: {lost} can use it again; the ControllerRevisions of {kept} are of the deleted one.",
    )
    yield copied, f"{kept} get ControllerRevisions of the new one."


def _switched_off(stage: _Stage) -> Iterator[Step]:
    """A gate goes off under VMs that run, are stopped and are pending, and on again."""
    gate = "DownwardMetrics"

    def listed(gates: list[str]) -> None:
        change = {"spec": {"configuration": {"developerConfiguration": {"featureGates": gates}}}}
        with suppress(ApiError):
            stage.server.patch("kubevirts", "kubevirt", "kubevirt", change)

    def off() -> None:
        listed([each for each in GATES if each != gate])

    hurt = "hss-1 and hss-2 keep running but can't be edited, hss-spare-1 can't start, and pending dpi can start once"
    yield off, f"Feature gate {gate} is disabled: {hurt}."
    yield lambda: listed(list(GATES)), f"Feature gate {gate} is enabled again."
