"""How KubeVirt keeps the instancetype of a VM: a copy in a ControllerRevision, which the VM's status names.

It is made before the VM is started, and until it is there nothing else is done for the VM
(pkg/instancetype/revision/store.go and pkg/virt-controller/watch/vm of kubevirt/kubevirt). A VMI needs the one that it
was started with as well, which the saved spec of its VM names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from demo.apiserver.errors import ApiError
from demo.fleet import objects
from demo.fleet.instancetypes import copy, copy_name, reference, sized
from demo.fleet.objects import owner_of

from .world import Obj, World, meta_of, owned_by

__all__ = ["COPY", "LABEL", "SIZE", "copy_of", "lacks", "named_by", "started_with", "stashed", "with_ref"]

SIZE, COPY = "VirtualMachineClusterInstancetype", "ControllerRevision"
LABEL = "instancetype.kubevirt.io/object-"
_REF = "instancetypeRef"
_BY = "virt-controller"


def named_by(vm: Obj) -> str:
    """The copy that a VM refers to: by its spec, else by its status; empty for none."""
    matcher = vm["spec"].get("instancetype") or {}
    ref = (vm.get("status") or {}).get(_REF) or {}
    return str(matcher.get("revisionName") or (ref.get("controllerRevisionRef") or {}).get("name") or "")


def copy_of(world: World, vm: Obj) -> Obj | None:
    return world.get(COPY, named_by(vm))


def lacks(world: World, vm: Obj) -> bool:
    """Whether KubeVirt finds no instancetype for a VM that wants one, and so neither starts nor stops it."""
    return bool(vm["spec"].get("instancetype")) and copy_of(world, vm) is None


def with_ref(vm: Obj, ref: Obj | None) -> Obj:
    status = {name: value for name, value in (vm.get("status") or {}).items() if name != _REF}
    return vm | {"status": status | ({_REF: ref} if ref else {})}


def stashed(world: World, vm: Obj) -> Iterator[None]:
    """What virt-controller does for its copy, as far as it is to be done."""
    matcher, ref = vm["spec"]["instancetype"], (vm.get("status") or {}).get(_REF) or {}
    if matcher.get("revisionName"):
        yield from _converted(world, vm, matcher["revisionName"])
        return
    if ref.get("name") not in (None, matcher["name"]):
        yield
        _quietly(lambda: world.change(vm, _BY, lambda now: with_ref(now, None)))
        return
    live = world.get(SIZE, matcher["name"], "")
    if ref.get("controllerRevisionRef") or live is None:
        return
    yield
    made = copy(vm, live)
    there = world.get(COPY, copy_name(vm, live))
    if there is None:
        _quietly(lambda: world.create(made, _BY))
    elif there["data"] != made["data"]:
        return  # "found existing ControllerRevision with unexpected data"
    yield
    _quietly(lambda: world.change(vm, _BY, lambda now: with_ref(now, reference(live, copy_name(vm, live)))))


def _converted(world: World, vm: Obj, pin: str) -> Iterator[None]:
    """What it takes for one of an old version of its API: another one is made, and this one is deleted
    (pkg/instancetype/upgrade/handler.go).
    """
    kept = world.get(COPY, pin)
    if (
        kept is None
        or f"{LABEL}version" in (meta_of(kept).get("labels") or {})
        or "uid" not in kept["data"]["metadata"]
    ):
        return
    yield
    of = kept["data"]
    made = copy(vm, of)
    _quietly(lambda: world.create(made, _BY))
    yield
    _quietly(lambda: world.change(vm, _BY, lambda now: with_ref(now, reference(of, meta_of(made)["name"]))))
    _quietly(lambda: world.delete((COPY, "ns", pin), _BY))


def started_with(world: World, vm: Obj, running: Obj, gives: Obj | None = None) -> Obj:
    """The VMI of a VM, once the spec that it starts with is kept, in the place of the one of the last start.

    `gives` is the instancetype where the VM has no copy of it any more."""
    uid, spec = meta_of(vm)["uid"], vm["spec"]
    name = f"revision-start-vm-{uid}-{meta_of(vm)['generation']}"
    if spec.get("instancetype"):
        spec = spec | {"instancetype": spec["instancetype"] | {"revisionName": named_by(vm)}}
    for each in list(owned_by(world.all(COPY), uid)):
        if meta_of(each)["name"].startswith("revision-start") and meta_of(each)["name"] != name:
            world.delete((COPY, "ns", meta_of(each)["name"]), _BY)
    data: dict[str, Any] = {"spec": spec}
    kept = objects.new(COPY, "ns", name, owners=[owner_of(vm)], data=data, revision=meta_of(vm)["generation"])
    _quietly(lambda: world.create(kept, _BY))
    own = copy_of(world, vm)
    sizes = own["data"] if own is not None and vm["spec"].get("instancetype") else gives
    given = sized(running["spec"], sizes) if sizes is not None else running["spec"]
    return running | {"spec": given, "status": running["status"] | {"virtualMachineRevisionName": name}}


def _quietly(call: Callable[[], object]) -> None:
    with suppress(ApiError):
        call()
