"""A VM that does not exist yet, by its manifest: evaluated as if it had been created, or edited where it is there.

Nothing is created. What KubeVirt's webhooks would put into the object is not there, but for what the records know of.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec

from ...engine.engine import Engine
from ...engine.evaluate import at_once
from ...engine.preview import PreviewedChange, previewed
from ...facts.record import Record
from ...findings.advice import advised
from ...store.decode import ObjectDecoder
from ...store.kind import ApiKind
from ...store.kinds import pod
from ...store.kinds.pod import Pod
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.overlay import Edit, Overlay
from ..findings import order, supposed
from .context import OneVM
from .futures import evaluated
from .report import VMWhole
from .view import whole

KINDS: tuple[ApiKind[Any], ...] = (VirtualMachine.KIND, VirtualMachineInstance.KIND)
_MOST_OTHERS = 20
# What a VM passes through until KubeVirt's controllers have looked at it.
_PASSING = ("NotPersisted", "MissingClaim", "Unversioned", "ExpandPending")
_UID = "proposed"  # of an object that has none yet; a real one has hyphens


class Manifest(msgspec.Struct, frozen=True):
    """The record of the object, and that of the launcher pod that it would get."""

    record: VirtualMachine | VirtualMachineInstance
    pod: Pod | None

    @property
    def path(self) -> str:
        return f"{self.record.namespace}/{self.record.name}"


class _Meta(msgspec.Struct, frozen=True):
    labels: dict[str, Any] | None = None


class _Placed(msgspec.Struct, frozen=True, rename="camel"):
    affinity: Any = None
    topology_spread_constraints: Any = None
    template: Any = None


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta | None = None
    spec: _Placed | None = None


def manifest_of(kind: ApiKind[Any], raw: bytes | msgspec.Raw, namespace: str) -> Manifest:
    """`namespace` is that of an object which names none. Raises ValueError for what can't be decoded."""
    decoded = ObjectDecoder(kind).object(raw)
    record = decoded.record
    if not isinstance(record, VirtualMachine | VirtualMachineInstance):
        raise ValueError(f"{kind.name} {decoded.name or 'without a name'} can't be read: {decoded.why}")
    if not record.namespace:
        raw = _within(raw, namespace)
        record = ObjectDecoder(kind).object(raw).record
        assert isinstance(record, VirtualMachine | VirtualMachineInstance)
    return Manifest(msgspec.structs.replace(record, uid=record.uid or _UID), _launcher(raw, record))


def _within(raw: bytes | msgspec.Raw, namespace: str) -> bytes:
    """With the namespace: which NADs and instancetypes it means depends on it."""
    tree = msgspec.json.decode(raw)
    tree["metadata"]["namespace"] = namespace
    return msgspec.json.encode(tree)


def _launcher(raw: bytes | msgspec.Raw, record: VirtualMachine | VirtualMachineInstance) -> Pod | None:
    """By which its neighbours are looked for; None where its affinity is none that Kubernetes takes."""
    try:
        of = msgspec.json.decode(raw, type=_Object)
        if isinstance(record, VirtualMachine):
            of = msgspec.convert((of.spec.template if of.spec is not None else None) or {}, type=_Object)
    except (msgspec.DecodeError, RecursionError):
        return None
    spec = of.spec or _Placed()
    labels = {**((of.metadata and of.metadata.labels) or {}), "kubevirt.io": "virt-launcher"}
    made = {
        "metadata": {
            "name": "virt-launcher",
            "namespace": record.namespace,
            "labels": labels,
            "annotations": {"kubevirt.io/domain": record.name},
        },
        "spec": {"affinity": spec.affinity, "topologySpreadConstraints": spec.topology_spread_constraints},
    }
    found = ObjectDecoder(pod.KIND).object(msgspec.json.encode(made)).record
    return found if isinstance(found, Pod) else None


def propose(engine: Engine, manifest: Manifest) -> VMWhole:
    return at_once(_proposed(engine, manifest))


def _proposed(engine: Engine, manifest: Manifest) -> Generator[None, None, VMWhole]:
    record = manifest.record
    there = engine.cluster.get(type(record), record.namespace, record.name)
    if there is not None:  # an edit: it stays the same object
        record = msgspec.structs.replace(record, uid=there.uid)
    edits = (Edit.put(record),)
    overlay = Overlay(engine.cluster)
    for edit in edits:
        overlay.apply(edit)
    context = _context(overlay, record, manifest)
    found, unknown = yield from evaluated(context, engine, overlay)
    lasting = [(check, each) for check, each in found.values() if each.reason not in _PASSING]
    own = [supposed(*each) for each in lasting]
    forbidding = [advised(each, check.reasons[each.reason]) for check, each in lasting]
    preview = yield from previewed(engine.checks, engine.cluster, edits, engine.settings())
    others = [supposed(each.check, each.finding) for each in preview.differences if _of_another(each, record)]
    made = yield from whole(context, engine, sorted(own, key=order), forbidding, unknown)
    return msgspec.structs.replace(made, around=(*sorted(others, key=order)[:_MOST_OTHERS], *made.around))


def _context(overlay: Overlay, record: VirtualMachine | VirtualMachineInstance, manifest: Manifest) -> OneVM:
    namespace, name = record.namespace, record.name
    if isinstance(record, VirtualMachine):
        return OneVM(overlay, namespace, name, record, None, manifest.pod, proposed=True)
    return OneVM(overlay, namespace, name, None, record, manifest.pod, proposed=True)


def _of_another(difference: PreviewedChange, record: Record) -> bool:
    """Whether it is of another object that is worse off by it."""
    subject = difference.finding.subject
    own = (subject.kind, subject.namespace, subject.name) == (record.ref.kind, record.namespace, record.name)
    return difference.worse and not own
