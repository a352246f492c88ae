"""ControllerRevisions: copies of instancetypes and preferences that VMs are pinned to, and the specs VMIs started with.

KubeVirt makes one for each VM and object (pkg/instancetype/revision of kubevirt/kubevirt), and one of the VM's spec at
each start. Those of other controllers are kept too, by their names alone: a VM may refer to any.
"""

from __future__ import annotations

from sys import intern
from typing import NamedTuple

import msgspec
from msgspec import Raw, field

from ...facts import specs
from ...facts.matching import WireMatcher, pins_of
from ...facts.naming import shortened
from ...facts.nesting import decoded, misfit
from ...facts.record import Record, Wire, WireMeta, WireOwner, epoch, identity
from ...facts.text_cache import remembered
from ..kind import ApiKind

# ControllerRevisions of the first shape, which KubeVirt 0.56 and 0.57 made: {apiVersion, spec}, the spec in base64.
#
# KubeVirt decodes them up to 1.6 (decodeSpecRevision in pkg/instancetype/compatibility of kubevirt/kubevirt), strictly:
# a field too many, and it takes the data for a whole object, which they are not. They name neither kind nor object:
# what fits a preference is one, and an instancetype always has `memory`, which no preference has.

VERSION = "instancetype.kubevirt.io/v1alpha1"

# staging/src/kubevirt.io/api/instancetype/v1alpha1/types.go of kubevirt/kubevirt at v1.6.0
_PREFERENCE = frozenset({"clock", "cpu", "devices", "features", "firmware", "machine"})
_INSTANCETYPE = frozenset({"cpu", "memory", "gpus", "hostDevices", "ioThreadsPolicy", "launchSecurity"})


