"""What others make that looks like ours, or like another tenant's: labels, names, annotations and owners are anybody's.

Whoever may write one kind in a namespace of their own is meant, not who may write everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random

from demo.apiserver.errors import ApiError
from demo.fleet import objects, pods
from demo.fleet.instancetypes import copy_name, stash_labels
from demo.fleet.objects import IPAM_FINALIZER, owner, owner_of
from reconcile.plan.remediations.networks.release_ipam_claim import NUDGED

from .made import NETWORK, launched
from .people import vm
from .platform import Platform
from .stashing import COPY, SIZE, named_by, with_ref
from .world import Obj, World, meta_of, with_meta

__all__ = ["OF_CLAIMS", "copied_annotations", "foreign_claim", "foreign_pod", "forged_copy"]

_VM, _NAME, _THEIRS = "VirtualMachine", "db", "tenant"


def _quietly(call: Callable[[], object]) -> None:
    with suppress(ApiError):
        call()


def foreign_pod(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """A pod that says to be of VM `db`, or to use its IPAMClaim, and is of another namespace, or has ended."""
    yield
    gone = {"kind": "VirtualMachineInstance", "apiVersion": "kubevirt.io/v1", "metadata": {"name": _NAME, "uid": "x"}}
    made = launched(gone, f"theirs-{world.version}", f"{_NAME}.blue")
    made = with_meta(made, ownerReferences=[], namespace=rng.choice((_THEIRS, "ns")))
    phase = "Running" if meta_of(made)["namespace"] == _THEIRS else rng.choice(("Succeeded", "Failed"))
    _quietly(lambda: world.create(made | {"status": made["status"] | {"phase": phase}}, _THEIRS))


def copied_annotations(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Somebody creates or edits VM `db` with what a manifest from elsewhere has in its annotations."""
    claim = world.get("IPAMClaim", f"{_NAME}.blue")
    notes = {NUDGED: meta_of(claim)["uid"] if claim is not None else "u1"}
    yield
    found = world.get(_VM, _NAME)
    if found is None:
        _quietly(lambda: world.create(vm(_NAME, "Halted", annotations=notes), "user"))
    else:
        both = {**(meta_of(found).get("annotations") or {}), **notes}
        _quietly(lambda: world.change(found, "user", lambda now: with_meta(now, annotations=both)))


def foreign_claim(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """IPAMClaim `db.blue` with the label or the owner of another VM, or one of another name with those of `db`."""
    other = world.get(_VM, "web") or world.create(vm("web", "Halted"), "user")
    yield
    found, mine = world.get("IPAMClaim", f"{_NAME}.blue"), world.get(_VM, _NAME)
    if found is not None and rng.random() < 0.7:
        labels = {**(meta_of(found).get("labels") or {}), "kubevirt.io/vm": "web"}
        owners = rng.choice(([owner_of(other)], [owner(_VM, "web", "u-none")], meta_of(found).get("ownerReferences")))
        changed = with_meta(found, labels=labels, ownerReferences=owners or [])
        _quietly(lambda: world.change(found, "user", lambda _: changed))
        return
    owners = [owner_of(mine) if mine is not None else owner(_VM, _NAME, "u-none")]
    made = pods.claim(
        "ns", "alias.blue", NETWORK, ["10.0.0.5/16"], vm=_NAME, owners=owners, finalizers=(IPAM_FINALIZER,)
    )
    _quietly(lambda: world.create(made, "user"))


def forged_copy(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """In a namespace of their own: a VM, and a ControllerRevision with labels and name as KubeVirt would give them,
    and what they like in it.
    """
    for _turn in range(rng.choice((0, 1, 4))):
        yield
    forge(world, rng)


def forge(world: World, rng: Random) -> None:
    mine = world.get(_VM, _NAME)
    _, _, tail = named_by(mine).partition("-v1beta1-") if mine is not None else ("", "", "")
    uid, _, generation = tail.rpartition("-")
    of = objects.new(SIZE, "", "small", uid=uid or "u-small", generation=int(generation or 1), spec=_THEIR_SPEC)
    theirs = vm("x", "Halted") | {}
    theirs = with_meta(theirs, namespace=_THEIRS)
    theirs["spec"]["instancetype"] = {"kind": SIZE, "name": "small"}
    name = copy_name(theirs, of)
    made = world.get(_VM, "x", _THEIRS) or world.create(with_ref(theirs, _ref(name)), _THEIRS)
    data = {"apiVersion": of["apiVersion"], "kind": SIZE, "metadata": _kept(of), "spec": of["spec"]}
    meta: Obj = {"namespace": _THEIRS, "name": name, "labels": stash_labels(of), "ownerReferences": [owner_of(made)]}
    forged = {"apiVersion": "apps/v1", "kind": COPY, "metadata": meta, "data": data, "revision": 0}
    # The name of the manager is a parameter of the request.
    _quietly(lambda: world.create(forged, _THEIRS, manager=rng.choice((_THEIRS, "virt-controller"))))


def replaced_copy(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """In the VM's own namespace, by who may write ControllerRevisions there: the copy of VM `web` has other content."""
    for _turn in range(rng.choice((0, 1, 4))):
        yield
    replace(world)


def replace(world: World) -> None:
    web = world.get(_VM, "web")
    found = world.get(COPY, named_by(web)) if web is not None else None
    if found is not None:
        _quietly(lambda: world.delete((COPY, "ns", meta_of(found)["name"]), _THEIRS))
        kept = {name: meta_of(found)[name] for name in ("namespace", "name", "labels", "ownerReferences")}
        again = found | {"metadata": kept, "data": found["data"] | {"spec": _THEIR_SPEC}}
        _quietly(lambda: world.create(again, _THEIRS, manager="virt-controller"))


_THEIR_SPEC = {"cpu": {"guest": 64}, "memory": {"guest": "1Gi"}}


def _kept(of: Obj) -> Obj:
    return {name: meta_of(of)[name] for name in ("name", "uid", "generation")}


def _ref(name: str) -> Obj:
    return {"kind": SIZE, "name": "small", "controllerRevisionRef": {"name": name}}


OF_CLAIMS = (foreign_pod, copied_annotations, foreign_claim)
