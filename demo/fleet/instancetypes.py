"""Instancetypes, preferences, and the ControllerRevisions that KubeVirt copies them into, one for each VM.

large = kept("VirtualMachineClusterInstancetype", "", "u1.large", {"cpu": {"guest": 2}, ...}, uid="u1")
refer(vm, "instancetype", large)
copy(vm, large)
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from ..apiserver.resources import Obj
from .objects import filled, new, owner_of

_GROUP = "instancetype.kubevirt.io"


def kept(kind: str, namespace: str, name: str, spec: Mapping[str, Any], **meta: Any) -> Obj:
    """An instancetype or a preference of any kind."""
    return new(kind, namespace, name, spec=dict(spec), **meta)


def copy_name(vm: Obj, obj: Obj) -> str:
    """What KubeVirt calls the ControllerRevision of a VM."""
    meta = obj["metadata"]
    return f"{vm['metadata']['name']}-{meta['name']}-v1beta1-{meta['uid']}-{meta['generation']}"


def stash_labels(obj: Obj, version: str = "v1beta1") -> dict[str, str]:
    """The five that KubeVirt gives to a copy of the object."""
    meta = obj["metadata"]
    values = {
        "generation": str(meta["generation"]),
        "kind": obj["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "version": version,
    }
    return {f"{_GROUP}/object-{key}": value for key, value in values.items()}


def copy(
    vm: Obj, obj: Obj, *, name: str = "", version: str = "v1beta1", labels: Mapping[str, str] | None = None, **meta: Any
) -> Obj:
    """The ControllerRevision of a VM with the object as it is; `labels` are those of `stash_labels` if not given."""
    of = obj["metadata"]
    known = filled(**{key: of.get(key) for key in ("creationTimestamp", "generation", "name", "namespace", "uid")})
    given = {"owners": [owner_of(vm)], **meta}
    return new(
        "ControllerRevision",
        vm["metadata"]["namespace"],
        name or copy_name(vm, obj),
        labels=stash_labels(obj, version) if labels is None else labels,
        data={"kind": obj["kind"], "apiVersion": f"{_GROUP}/{version}", "metadata": known, "spec": obj["spec"]},
        revision=0,
        **given,
    )


def reference(obj: Obj, revision: str) -> Obj:
    """What KubeVirt writes into a VM's status once it has copied the object."""
    meta = obj["metadata"]
    return {"kind": obj["kind"], "name": meta["name"], "controllerRevisionRef": {"name": revision}}


def refer(vm: Obj, role: str, obj: Obj, revision: str = "") -> Obj:
    """Lets a VM refer to the object by its `role`, and its status to the copy that is called `revision`."""
    vm["spec"][role] = {"kind": obj["kind"], "name": obj["metadata"]["name"]}
    if revision:
        vm.setdefault("status", {})[f"{role}Ref"] = reference(obj, revision)
    return vm


def pinned_spec(vm: Obj) -> Obj:
    """A VM's spec as KubeVirt keeps it in a start revision: each matcher with the copy that was used."""
    spec: Obj = deepcopy(vm["spec"])
    for role in ("instancetype", "preference"):
        used = vm.get("status", {}).get(f"{role}Ref")
        if used and role in spec:
            spec[role]["revisionName"] = used["controllerRevisionRef"]["name"]
    return spec


def sized(spec: Obj, instancetype: Obj) -> Obj:
    """The spec of a VMI that is started from a VM with the instancetype."""
    gives = instancetype["spec"]
    cpu = {"cores": 1, "sockets": gives["cpu"]["guest"], "threads": 1}
    return spec | {"domain": spec["domain"] | {"cpu": cpu, "memory": dict(gives["memory"])}}
