"""What has to hold of a write to an instancetype, or to a copy of one, for the VMs that depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from demo.fleet.instancetypes import copy_name
from reconcile.plan.plan import Delete
from reconcile.plan.remediations.instancetypes.guard_instancetype import ALLOWED

from .belonging import OF_REVISIONS
from .network import LINK
from .saving import under_way
from .stashing import COPY, SIZE, named_by
from .world import Change, Obj, World, meta_of
from .writer import Write

__all__ = ["Copies"]

_VM, _VMI = "VirtualMachine", "VirtualMachineInstance"
_DAY = 86_400.0


@dataclass
class Copies:
    """Whatever has existed for `seen` seconds has to be seen. What an instancetype was, by UID and generation, is known
    here from the beginning: KubeVirt copies nothing else.
    """

    world: World
    seen: float = 3 * LINK
    _specs: dict[tuple[str, int], Obj] = field(default_factory=dict)
    since: dict[tuple[str, str], float] = field(default_factory=dict)  # by VM and copy: when it was referred to
    changed: dict[str, float] = field(default_factory=dict)  # when the spec of a VM that is there was changed last

    def __post_init__(self) -> None:
        self.world.watches.append(self._watch)

    def _watch(self, change: Change) -> None:
        kind, namespace, name = change.key
        if change.after is None:
            return
        if kind == SIZE:
            meta = meta_of(change.after)
            self._specs[meta["uid"], meta["generation"]] = change.after["spec"]
        elif kind == COPY and change.by in ("virt-controller", "admin") and namespace == "ns":
            made = (change.after.get("data") or {}).get("metadata") or {}
            if {"uid", "generation"} <= made.keys():
                self._specs.setdefault((made["uid"], made["generation"]), change.after["data"]["spec"])
        elif kind == _VM and namespace == "ns":
            had = named_by(change.before) if change.before is not None else None
            if change.before is not None and change.before["spec"] != change.after["spec"]:
                self.changed[name] = self.world.now
            if named_by(change.after) != had:
                self.since[name, named_by(change.after)] = self.world.now

    def of(self, write: Write) -> Iterator[tuple[str, str]]:
        plan = write.plan
        assert plan is not None
        if write.key[1] == "ns":
            yield from self._ending()
        if plan.remediation in OF_REVISIONS:
            yield from OF_REVISIONS[plan.remediation](self, write)
        elif plan.remediation == "guard_instancetype":
            yield from self._guarded(write)
        elif isinstance(plan.step, Delete):
            yield from self._deleted(write)
        elif write.key[0] == COPY:
            yield from self._of_vm(plan.subject.name, write)
            yield from self._made(write)
        else:
            yield from self._of_vm(plan.subject.name, write)
            yield from self._dropped(write)

    def _ending(self) -> Iterator[tuple[str, str]]:
        namespace = self.world.get("Namespace", "ns", "")
        since = meta_of(namespace).get("deletionTimestamp") if namespace is not None else None
        if since is not None and self.world.now - datetime.fromisoformat(since).timestamp() > self.seen:
            yield "what ends is left", "its namespace is being deleted"

    def _of_vm(self, name: str, write: Write) -> Iterator[tuple[str, str]]:
        """Of a VM whose copy is lost."""
        yield from self.of_subject(name, write)
        for each in self.world.all("VirtualMachineInstanceMigration"):
            moves = each["spec"]["vmiName"] == name and each["status"]["phase"] not in ("Succeeded", "Failed")
            if moves and self.world.age(each) > self.seen:
                yield "nothing moves", f"migration {meta_of(each)['name']} is {each['status']['phase']}"

    def of_subject(self, name: str, write: Write) -> Iterator[tuple[str, str]]:
        """Of a VM for which a copy, or the reference to it, is written."""
        assert write.plan is not None
        vm = self.world.get(_VM, name)
        if vm is not None and meta_of(vm)["uid"] != write.plan.subject.uid and self.world.age(vm) > self.seen:
            yield "same object", f"VM {name} was created anew"
        if vm is not None and meta_of(vm).get("deletionTimestamp") and self._deleting(vm) > self.seen:
            yield "what ends is left", f"VM {name} is being deleted"
        if vm is not None and (vm.get("status") or {}).get("snapshotInProgress"):
            yield "nothing is restored", "a snapshot of the VM is being taken"
        for what in under_way(self.world, name, self.seen):
            yield "nothing is restored", what
        for each in self.world.all("KubeVirt"):
            status = each["status"]
            if status["targetKubeVirtVersion"] != status["observedKubeVirtVersion"]:
                yield "KubeVirt is as it is", "it is being upgraded"
            if (each["spec"]["configuration"].get("instancetype") or {}).get("referencePolicy"):
                yield "KubeVirt is as it is", "it expands VMs, and keeps no copies"

    def _deleting(self, thing: Obj) -> float:
        return self.world.now - datetime.fromisoformat(meta_of(thing)["deletionTimestamp"]).timestamp()

    def _made(self, write: Write) -> Iterator[tuple[str, str]]:
        assert write.after is not None
        data = write.after["data"]
        _, _, tail = write.key[2].partition("-v1beta1-")
        uid, _, generation = tail.rpartition("-")
        was = self._specs.get((uid, int(generation)))
        if data.get("spec") != was:
            yield "no content of a stranger", f"it has {data.get('spec')}, and was {was}"

    def _dropped(self, write: Write) -> Iterator[tuple[str, str]]:
        """From the status of a VM, so that KubeVirt copies the live object."""
        name = named_by(write.before or {"spec": {}})
        kept = self.world.get(COPY, name)
        if kept is not None and self.world.age(kept) > self.seen:
            yield "what it has stays", f"its copy {name} is there"
        vm = write.before or {}
        matcher = vm["spec"].get("instancetype") or {}
        live = self.world.get(SIZE, matcher.get("name", ""), "")
        if matcher.get("revisionName"):
            yield "what it has stays", "its spec is pinned"
        if "cpu" in vm["spec"]["template"]["spec"]["domain"]:
            yield "it is of use", "KubeVirt makes no copy for a template that sets CPUs itself"
        if live is None:
            yield "it is of use", "there is nothing to copy"
        elif meta_of(live).get("deletionTimestamp") and self._deleting(live) > self.seen:
            yield "it is of use", "what there is to copy is being deleted"
        elif copy_name(vm, live) == name:
            yield "what it has stays", "the live object is what it had"
        if any(each["status"]["observedKubeVirtVersion"] < "v1.5" for each in self.world.all("KubeVirt")):
            yield "it is of use", "KubeVirt makes no copy again"

    def _deleted(self, write: Write) -> Iterator[tuple[str, str]]:
        before = write.before or {}
        name, meta = write.key[2], meta_of(before)
        for who in self.needing(name):
            yield "what is needed stays", f"{who} needs it"
        if write.key[1] == "ns" and (restoring := next(under_way(self.world, "db", self.seen), "")):
            yield "nothing is restored", restoring
        if self.world.now - datetime.fromisoformat(meta["creationTimestamp"]).timestamp() < _DAY - (
            31 if write.skewed else 0
        ):
            yield "controllers come first", "it was created within a day"
        if meta.get("finalizers"):
            yield "what ends is left", f"{meta['finalizers'][0]} waits for its deletion"
        for each in meta.get("ownerReferences") or ():
            if each["kind"] != _VM:
                yield "made by nobody else", f"{each['kind']} owns it"

    def depending(self, name: str) -> Iterator[str]:
        """The VMs that want an instancetype, and have no copy of it."""
        for vm in self.world.all(_VM):
            wants = (vm["spec"].get("instancetype") or {}).get("name") == name and not meta_of(vm).get(
                "deletionTimestamp"
            )
            if wants and not named_by(vm) and self.world.age(vm) > self.seen:
                since = self.since.get((meta_of(vm)["name"], ""), 0.0)
                if self.world.now - since > self.seen:
                    yield f"VM {meta_of(vm)['name']}"

    def needing(self, name: str) -> Iterator[str]:
        """Who needs a copy."""
        for vm in self.world.all(_VM):
            if meta_of(vm)["namespace"] != "ns":
                continue
            of = meta_of(vm)["name"]
            if named_by(vm) == name and self.world.now - self.since[of, name] > self.seen:
                yield f"VM {of}"
            matcher = vm["spec"].get("instancetype") or {}
            live = self.world.get(SIZE, matcher.get("name", ""), "") if "revisionName" not in matcher else None
            awaits = live is not None and copy_name(vm, live) == name != named_by(vm)
            if awaits and live is not None and not self._has_one(vm, live) and self.world.age(vm) > self.seen:
                yield f"VM {of}, which has no copy of what it wants,"
        for running in self.world.all(_VMI):
            start = self.world.get(COPY, running["status"].get("virtualMachineRevisionName", ""))
            saved = ((start or {}).get("data") or {}).get("spec") or {}
            if (saved.get("instancetype") or {}).get("revisionName") == name and self.world.age(running) > self.seen:
                yield f"VMI {meta_of(running)['name']}"
        for content in self.world.all("VirtualMachineSnapshotContent"):
            spec = content["spec"]["source"]["virtualMachine"]["spec"]
            if (spec.get("instancetype") or {}).get("revisionName") == name and self.world.age(content) > self.seen:
                yield f"snapshot content {meta_of(content)['name']}"

    def _has_one(self, vm: Obj, live: Obj) -> bool:
        """Of the same object."""
        kept = self.world.get(COPY, named_by(vm))
        return kept is not None and kept["data"]["metadata"]["name"] == meta_of(live)["name"]

    def _guarded(self, write: Write) -> Iterator[tuple[str, str]]:
        meta = meta_of(write.before or {"metadata": {}})
        if meta.get("deletionTimestamp"):
            yield "what ends is left", "it is being deleted"
        if (meta.get("annotations") or {}).get(ALLOWED) != "true":
            yield "its owner allows it", "no annotation says so"
        if (meta.get("labels") or {}).get("app.kubernetes.io/managed-by"):
            yield "made by nobody else", "an operator manages it"
