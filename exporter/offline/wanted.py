"""Which kinds of a dump are read, and which of their fields."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
from msgspec.inspect import StructType, UnionType

from ..facts.selector import Selector
from ..store.decode import MALFORMED, Decoded
from ..store.kind import ApiKind
from ..store.kinds.virtual_machine import VirtualMachine
from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from .yaml_events import Keep

_MESSAGE: Keep = {"message": None}  # of a Status, an error response in place of objects
_LABELS: Keep = {"metadata": {"labels": None}}
_RANKED: Keep = {"metadata": dict.fromkeys(("name", "namespace", "uid", "resourceVersion", "creationTimestamp"))}
_LIST: Keep = {"metadata": {"continue": None}}


class Wanted:
    def __init__(self, kinds: Iterable[ApiKind[Any]], *, whole: bool = False, labels: bool = False) -> None:
        """`whole` keeps all fields, also those that no record has, and `labels` all labels."""
        self._kinds = {(kind.group, kind.name): kind for kind in kinds}
        self._keep = {key: _united(_RANKED, _fields(kind.wire)) for key, kind in self._kinds.items()}  # type: ignore[arg-type] # a class has a hash
        self._any = _united(_RANKED, _LIST)
        if whole:
            self._keep = dict.fromkeys(self._keep)
        elif labels:
            self._keep = {key: _united(_LABELS, keep) for key, keep in self._keep.items()}
        for keep in self._keep.values():
            self._any = _united(self._any, keep)

    def kind(self, api_version: str, kind: str) -> ApiKind[Any] | None:
        """The kind, in any version of its group."""
        return self._kinds.get((group_of(api_version), kind))

    def may_hold(self, api_version: str, kind: str) -> bool:
        """Whether a document of this kind may contain wanted objects."""
        return kind in ("List", "Status") or (group_of(api_version), kind.removesuffix("List")) in self._kinds

    def keep(self, api_version: str, kind: str) -> Keep | None:
        """The fields to keep of an object; those of all kinds while its kind is not known."""
        if not api_version or not kind:
            return self._any
        if kind.endswith("List"):
            return _LIST
        return self._keep.get((group_of(api_version), kind), _MESSAGE)


def group_of(api_version: str) -> str:
    """Empty for the core group."""
    group, slash, _ = api_version.partition("/")
    return group if slash else ""


@cache  # what describes a type takes a quarter of the time of a small dump
def _fields(wire: Any) -> Keep | None:
    """The JSON names of the fields of a struct, recursively; None for anything else."""
    described = msgspec.inspect.type_info(wire)
    return _of(described)


def _of(described: Any) -> Keep | None:
    structs = [each for each in getattr(described, "types", (described,)) if isinstance(each, StructType)]
    others = isinstance(described, UnionType) and len(described.types) > 2  # anything but a struct or null
    if len(structs) != 1 or others:
        return None
    return {field.encode_name: _of(field.type) for field in structs[0].fields}


def _united(one: Keep | None, other: Keep | None) -> Keep | None:
    if one is None or other is None:
        return None
    shared = {key: _united(one[key], other[key]) for key in one.keys() & other.keys()}
    return {**one, **other, **shared}


# Which VMs of a dump have labels: no record keeps them, so they are noted while it is read.


class _Meta(msgspec.Struct, frozen=True, gc=False):
    labels: dict[str, Any] | None = None


class _Object(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta = _Meta()


_OBJECT = msgspec.json.Decoder(_Object)


class LabelledVMs:
    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self._found: dict[str, dict[str, bool]] = {VirtualMachine.__name__: {}, VirtualMachineInstance.__name__: {}}

    def note(self, kind: ApiKind[Any], decoded: Decoded, raw: bytes | msgspec.Raw) -> None:
        """Of an object that is read again, the state that was read last counts."""
        of = self._found.get(kind.name)
        if of is not None:
            of[f"{decoded.namespace}/{decoded.name}"] = self._selector.matches(_labels(raw))

    @property
    def paths(self) -> frozenset[str]:
        """NAMESPACE/NAME of the VMs that have them, and of VMIs that stand alone."""
        vms, vmis = self._found.values()
        return frozenset(path for path, has in {**vmis, **vms}.items() if has)


def _labels(raw: bytes | msgspec.Raw) -> dict[str, str]:
    """None where they can't be read: such an object has none that anybody could select it by."""
    try:
        labels = _OBJECT.decode(raw).metadata.labels or {}
    except MALFORMED:
        return {}
    return {key: value if isinstance(value, str) else "" for key, value in labels.items()}
