"""Where the lost ControllerRevision of a VM can be had from again, exactly: the same object in the same generation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from exporter.domain.instancetypes.kinds import INSTANCETYPES
from exporter.domain.instancetypes.resolving import LIVE, Resolution, undecodable
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...plan import Refused
from ...remediation import Scene
from .._grounds import table
from ._copies import STORED, names, unproven
from ._instancetypes import LABEL, owner_reference

_MOST = 5  # copies that are looked at; KubeVirt made them all the same
_KEPT = ("creationTimestamp", "generation", "name", "namespace", "uid")  # of the metadata in a copy


class CopySource(msgspec.Struct, frozen=True):
    """`of` says what it is taken from; `labels` are the five by which KubeVirt knows what a copy is of."""

    of: str
    labels: Mapping[str, str]
    data: Mapping[str, Any]


def exact_source(scene: Scene, vm: VirtualMachine, lost: Resolution) -> CopySource | Refused | None:
    """The live object, if it still has the generation that was copied, else the copy of another VM or of a snapshot.

    The name of a copy says what it was of. The API server gives UID and generation to the live object; a copy has to be
    proven, and refuses where it is not: what it says may be right, and KubeVirt makes none as it was.
    """
    return _of_live(scene, vm, lost) or _of_copies(scene, vm, lost)


def _names(vm: VirtualMachine, lost: Resolution, uid: str, generation: int) -> tuple[str, str]:
    return names(vm.name, lost.reference.name, uid, generation)


def _of_live(scene: Scene, vm: VirtualMachine, lost: Resolution) -> CopySource | None:
    kind = next((each for each in INSTANCETYPES if each.name == lost.kind), None)
    if kind is None:
        return None
    namespace = vm.namespace if kind.namespaced else ""
    whole = scene.whole(kind, namespace, lost.reference.name)
    live = scene.named(LIVE[kind.name], namespace, lost.reference.name)
    if whole is None or live is None or lost.revision_name not in _names(vm, lost, live.uid, live.generation):
        return None
    version = str(whole.get("apiVersion")).rpartition("/")[2]
    if version != STORED:
        return None
    meta = table(whole.get("metadata"))
    data = {
        "apiVersion": whole["apiVersion"],
        "kind": kind.name,
        "metadata": {name: meta[name] for name in _KEPT if meta.get(name) is not None},
        "spec": whole.get("spec"),
    }
    values = {
        "generation": str(live.generation),
        "kind": kind.name,
        "name": live.name,
        "uid": live.uid,
        "version": version,
    }
    return CopySource(f"the live object, {live.ref}", {f"{LABEL}{name}": value for name, value in values.items()}, data)


def _of_copies(scene: Scene, vm: VirtualMachine, lost: Resolution) -> CopySource | Refused | None:
    fitting = sorted(_fitting(scene, vm, lost), key=lambda each: each.ref)
    why, by_hand = "", f"if it is right, create {lost.revision_name} from it by hand, else delete it"
    for revision in [each for each in fitting if each.namespace == vm.namespace][:_MOST]:
        whole = scene.whole(ControllerRevision.KIND, revision.namespace, revision.name) or {}
        source = _copied(revision, whole)
        if source is None:
            continue
        unsure = unproven(scene, vm, lost, revision, whole)
        if not unsure:
            return source
        why = why or f"{revision.ref} may be a copy of what is lost, but {unsure}; {by_hand}"
    if not why and any(each.namespace != vm.namespace for each in fitting):
        why = f"a copy of what is lost may be in another namespace, whose users may have written it; {by_hand}"
    return Refused("copy_proven", why) if why else None


def _copied(revision: ControllerRevision, whole: Mapping[str, Any]) -> CopySource | None:
    """None where its data are of another object, or of another generation, than its labels say."""
    named, data = table(table(whole.get("metadata")).get("labels")), table(whole.get("data"))
    labels = {name: str(value) for name, value in named.items() if name.startswith(LABEL)}
    copied = table(data.get("metadata"))
    said = labels.get(f"{LABEL}uid"), labels.get(f"{LABEL}generation")
    return (
        CopySource(str(revision.ref), labels, data)
        if (copied.get("uid"), str(copied.get("generation"))) == said
        else None
    )


def _fitting(scene: Scene, vm: VirtualMachine, lost: Resolution) -> Iterator[ControllerRevision]:
    for revision in scene.all(ControllerRevision):
        stash = revision.stash
        if stash is None or stash.object_name != lost.reference.name or stash.object_version != STORED:
            continue
        if lost.revision_name not in _names(vm, lost, stash.object_uid, stash.object_generation):
            continue
        of_kind = stash.object_kind == stash.kind == lost.kind
        if of_kind and stash.version == STORED and not undecodable(revision, lost.role, (0, 0)):
            yield revision


def rebuilt(vm: VirtualMachine, name: str, source: CopySource) -> Mapping[str, Any]:
    """The manifest of a VM's ControllerRevision. One without the labels KubeVirt can never use again."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name,
            "namespace": vm.namespace,
            "labels": dict(source.labels),
            "ownerReferences": [owner_reference(vm)],
        },
        "data": source.data,
        "revision": 0,
    }
