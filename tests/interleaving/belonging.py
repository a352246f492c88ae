"""What has to hold of a write that adopts or labels a copy, drops a reference to one, or has KubeVirt make one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from demo.fleet.instancetypes import copy_name
from reconcile.plan.effects import at

from .clocks import NOTICED
from .stashing import COPY, LABEL, SIZE, named_by
from .world import Obj, World, meta_of
from .writer import Write

if TYPE_CHECKING:
    from .copies import Copies

__all__ = ["OF_REVISIONS", "ended_at_start"]

_VM, _VMI = "VirtualMachine", "VirtualMachineInstance"
_LEFT_ALONE = 3600.0  # seconds


def ended_at_start(world: World) -> bool:
    """Whether virt-controller ends when it starts a VM with a reference that its spec does not have."""
    return any(each["status"]["observedKubeVirtVersion"] == "v1.7.0" for each in world.all("KubeVirt"))


def _adopted(copies: Copies, write: Write) -> Iterator[tuple[str, str]]:
    assert write.plan is not None
    subject, before, after = write.plan.subject, write.before or {}, write.after or {}
    yield from copies.of_subject(subject.name, write)
    if [each["uid"] for each in at(after, "/metadata/ownerReferences")] != [subject.uid]:
        yield "it belongs to its VM", f"its owners are {at(after, '/metadata/ownerReferences')}"
    for owner in (before.get("metadata") or {}).get("ownerReferences") or ():
        lives = any(meta_of(each)["uid"] == owner["uid"] != subject.uid for each in copies.world.all(_VM))
        if owner["kind"] != _VM or lives:
            yield "what others own stays theirs", f"{owner['kind']} {owner['name']} owns it"
    made = after["data"]["metadata"]
    if write.key[2] != f"{subject.name}-{made['name']}-v1beta1-{made['uid']}-{made['generation']}":
        yield "made for it", "KubeVirt would not have called it so"
    yield from _needed(copies, subject.name, write)
    for who in copies.needing(write.key[2]):
        if not who.startswith((f"VM {subject.name}", f"VMI {subject.name}")):
            yield "others keep theirs", f"{who} needs it"


def _needed(copies: Copies, name: str, write: Write) -> Iterator[tuple[str, str]]:
    """Whether the VM still refers to it."""
    vm = copies.world.get(_VM, name)
    since = copies.since.get((name, named_by(vm)), 0.0) if vm is not None else 0.0
    if vm is not None and named_by(vm) != write.key[2] and copies.world.now - since > copies.seen:
        yield "it is of use", f"VM {name} refers to {named_by(vm) or 'none'}"


def _labelled(copies: Copies, write: Write) -> Iterator[tuple[str, str]]:
    assert write.plan is not None
    subject, before, after = write.plan.subject, write.before or {}, write.after or {}
    yield from copies.of_subject(subject.name, write)
    data, meta = after["data"], after["data"]["metadata"]
    says = {"generation": str(meta["generation"]), "kind": data["kind"], "name": meta["name"], "uid": meta.get("uid")}
    labels = meta_of(after).get("labels") or {}
    for name, value in {**says, "version": "v1beta1"}.items():
        if labels.get(f"{LABEL}{name}") != value:
            yield "labels say what it is", f"{name} is {labels.get(f'{LABEL}{name}')}, and it is of {value}"
    if data != before.get("data"):
        yield "labels say what it is", "its content has changed"
    yield from _needed(copies, subject.name, write)
    for vm in copies.world.all(_VM):
        pin = (vm["spec"].get("instancetype") or {}).get("revisionName")
        refers = named_by(vm) == write.key[2] and pin != write.key[2] and meta_of(vm)["namespace"] == "ns"
        if refers and copies.world.now - copies.since.get((meta_of(vm)["name"], write.key[2]), 0.0) > copies.seen:
            yield "what others get stays", f"VM {meta_of(vm)['name']} refers to it by its status"


def _dropped(copies: Copies, write: Write) -> Iterator[tuple[str, str]]:
    assert write.plan is not None
    name, before = write.plan.subject.name, write.before or {}
    yield from copies.of_subject(name, write)
    if before["spec"].get("instancetype"):
        yield "what it has stays", "its spec has a matcher"
    if ended_at_start(copies.world):
        return
    since, slack = copies.world.now - copies.changed.get(name, 0.0), NOTICED if write.skewed else 1.0
    if since < _LEFT_ALONE - slack:
        yield "a matcher may come back", f"its spec was changed {since:.0f} s ago"
    noted = [
        each for each in meta_of(before)["managedFields"] if "f:desiredGeneration" in at(each, "/fieldsV1/f:status")
    ]
    if any(each["time"] > copies.world.ago(_LEFT_ALONE - slack) for each in noted):
        yield "a matcher may come back", "that its spec is this one was noted within the hour"
    if before["status"].get("desiredGeneration") != meta_of(before)["generation"]:
        yield "a matcher may come back", "when its spec was changed is not known"
    copy = named_by(before)
    running = copies.world.get(_VMI, name)
    start = copies.world.get(COPY, (running or {"status": {}})["status"].get("virtualMachineRevisionName", ""))
    runs = at(start or {}, "/data/spec/instancetype/revisionName") == copy
    if running is not None and runs and copies.world.age(running) > copies.seen:
        yield "a matcher may come back", "it runs with the copy"
    for content in copies.world.all("VirtualMachineSnapshotContent"):
        source = content["spec"]["source"]["virtualMachine"]
        matcher: Mapping[str, str] = source["spec"].get("instancetype") or {}
        own = source["metadata"]["name"] == name and matcher.get("name") == at(before, "/status/instancetypeRef/name")
        if own and not matcher.get("revisionName") and copies.world.age(content) > copies.seen:
            yield "a matcher may come back", f"snapshot content {meta_of(content)['name']} has one"


def _nudged(copies: Copies, write: Write) -> Iterator[tuple[str, str]]:
    assert write.plan is not None
    name, before, after = write.plan.subject.name, write.before or {}, write.after or {}
    yield from copies.of_subject(name, write)
    if before["spec"] != after["spec"] or before.get("status") != after.get("status"):
        yield "it is KubeVirt's to copy", "something else than an annotation has changed"
    status = before.get("status") or {}
    if any(each["type"] == "Failure" and each["status"] == "True" for each in status.get("conditions") or ()):
        yield "it is of use", "KubeVirt has said why it makes no copy"
    if ended_at_start(copies.world) and "preferenceRef" in status and not before["spec"].get("preference"):
        yield "controllers stay up", "virt-controller ends when it starts the VM, which gets a copy by this"
    live = copies.world.get(SIZE, (before["spec"].get("instancetype") or {}).get("name", ""), "")
    there = copies.world.get(COPY, copy_name(before, live)) if live is not None else None
    other = live is not None and there is not None and there["data"].get("spec") != live["spec"]
    if there is not None and other and copies.world.age(there) > copies.seen:
        yield "it is of use", f"something else has the name of its copy, {meta_of(there)['name']}"
    had = copies.since.get((name, named_by(before)), 0.0)
    if _has(copies, before) and copies.world.now - had > copies.seen:
        yield "it is of use", f"it has the copy {named_by(before)}"


def _has(copies: Copies, vm: Obj) -> bool:
    matcher = vm["spec"].get("instancetype") or {}
    kept = copies.world.get(COPY, named_by(vm)) if named_by(vm) else None
    return kept is not None and at(kept, "/data/metadata/name") == matcher.get("name")


Rule = Callable[["Copies", Write], Iterator[tuple[str, str]]]
OF_REVISIONS: dict[str, Rule] = {
    "adopt_revision": _adopted,
    "label_pinned_revision": _labelled,
    "drop_stale_reference": _dropped,
    "nudge_unversioned_vm": _nudged,
}