class _Wire(msgspec.Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    spec: bytes  # msgspec decodes base64
    api_version: str | None = None  # objects that come from client-go have none


class FirstShape(NamedTuple):
    kind: str
    spec: Raw


_WIRE = msgspec.json.Decoder(_Wire)
_FIELDS = msgspec.json.Decoder(dict[str, Raw])


def first_shape(raw: bytes) -> FirstShape | None:
    """What the data of a ControllerRevision hold, in this shape; None where they are of another one, or broken.

    The kind is that of the namespace, as KubeVirt makes it.
    """
    try:
        spec = decoded(_WIRE, raw).spec
        fields = decoded(_FIELDS, spec).keys()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if fields <= _PREFERENCE:
        return FirstShape("VirtualMachinePreference", Raw(spec))
    return FirstShape("VirtualMachineInstancetype", Raw(spec)) if fields <= _INSTANCETYPE else None


START = "revision-start-vm-"  # what the names of specs that VMIs started with begin with
_GROUP = "instancetype.kubevirt.io"
_LABEL = f"{_GROUP}/object-"


class _Labels(Wire, frozen=True, gc=False):
    name: str | None = field(name=f"{_LABEL}name", default=None)
    kind: str | None = field(name=f"{_LABEL}kind", default=None)
    uid: str | None = field(name=f"{_LABEL}uid", default=None)
    generation: str | None = field(name=f"{_LABEL}generation", default=None)
    version: str | None = field(name=f"{_LABEL}version", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    labels: _Labels | None = None
    owner_references: list[WireOwner | None] | None = None


class _Revision(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    data: msgspec.Raw = msgspec.Raw()


class _SavedSpec(Wire, frozen=True, gc=False):
    instancetype: WireMatcher | None = None
    preference: WireMatcher | None = None


class _Start(Wire, frozen=True, gc=False):
    spec: _SavedSpec | None = None


class _SavedMeta(Wire, frozen=True, gc=False):
    name: str | None = None
    uid: str | None = None
    generation: int | None = None


class _Saved(Wire, frozen=True, gc=False):
    api_version: str | None = None
    kind: str | None = None
    metadata: _SavedMeta | None = None
    spec: msgspec.Raw = msgspec.Raw()


class Stash(msgspec.Struct, frozen=True, gc=False):
    """The object in a ControllerRevision, and what its labels say of it; all revisions with the same one share it.

    `why` says why the object can't be read; the labels may still name it.
    """

    object_name: str
    object_kind: str
    object_uid: str
    object_generation: int  # -1 where the label has no number
    object_version: str
    api_version: str = ""
    kind: str = ""
    spec: str = ""  # canonical text (specs.py)
    why: str = ""
    nameless: bool = False  # of the first shape, as below
    says: tuple[str, str, str] | None = None  # name, UID and generation by the object, where no label has its version

    @property
    def labelled(self) -> bool:
        """Whether KubeVirt finds by the labels which object it is of."""
        return bool(self.object_name)

    @property
    def version(self) -> str:
        """The version of the API that the object is of, such as v1beta1."""
        return self.api_version.rpartition("/")[2]


class ControllerRevision(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None
    owner_kind: str  # of its controller; empty for none
    owner_name: str
    owner_uid: str
    stash: Stash | None  # None of one that is not about an instancetype or preference
    pins: tuple[str, ...]  # the revisions that a saved spec of a VM names

    @property
    def saved(self) -> bool:
        """Whether it is the spec that a VMI started with. One that names no revision has no record."""
        return bool(self.pins)

    @property
    def vms(self) -> tuple[str, ...]:
        return (self.owner_name,) if self.owner_kind == "VirtualMachine" and self.owner_name else ()


def _labels_of(labels: _Labels) -> tuple[str, str, str, int, str]:
    number = labels.generation or ""
    return (
        intern(labels.name or ""),
        intern(labels.kind or ""),
        intern(labels.uid or ""),
        int(number) if number.isdecimal() and len(number) < 20 else -1,
        intern(labels.version or ""),
    )


@remembered()
def _stash(labels: tuple[str, str, str, int, str], raw: bytes) -> Stash | None:
    """None where neither the labels nor the data are about an instancetype or preference."""
    if (first := first_shape(raw)) is not None:
        return _sized(labels, _Saved(api_version=VERSION, kind=first.kind, spec=first.spec), nameless=True)
    try:
        saved = decoded(_SAVED, raw or b"null")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Stash(*labels, why=shortened(misfit(error))) if labels[0] else None
    about = saved is not None and (saved.api_version or "").partition("/")[0] == _GROUP
    if saved is None or not about:
        return Stash(*labels, why=f"it holds no object of {_GROUP}") if labels[0] else None
    return _sized(labels, saved)


def _sized(labels: tuple[str, str, str, int, str], saved: _Saved, *, nameless: bool = False) -> Stash:
    kind, version = intern(shortened(saved.kind or "")), intern(shortened(saved.api_version or ""))
    try:
        spec = specs.canonical(saved.spec)
        if "Preference" in kind:
            specs.preference(spec)
        else:
            specs.instancetype(spec)
    except ValueError as error:  # of JSON too
        return Stash(*labels, version, kind, why=shortened(misfit(error)))
    return Stash(*labels, version, kind, spec, nameless=nameless, says=None if labels[4] else _says(saved.metadata))


def _says(meta: _SavedMeta | None) -> tuple[str, str, str] | None:
    """None where it does not say all of that."""
    if meta is None or not (meta.name and meta.uid and meta.generation):
        return None
    return shortened(meta.name), shortened(meta.uid), str(meta.generation)


_SAVED = msgspec.json.Decoder(_Saved | None)
_START = msgspec.json.Decoder(_Start | None)


def _pins(raw: msgspec.Raw) -> tuple[str, ...]:
    """Of a saved spec. One that can't be read raises msgspec.DecodeError, and is undecodable: nobody knows which
    revisions are needed by it.
    """
    start = decoded(_START, bytes(raw) or b"null") or _Start()
    spec = start.spec or _SavedSpec()
    return pins_of(spec.instancetype, spec.preference)


def _reduce(wire: _Revision) -> ControllerRevision | None:
    meta = wire.metadata
    namespace, name, uid, rv = identity(meta)
    labels = _labels_of(meta.labels or _Labels())
    start = name.startswith(START) and not labels[0]
    pins = _pins(wire.data) if start else ()
    if start and not pins:
        return None  # most VMs have no instancetype
    owner = next((each for each in meta.owner_references or () if each and each.controller), WireOwner())
    return ControllerRevision(
        namespace,
        intern(name),
        uid,
        rv,
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        # Of a saved spec only its name and pins count.
        owner_kind="" if start else intern(shortened(owner.kind or "")),
        owner_name="" if start else shortened(owner.name or ""),
        owner_uid="" if start else intern(shortened(owner.uid or "")),
        stash=None if start else _stash(labels, bytes(wire.data)),
        pins=pins,
    )


KIND = ApiKind(ControllerRevision, group="apps", plural="controllerrevisions", wire=_Revision, reduce=_reduce)
ControllerRevision.KIND = KIND
