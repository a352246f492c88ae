"""What has to hold of a write to an IPAMClaim, for those who use its addresses.

Whoever uses one has to be seen once it has existed for `SEEN` seconds: so long the last reads before a write and the
write take at most (steward.py). What has an address counts at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from reconcile.plan.plan import Delete, Patch, Plan, Remove
from reconcile.plan.remediations.networks._releasing import ALLOWED

from .access import COMPLETED
from .clocks import NOTICED
from .network import LINK
from .platform import Platform
from .saving import under_way
from .world import Change, Obj, World, meta_of
from .writer import Write

__all__ = ["SEEN", "TAKING", "Claims"]

SEEN = 3 * LINK
_BROUGHT = 3600.0  # seconds in which a restore, or an import, brings the VM of an IPAMClaim
_VM, _VMI = "VirtualMachine", "VirtualMachineInstance"
_OWNING = ("repair_ipam_claim_metadata", "adopt_ipam_claim")
TAKING = ("adopt_ipam_claim", "reclaim_ipam_claim")
"""Remediations by which a VM that is there gets another address, as its owner allows."""
_TOKEN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")  # of the name that ipam-extensions gives an IPAMClaim


@dataclass
class Claims:
    """`changed` is when Deployments, and VMs that were annotated, were written last, by UID."""

    world: World
    platform: Platform
    changed: dict[str, float]
    _asked: dict[str, float] = field(default_factory=dict)  # when a VM was asked to run, by UID
    _went: dict[str, float] = field(default_factory=dict)  # when a VM was gone, by name

    def __post_init__(self) -> None:
        self.world.watches.append(self._watch)

    def _watch(self, change: Change) -> None:
        if change.key[0] == _VM and change.after is None:
            self._went[change.key[2]] = self.world.now
        if change.key[0] != _VM or change.after is None or not _runs(change.after):
            return
        if change.before is None or not _runs(change.before):
            self._asked[meta_of(change.after)["uid"]] = self.world.now

    def gone_for(self, vm: str) -> float:
        """In seconds, of a VM that is gone."""
        return self.world.now - self._went.get(vm, 0.0)

    def released(self, ip: str, change: Change) -> Iterator[tuple[str, str]]:
        """To the network, because its IPAMClaim is gone."""
        if change.by.startswith("steward"):
            assert change.before is not None
            for holder in (*self._pods_with({ip}), *self._claims_with({ip}, change.before)):
                yield "address in use", f"{ip} of {holder} is back in the pool"

    def _claims_with(self, ips: set[str], of: Obj, but: str = "") -> Iterator[str]:
        """The IPAMClaims with one of the addresses in the network of that one."""
        for each in self.world.all("IPAMClaim"):
            name = meta_of(each)["name"]
            has = each["spec"]["network"] == of["spec"]["network"] and ips.intersection(each["status"].get("ips") or ())
            if name != but and has and self.world.age(each) > SEEN:
                yield f"IPAMClaim {name}"

    def _pods_with(self, ips: set[str]) -> Iterator[str]:
        for pod in self.world.all("Pod"):
            if self.platform.held.get(meta_of(pod)["uid"]) in ips and pod["status"]["phase"] not in COMPLETED:
                yield meta_of(pod)["name"]

    def of(self, write: Write) -> Iterator[tuple[str, str]]:
        plan = write.plan
        assert plan is not None
        claim = write.before if write.key[0] == "IPAMClaim" else self.world.get("IPAMClaim", plan.subject.name)
        if claim is None:
            return
        if plan.remediation in _OWNING and not _takes(plan):
            yield from self._repaired(write, claim)
            return
        if plan.remediation in TAKING:
            yield from self._allowed(claim)
        else:
            yield from self._gone(claim)
        yield from self._unused(claim)
        yield from self._in_time(write, claim)
        if isinstance(plan.step, Delete) and write.after is None:
            yield "protected", "it was gone at once, and its addresses with it"

    def used(self, claim: Obj, *, address: bool = False) -> Iterator[tuple[str, str]]:
        """Who uses its addresses, or is about to; with `address` only who runs with one."""
        if not address:
            yield from self._gone(claim)
        else:
            for each in self.interfaces_of(meta_of(claim)["name"]):
                if each["kind"] == _VMI and not meta_of(each).get("deletionTimestamp"):
                    yield "nobody of its name lives", f"VMI {meta_of(each)['name']} runs with it"
        yield from self._unused(claim)

    def _allowed(self, claim: Obj) -> Iterator[tuple[str, str]]:
        """Whoever has an interface for it is stopped, and may get another address."""
        for each in self.interfaces_of(meta_of(claim)["name"], 0):
            meta = meta_of(each)
            if each["kind"] == _VMI:
                if self.world.age(each) > SEEN:
                    yield "it stays stopped", f"VMI {meta['name']} exists"
                continue
            if _runs(each) and self.world.now - self._asked.get(meta["uid"], 0.0) > SEEN:
                yield "it stays stopped", f"VM {meta['name']} is to run"
            if claim["status"].get("ips") and (meta.get("annotations") or {}).get(ALLOWED) != "true":
                yield "its owner allows it", f"VM {meta['name']} is to keep its address"
        owners = meta_of(claim).get("ownerReferences") or ()
        label = meta_of(claim).get("labels", {}).get("kubevirt.io/vm")
        for owner in owners:
            if owner["kind"] not in (_VM, _VMI):
                yield "owner is known", f"{owner['kind']} {owner['name']} owns it too"
            elif label and owner["name"] != label:
                yield "owner is known", f"{owner['name']} owns it, and its label is {label}"

    def _repaired(self, write: Write, claim: Obj) -> Iterator[tuple[str, str]]:
        meta = meta_of(write.after or claim)
        owners = list(meta.get("ownerReferences") or ())
        name = meta.get("labels", {}).get("kubevirt.io/vm", "")
        yield from self.works()
        yield from self.saved(name)
        if meta.get("deletionTimestamp"):
            yield "owner lives", "it is being deleted"
        if self.ending(self.world.get("Namespace", "ns", "")):
            yield "owner lives", "its namespace is being deleted"
        if len(owners) != 1 or owners[0]["name"] != name:
            yield "owner is known", f"{len(owners)} own it, and its label is {name}"
        for each in owners:
            lives = self._live(each["kind"], each)
            if lives is None or self.ending(lives):
                yield "owner lives", f"{each['kind']} {each['name']} is gone, or being deleted"
            elif each["kind"] == _VM and self._runs_another(name, each["uid"]):
                yield "owner lives", f"the VMI that uses it is not of VM {each['name']}"
            elif not any(meta_of(user)["name"] == name for user in self.interfaces_of(meta["name"], 0)):
                yield "owner is known", f"{each['kind']} {name} has no interface for it"
        for each in meta_of(claim).get("ownerReferences") or ():
            if each["kind"] not in (_VM, _VMI):
                yield "owner is known", f"{each['kind']} {each['name']} owned it too"
        if claim["spec"]["network"] != "tenantblue":
            yield "owner is known", f"it is of network {claim['spec']['network']}"
        for each in self.interfaces_of(meta["name"]):
            if meta_of(each)["name"] != name:
                yield "owner is known", f"an interface of VM {meta_of(each)['name']} has an IPAMClaim of its name too"

    def interfaces_of(self, claim: str, age: float = SEEN) -> Iterator[Obj]:
        """VMs and VMIs with an interface whose IPAMClaim has this name."""
        for each in (*self.world.all(_VM), *self.world.all(_VMI)):
            spec = each["spec"]["template"]["spec"] if each["kind"] == _VM else each["spec"]
            names = (f"{meta_of(each)['name']}.{network['name']}" for network in spec.get("networks") or ())
            if any(".".join(_TOKEN.findall(name)) == claim for name in names) and self.world.age(each) >= age:
                yield each

    def _runs_another(self, name: str, uid: str) -> bool:
        running = self.world.get(_VMI, name)
        owners = [each["uid"] for each in meta_of(running).get("ownerReferences") or ()] if running else [uid]
        return uid not in owners and running is not None and self.world.age(running) > SEEN

    def ending(self, thing: Obj | None) -> bool:
        since = meta_of(thing).get("deletionTimestamp") if thing is not None else None
        return since is not None and self.world.now - datetime.fromisoformat(since).timestamp() > SEEN

    def works(self) -> Iterator[tuple[str, str]]:
        for each in self.world.all("Deployment"):
            if not each["status"].get("readyReplicas") and self._since(each) > SEEN:
                yield "what creates IPAMClaims works", f"{meta_of(each)['name']} is not ready"

    def _live(self, kind: str, owner: Obj) -> Obj | None:
        found = self.world.get(kind, owner["name"])
        return found if found is not None and meta_of(found)["uid"] == owner["uid"] else None

    def _gone(self, claim: Obj) -> Iterator[tuple[str, str]]:
        """Nothing of a name that it gives lives, but for its owner in deletion."""
        owners = meta_of(claim).get("ownerReferences") or ()
        names = {each["name"] for each in owners} | {meta_of(claim).get("labels", {}).get("kubevirt.io/vm", "")}
        uids = {each["uid"] for each in owners}
        if names == {""}:
            yield "owner is known", "nothing says whose it is"
        for owner in owners:
            if owner["kind"] not in (_VM, _VMI):
                yield "owner is known", f"{owner['kind']} {owner['name']} owns it too"
        for kind in (_VM, _VMI):
            for each in self.world.all(kind):
                meta = meta_of(each)
                ends = kind == _VM and meta.get("deletionTimestamp") and (not uids or meta["uid"] in uids)
                if meta["name"] in names and not ends and (meta["uid"] in uids or self.world.age(each) > SEEN):
                    yield "nobody of its name lives", f"{kind} {meta['name']} with UID {meta['uid']} exists"
        for each in self.interfaces_of(meta_of(claim)["name"]):
            if meta_of(each)["name"] not in names:
                yield "nobody of its name lives", f"VM {meta_of(each)['name']} has an interface for it"

    def _unused(self, claim: Obj) -> Iterator[tuple[str, str]]:
        meta = meta_of(claim)
        name = meta.get("labels", {}).get("kubevirt.io/vm")
        ips = set(claim["status"].get("ips") or ())
        for holder in (*self._pods_with(ips), *self._claims_with(ips, claim, meta["name"])):
            yield "address in use", f"{holder} has an address of it"
        for pod in self.world.all("Pod"):
            refers = meta_of(pod)["labels"].get("reference") == meta["name"]
            of_vm = name and meta_of(pod)["annotations"].get("kubevirt.io/domain") == name
            if (refers or of_vm) and pod["status"]["phase"] not in COMPLETED and self.world.age(pod) > SEEN:
                yield "no pod uses it", f"{meta_of(pod)['name']} refers to it, or is of its VM"
        yield from self.saved(name)

    def saved(self, name: str | None) -> Iterator[tuple[str, str]]:
        """Nothing moves it, saves it or brings it back."""
        for each in self.world.all("VirtualMachineInstanceMigration"):
            moves = each["spec"]["vmiName"] == name and each["status"]["phase"] not in COMPLETED
            if moves and self.world.age(each) > SEEN:
                yield "nothing moves", f"migration {meta_of(each)['name']} is {each['status']['phase']}"
        for what in under_way(self.world, name, SEEN) if name else ():
            yield "nothing is restored", what
        running = self.world.get(_VMI, name) if name else None
        moved = ((running or {}).get("status") or {}).get("migrationState") or {}
        if moved.get("startTimestamp") and not moved.get("endTimestamp"):
            yield "nothing moves", "the status of its VMI says that it migrates"
        vm = self.world.get(_VM, name) if name else None
        if vm is not None and (vm.get("status") or {}).get("snapshotInProgress"):
            yield "nothing is restored", "a snapshot of the VM is being taken"

    def _in_time(self, write: Write, claim: Obj) -> Iterator[tuple[str, str]]:
        """The controllers that do the same had their time, and what a deletion relies on works."""
        plan = write.plan
        assert plan is not None
        slack = NOTICED if write.skewed else 1.0
        if isinstance(plan.step, Delete):
            since = self.world.now - datetime.fromisoformat(meta_of(claim)["creationTimestamp"]).timestamp()
            if since < _BROUGHT - slack:
                yield "controllers come first", f"it was created {since:.0f} s ago, and its VM may come later"
            yield from self.works()
            if self.ending(self.world.get("Namespace", "ns", "")):
                yield "nobody of its name lives", "its namespace is being deleted"
        if isinstance(plan.step, Patch) and any(isinstance(op, Remove) for op in plan.step.ops):
            since = self.world.now - datetime.fromisoformat(meta_of(claim)["deletionTimestamp"]).timestamp()
            if since < 600 - slack:
                yield "controllers come first", f"it has been in deletion for {since:.0f} s"
            for owner in meta_of(claim).get("ownerReferences") or ():
                vm = self._live(_VM, owner)
                if vm is not None and self._since(vm) < 120 - slack:
                    yield "controllers come first", f"{owner['name']} was annotated {self._since(vm):.0f} s ago"

    def _since(self, thing: Obj) -> float:
        return self.world.now - self.changed.get(meta_of(thing)["uid"], 0.0)


def _runs(vm: Obj) -> bool:
    return vm["spec"].get("runStrategy") not in ("Halted", "Manual")


def _takes(plan: Plan) -> bool:
    """Whether it takes an address from a VM: removes the finalizer, or deletes."""
    return isinstance(plan.step, Delete) or (
        isinstance(plan.step, Patch) and any(isinstance(op, Remove) for op in plan.step.ops)
    )
