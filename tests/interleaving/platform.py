"""What acts on VMs and IPAMClaims beside the sidecar: KubeVirt, ipam-extensions, OVN-Kubernetes, garbage collection.

Each is a generator that stops before each of its calls. What it read before may have changed by then, as with the real
ones. From a VM to the address of its pod there are three links (VM to VMI, VMI to pod, pod to address), each of which
takes at least `network.LINK` seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from demo.apiserver.errors import ApiError
from demo.fleet.objects import FINALIZERS, IPAM_FINALIZER

from .made import claimed, lacking, launched, started
from .network import Network
from .stashing import COPY, lacks, started_with, stashed
from .world import Change, Obj, key_of, meta_of, owned_by

__all__ = ["Platform"]

_OWN_OF_VMI = FINALIZERS["VirtualMachineInstance"][0]
_OWN, _FOREGROUND = FINALIZERS["VirtualMachine"][0], "foregroundDeletion"


@dataclass
class Platform(Network):
    controller_up: bool = True  # ipam-extensions
    collecting: bool = True  # garbage collection of IPAMClaims
    stashing: bool = True  # virt-controller makes copies of instancetypes
    keeping: bool = False  # the specs that VMs start with, where anybody asks for them
    noting: bool = False  # the generations of VMs that run, likewise
    _events: list[tuple[str, str]] = field(default_factory=list)
    _made: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.world.watches.append(self._watch)

    def actors(self) -> dict[str, Iterator[None]]:
        return {
            "virt-controller": self.virt_controller(),
            "ipam-extensions": self.ipam_extensions(),
            "ovn-kubernetes": self.ovn_kubernetes(),
            "garbage-collector": self.garbage_collector(),
        }

    def _watch(self, change: Change) -> None:
        kind, _, name = change.key
        if self.controller_up and (
            kind == "VirtualMachineInstance" or (kind == "VirtualMachine" and change.before is not None)
        ):
            self._events.append((kind, name))

    def restart_controller(self) -> None:
        """It lists the VMs and VMIs that there are; of others no event ever comes."""
        self.controller_up = True
        for kind in ("VirtualMachine", "VirtualMachineInstance"):
            self._events += [(kind, each["metadata"]["name"]) for each in self.world.all(kind)]

    # KubeVirt

    def virt_controller(self) -> Iterator[None]:
        while True:
            moment = self.world.version, self.world.now
            for work in (self._vm_work, self._vmi_work, self._migration_work):
                yield from work()
            yield
            while moment == (self.world.version, self.world.now):  # there is still nothing to do
                yield

    def _vm_work(self) -> Iterator[None]:
        for vm in self.world.all("VirtualMachine"):
            name = meta_of(vm)["name"]
            if "instancetype" in vm["spec"] and not meta_of(vm).get("deletionTimestamp"):
                if self.stashing and meta_of(vm)["namespace"] == "ns":
                    yield from stashed(self.world, vm)
                if lacks(self.world, vm):
                    continue
            running = self.world.get("VirtualMachineInstance", name)
            ends = bool(meta_of(vm).get("deletionTimestamp")) or vm["spec"].get("runStrategy") == "Halted"
            status = vm.get("status") or {}
            requests, waits = status.get("stateChangeRequests"), status.get("printableStatus") == "Provisioning"
            asked = requests or vm["spec"].get("runStrategy") not in ("Manual", "WaitAsReceiver")
            if running is None and asked and not waits and not ends and self.ripe(vm):
                yield
                self._quietly(self._start, vm)
            elif running is not None and requests:
                yield
                self._quietly(self._done, vm)
            elif running is not None and self.noting and status.get("desiredGeneration") != meta_of(vm)["generation"]:
                yield
                self._quietly(self._note, vm)
            elif running is not None and ends and not meta_of(running).get("deletionTimestamp"):
                yield
                self._delete(running)
            elif running is None and meta_of(vm).get("deletionTimestamp") and _OWN in meta_of(vm)["finalizers"]:
                yield
                self._quietly(self._end, vm)

    def _vmi_work(self) -> Iterator[None]:
        for running in self.world.all("VirtualMachineInstance"):
            uid = meta_of(running)["uid"]
            pods = list(owned_by(self.world.all("Pod"), uid))
            if not meta_of(running).get("deletionTimestamp"):
                # Without its webhook no launcher pod can be created.
                if not pods and self.controller_up and self.ripe(running):
                    yield
                    self._quietly(self._launch, running)
                elif pods and pods[0]["status"]["phase"] == "Running" and running["status"]["phase"] != "Running":
                    yield
                    self._phase(running, "Running")
                continue
            for pod in pods:
                yield
                if pod["status"]["phase"] == "Succeeded":
                    self._delete(pod)
                else:
                    self._phase(pod, "Succeeded")
            if not pods:
                yield
                self._report(running)
                yield
                self._quietly(self._finish, running)

    def _migration_work(self) -> Iterator[None]:
        for migration in self.world.all("VirtualMachineInstanceMigration"):
            running = self.world.get("VirtualMachineInstance", migration["spec"]["vmiName"])
            if running is None or migration["status"]["phase"] in ("Succeeded", "Failed"):
                continue
            pods = list(owned_by(self.world.all("Pod"), meta_of(running)["uid"]))
            yield
            if len(pods) == 1 and self.controller_up:
                self._quietly(self._launch, running)
                self._phase(migration, "Running")
            elif len(pods) == 2 and all(each["status"]["phase"] == "Running" for each in pods):
                self._phase(pods[0], "Succeeded")
                yield
                self._delete(pods[0])
                self._phase(migration, "Succeeded")

    def _report(self, running: Obj) -> None:
        """In the status of its VM that it stops, before there is another one."""
        vm = self.world.get("VirtualMachine", meta_of(running)["name"])
        if vm is not None:
            status = {**(vm.get("status") or {}), "printableStatus": f"Stopping {meta_of(running)['uid']}"}
            self.world.change(vm, "virt-controller", lambda now: now | {"status": status})

    def _start(self, vm: Obj) -> None:
        running = started(vm)
        if self.keeping:
            running = started_with(self.world, vm, running)
        self.world.create(running, "virt-controller")

    def _done(self, vm: Obj) -> None:
        """What was asked for."""
        status = {**vm["status"], "stateChangeRequests": []}
        self.world.change(vm, "virt-controller", lambda now: now | {"status": status})

    def _note(self, vm: Obj) -> None:
        status = {**(vm.get("status") or {}), "desiredGeneration": meta_of(vm)["generation"]}
        self.world.change(vm, "virt-controller", lambda now: now | {"status": status})

    def _end(self, vm: Obj) -> None:
        self.world.change(vm, "virt-controller", lambda now: lacking(now, _OWN))

    def _finish(self, running: Obj) -> None:
        self.world.change(running, "virt-controller", lambda now: lacking(now, _OWN_OF_VMI))

    def _launch(self, running: Obj) -> None:
        self._made += 1
        name = meta_of(running)["name"]
        self.world.create(launched(running, f"virt-launcher-{name}-{self._made}", f"{name}.blue"), "virt-controller")

    def _phase(self, thing: Obj, phase: str) -> None:
        def change(now: Obj) -> Obj:
            return now | {"status": now["status"] | {"phase": phase}}

        self._quietly(lambda: self.world.change(thing, "virt-controller", change))

    def _delete(self, thing: Obj) -> None:
        key = (thing["kind"], "ns", meta_of(thing)["name"])
        self._quietly(lambda: self.world.delete(key, "virt-controller", uid=meta_of(thing)["uid"]))

    def _quietly(self, call: Callable[..., object], *given: Obj) -> None:
        """Controllers try again when they are refused."""
        with suppress(ApiError):
            call(*given)

    # ipam-extensions

    def ipam_extensions(self) -> Iterator[None]:
        while True:
            if not self.controller_up:
                self._events.clear()
            if not self._events:
                yield
                continue
            kind, name = self._events.pop(0)
            vm, running = self.world.get("VirtualMachine", name), self.world.get("VirtualMachineInstance", name)
            yield
            if self._ended(kind, vm, running):
                yield from self._clean_up(name)
            elif kind == "VirtualMachineInstance" and running is not None:
                self._quietly(self._claim, vm or running)

    def _ended(self, kind: str, vm: Obj | None, running: Obj | None) -> bool:
        if vm is not None:
            return running is None and bool(meta_of(vm).get("deletionTimestamp"))
        if kind == "VirtualMachine" or running is None:
            return True
        return bool(meta_of(running).get("deletionTimestamp")) and not any(
            each["status"]["phase"] == "Running" for each in owned_by(self.world.all("Pod"), meta_of(running)["uid"])
        )

    def _clean_up(self, name: str) -> Iterator[None]:
        """By the name alone, whatever the UIDs."""
        for claim in self.world.all("IPAMClaim"):
            if meta_of(claim).get("labels", {}).get("kubevirt.io/vm") == name:
                yield
                self._quietly(self._release, claim)

    def _claim(self, owner: Obj) -> None:
        self.world.create(claimed(owner), "ipam-extensions")

    def _release(self, claim: Obj) -> None:
        self.world.change(claim, "ipam-extensions", lambda now: lacking(now, IPAM_FINALIZER))

    # Garbage collection

    def garbage_collector(self) -> Iterator[None]:
        while True:
            version = self.world.version
            kinds = ("VirtualMachineInstance", "Pod", COPY)
            for thing in (*self._collected(), *(each for kind in kinds for each in self.world.all(kind))):
                owners, namespace = meta_of(thing).get("ownerReferences") or (), meta_of(thing)["namespace"]
                left = owners and not meta_of(thing).get("deletionTimestamp")
                if left and not any(self._lives(each, namespace) for each in owners):
                    yield
                    self._quietly(self._collect, thing)
            yield from self._foreground()
            yield
            while version == self.world.version:
                yield

    def _foreground(self) -> Iterator[None]:
        """A VM that is deleted with what it owns waits for that."""
        for vm in self.world.all("VirtualMachine"):
            held = meta_of(vm).get("deletionTimestamp") and _FOREGROUND in meta_of(vm)["finalizers"]
            if held and not any(owned_by(self.world.all("IPAMClaim"), meta_of(vm)["uid"])):
                yield
                self._quietly(self._let_go, vm)

    def _let_go(self, vm: Obj) -> None:
        self.world.change(vm, "garbage-collector", lambda now: lacking(now, _FOREGROUND))

    def _collect(self, thing: Obj) -> None:
        meta = meta_of(thing)
        self.world.delete(key_of(thing), "garbage-collector", uid=meta["uid"], version=meta["resourceVersion"])

    def _collected(self) -> list[Obj]:
        return self.world.all("IPAMClaim") if self.collecting else []

    def _lives(self, owner: Obj, namespace: str = "ns") -> bool:
        found = self.world.get(owner["kind"], owner["name"], namespace)
        return found is not None and meta_of(found)["uid"] == owner["uid"]
