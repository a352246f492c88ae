"""The manifest of a VM, from a file of YAML or JSON."""

from __future__ import annotations

from collections.abc import Iterator

from ...offline.documents import DumpedObject, Malformed, objects
from ...offline.files import DumpError, Unread, files
from ...offline.wanted import Wanted
from ...views.vm import OF_MANIFESTS, Manifest, manifest_of
from .filters import UsageError

_DEFAULT = "default"  # the namespace of a manifest that names none


def read_manifest(path: str, wanted: str = "") -> Manifest:
    """The VirtualMachine or VirtualMachineInstance in it; of several the one called `wanted`, as NAMESPACE/NAME, or in
    whose namespace it is to be. Raises UsageError and DumpError.
    """
    namespace, _, _ = wanted.partition("/")
    try:
        found = list(_manifests(path, namespace or _DEFAULT))
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    if not found:
        raise UsageError(f"{path} has no VirtualMachine and no VirtualMachineInstance")
    named = [each for each in found if wanted in ("", each.path)]
    if len(named) == 1:
        return named[0]
    there = ", ".join(each.path for each in found[:5])
    if not named:
        raise UsageError(f"{path} has no VM called {wanted!r}; it has {there}")
    raise UsageError(f"{path} has {len(named)} VMs; name one: {there}")


def _manifests(path: str, namespace: str) -> Iterator[Manifest]:
    kinds = Wanted(OF_MANIFESTS, whole=True)
    for file in files(path):
        if isinstance(file, Unread):
            raise DumpError(f"{file.name}: {file.why}")
        for each in objects(file.content, kinds, json_only=file.json):
            if isinstance(each, Malformed):
                raise DumpError(f"{file.name}: {each.why}")
            kind = kinds.kind(each.api_version, each.kind) if isinstance(each, DumpedObject) else None
            if isinstance(each, DumpedObject) and kind is not None:
                yield manifest_of(kind, each.raw, namespace)
