"""What acts on VMs and IPAMClaims beside the sidecar: KubeVirt, ipam-extensions, OVN-Kubernetes, garbage collection.

Each is a generator that stops before each of its calls. What it read before may have changed by then, as with the real
ones. From a VM to the address of its pod there are three links (VM to VMI, VMI to pod, pod to address), each of which
takes at least `LINK` seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from exporter.demo.objects import FINALIZERS, IPAM_FINALIZER, filled, owner_of, vmi
from exporter.demo.pods import attached, launcher
from exporter.demo.pods import claim as made_claim
from exporter.fakeapi.errors import ApiError
from exporter.model.firmware import legacy

from .world import Change, Obj, World, meta_of, owned_by, with_meta

__all__ = ["LINK", "Platform"]

LINK = 2.0  # seconds
_NETWORK, _NAD = "tenantblue", "ns/blue"
_OWN, _FOREGROUND = FINALIZERS["VirtualMachine"][0], "foregroundDeletion"


@dataclass
class Platform:
    """`pool` are the addresses that OVN-Kubernetes has given out, `held` those of pods by their UIDs.

    With `writes_owner` it writes the pod into the IPAMClaim's status whenever one starts to use it, as its newest
    version does; the others write nothing to an IPAMClaim that has its addresses. `released` is called with each
    address that goes back to the pool and what has removed its IPAMClaim.
    """

    world: World
    writes_owner: bool = False
    controller_up: bool = True  # ipam-extensions
    collecting: bool = True  # garbage collection of IPAMClaims
    pool: set[str] = field(default_factory=set)
    held: dict[str, str] = field(default_factory=dict)
    released: Callable[[str, Change], None] = lambda *_: None
    _events: list[tuple[str, str]] = field(default_factory=list)
    _removed: list[Change] = field(default_factory=list)
    _made: int = 0

    def __post_init__(self) -> None:
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
        if kind == "IPAMClaim" and change.after is None:
            self._removed.append(change)
        if kind == "Pod" and change.after is None and change.before is not None:
            self._pod_gone(change.before)
        if kind == "Pod" and change.after is not None and change.after["status"]["phase"] == "Succeeded":
            self._pod_gone(change.after)

    def restart_controller(self) -> None:
        """It lists the VMs and VMIs that there are; of others no event ever comes."""
        self.controller_up = True
        for kind in ("VirtualMachine", "VirtualMachineInstance"):
            self._events += [(kind, each["metadata"]["name"]) for each in self.world.all(kind)]

    # OVN-Kubernetes

    def _pod_gone(self, pod: Obj) -> None:
        address = self.held.pop(meta_of(pod)["uid"], None)
        reference = meta_of(pod).get("labels", {}).get("reference")
        claim = self.world.get("IPAMClaim", reference) if reference else None
        if address and (claim is None or not claim["status"].get("ips")) and address not in self.held.values():
            self.pool.discard(address)

    def ovn_kubernetes(self) -> Iterator[None]:
        while True:
            if self._removed:
                change = self._removed.pop(0)
                for ip in (change.before or {}).get("status", {}).get("ips") or ():
                    self.pool.discard(ip)
                    self.released(ip, change)
                yield
                continue
            for pod in self.world.all("Pod"):
                if self._waits(pod):
                    yield from self._give(pod)
                    break
            else:
                yield

    def _waits(self, pod: Obj) -> bool:
        live = pod["status"]["phase"] in ("Pending", "Running")
        return live and meta_of(pod)["uid"] not in self.held and self.ripe(pod)

    def ripe(self, thing: Obj) -> bool:
        return self.world.age(thing) > LINK

    def _give(self, pod: Obj) -> Iterator[None]:
        name, reference = meta_of(pod)["name"], meta_of(pod)["labels"].get("reference")
        claim = self.world.get("IPAMClaim", reference) if reference else None
        yield
        if reference and claim is None:
            return
        ips = list((claim or {}).get("status", {}).get("ips") or ()) or [self._free()]
        if claim is not None and (self.writes_owner or not claim["status"].get("ips")):
            status = {**claim["status"], "ips": ips, "ownerPod": {"name": name}}
            try:
                self.world.change(claim, "ovn-kubernetes", lambda now: now | {"status": status})
            except ApiError:
                return
        self.pool.update(ips)
        yield
        now = self.world.get("Pod", name)
        if now is None or meta_of(now)["uid"] != meta_of(pod)["uid"]:
            return
        notes = attached([(_NAD, reference)], {_NAD: ips}, "10.244.0.9/24")
        self.held[meta_of(now)["uid"]] = ips[0]
        running = with_meta(now, annotations=meta_of(now)["annotations"] | notes)
        running["status"] = now["status"] | {"phase": "Running"}
        self.world.change(now, "ovn-kubernetes", lambda _: running)

    def _free(self) -> str:
        return next(ip for number in range(5, 250) if (ip := f"10.0.0.{number}/16") not in self.pool)

    # KubeVirt

    def virt_controller(self) -> Iterator[None]:
        while True:
            for work in (self._vm_work, self._vmi_work, self._migration_work):
                yield from work()
            yield

    def _vm_work(self) -> Iterator[None]:
        for vm in self.world.all("VirtualMachine"):
            name = meta_of(vm)["name"]
            running = self.world.get("VirtualMachineInstance", name)
            ends = bool(meta_of(vm).get("deletionTimestamp")) or vm["spec"].get("runStrategy") == "Halted"
            if running is None and not ends and self.ripe(vm):
                yield
                self._quietly(lambda vm=vm: self.world.create(started(vm), "virt-controller"))
            elif running is not None and ends and not meta_of(running).get("deletionTimestamp"):
                yield
                self._delete(running)
            elif running is None and meta_of(vm).get("deletionTimestamp") and _OWN in meta_of(vm)["finalizers"]:
                yield
                self._quietly(lambda vm=vm: self.world.change(vm, "virt-controller", lambda now: lacking(now, _OWN)))

    def _vmi_work(self) -> Iterator[None]:
        for running in self.world.all("VirtualMachineInstance"):
            uid = meta_of(running)["uid"]
            pods = list(owned_by(self.world.all("Pod"), uid))
            if not meta_of(running).get("deletionTimestamp"):
                # Without its webhook no launcher pod can be created.
                if not pods and self.controller_up and self.ripe(running):
                    yield
                    self._quietly(lambda running=running: self._launch(running))
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
                self._quietly(lambda running=running: self._finish(running))

    def _migration_work(self) -> Iterator[None]:
        for migration in self.world.all("VirtualMachineInstanceMigration"):
            running = self.world.get("VirtualMachineInstance", migration["spec"]["vmiName"])
            if running is None or migration["status"]["phase"] in ("Succeeded", "Failed"):
                continue
            pods = list(owned_by(self.world.all("Pod"), meta_of(running)["uid"]))
            yield
            if len(pods) == 1 and self.controller_up:
                self._quietly(lambda running=running: self._launch(running))
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

    def _finish(self, running: Obj) -> None:
        self.world.change(running, "virt-controller", lambda now: with_meta(now, finalizers=[]))

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

    def _quietly(self, call: Callable[[], object]) -> None:
        """Controllers try again when they are refused."""
        try:
            call()
        except ApiError:
            pass

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
                self._quietly(
                    lambda vm=vm, running=running: self.world.create(claimed(vm or running), "ipam-extensions")
                )

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
                self._quietly(lambda claim=claim: self._release(claim))

    def _release(self, claim: Obj) -> None:
        self.world.change(claim, "ipam-extensions", lambda now: lacking(now, IPAM_FINALIZER))

    # Garbage collection

    def garbage_collector(self) -> Iterator[None]:
        while True:
            for thing in (*self._collected(), *self.world.all("VirtualMachineInstance"), *self.world.all("Pod")):
                owners = meta_of(thing).get("ownerReferences") or ()
                if owners and not meta_of(thing).get("deletionTimestamp") and not any(map(self._lives, owners)):
                    yield
                    key, meta = (thing["kind"], "ns", meta_of(thing)["name"]), meta_of(thing)
                    self._quietly(
                        lambda key=key, meta=meta: self.world.delete(
                            key, "garbage-collector", uid=meta["uid"], version=meta["resourceVersion"]
                        )
                    )
            yield from self._foreground()
            yield

    def _foreground(self) -> Iterator[None]:
        """A VM that is deleted with what it owns waits for that."""
        for vm in self.world.all("VirtualMachine"):
            held = meta_of(vm).get("deletionTimestamp") and _FOREGROUND in meta_of(vm)["finalizers"]
            if held and not any(owned_by(self.world.all("IPAMClaim"), meta_of(vm)["uid"])):
                yield
                self._quietly(lambda vm=vm: self._let_go(vm))

    def _let_go(self, vm: Obj) -> None:
        self.world.change(vm, "garbage-collector", lambda now: lacking(now, _FOREGROUND))

    def _collected(self) -> list[Obj]:
        return self.world.all("IPAMClaim") if self.collecting else []

    def _lives(self, owner: Obj) -> bool:
        found = self.world.get(owner["kind"], owner["name"])
        return found is not None and meta_of(found)["uid"] == owner["uid"]


def lacking(thing: Obj, finalizer: str) -> Obj:
    return with_meta(thing, finalizers=[each for each in meta_of(thing).get("finalizers") or () if each != finalizer])


def started(vm: Obj) -> Obj:
    """The VMI of a VM, with the UUID that it has or that is derived from its name."""
    name, spec = meta_of(vm)["name"], vm["spec"]["template"]["spec"]
    firmware = spec["domain"].get("firmware") or {}
    domain = spec["domain"] | {"firmware": firmware | {"uuid": firmware.get("uuid") or legacy(name)}}
    finalizers = FINALIZERS["VirtualMachineInstance"]
    return vmi("ns", name, spec | {"domain": domain}, phase="Pending", owners=[owner_of(vm)], finalizers=finalizers)


def launched(running: Obj, name: str, reference: str) -> Obj:
    """A launcher pod that has no address yet."""
    return launcher(
        "ns",
        name,
        meta_of(running)["name"],
        vmi_uid=meta_of(running)["uid"],
        node="node01",
        phase="Pending",
        labels={"reference": reference},
        annotations=attached([(_NAD, reference)]),
        owners=[owner_of(running)],
    )


def claimed(owner: Obj, ips: list[str] | None = None) -> Obj:
    """The IPAMClaim that ipam-extensions creates for a VM or VMI."""
    name = meta_of(owner)["name"]
    return made_claim(
        "ns",
        f"{name}.blue",
        _NETWORK,
        ips,
        vm=name,
        owners=[owner_of(owner)],
        status=filled(),
        finalizers=(IPAM_FINALIZER,),
    )
