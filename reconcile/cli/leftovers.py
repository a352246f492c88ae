"""Where repairs left something: the objects of all kinds that they write, and the permissions to take it off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from exporter.kube.errors import AbsentError, StatusError
from exporter.kube.reviews import Resource, own_permission
from exporter.store.kind import ApiKind
from exporter.store.record import Ref

from ..confirm.reading import document
from ..plan.guards import guarded
from ..plan.remediations import all_remediations
from ..plan.removal import left_alone, leftovers
from .session import Session
from .unguarding import ref_of

_ALSO = ("KubeVirt", "Namespace", "Pod")  # which are paused, approved of or nudged, and not written
_FORBIDDEN = 403


class Leftover(NamedTuple):
    """An object with something left on it: JSON pointers, and whether it is guarded."""

    kind: ApiKind[Any]
    ref: Ref
    whole: Mapping[str, Any]
    paths: list[str]
    guarded: bool

    def __str__(self) -> str:
        names: dict[str, list[str]] = {}
        for path in self.paths:
            *_, map_name, key = path.split("/")
            names.setdefault(map_name.removesuffix("s"), []).append(key.replace("~1", "/").replace("~0", "~"))
        parts = [f"{what}{'s' if len(each) > 1 else ''} {', '.join(each)}" for what, each in names.items()]
        return f"{self.ref}: {'; '.join([*parts, *(('its guard',) if self.guarded else ())])}"


@dataclass
class Scan:
    """What is found. `left` are sentences about what has to stay, `unlisted` the kinds that may not be listed."""

    found: list[Leftover] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    unlisted: list[ApiKind[Any]] = field(default_factory=list)


async def scanned(at: Session) -> Scan:
    """Raises KubeError, for what is not a matter of permissions."""
    scan = Scan()
    for kind in _kinds(at.kinds):
        try:
            listed = await at.reads.listed(kind, await at.reads.served(kind), None)
        except AbsentError:
            continue
        except StatusError as error:
            if error.code != _FORBIDDEN:
                raise
            scan.unlisted.append(kind)
            continue
        for whole in map(document, listed):
            ref, paths, is_guarded = ref_of(kind, whole), leftovers(kind.name, whole), guarded(whole)
            if not paths and not is_guarded:
                continue
            if why := left_alone(kind.name, whole):
                scan.left.append(f"{ref}: {why}")
            else:
                scan.found.append(Leftover(kind, ref, {"kind": kind.name, **whole}, paths, is_guarded))
    return scan


def _kinds(kinds: Mapping[str, ApiKind[Any]]) -> Iterator[ApiKind[Any]]:
    """Those that repairs write, or that are paused or approved of for one."""
    written = {write.resource.partition("/")[0] for each in all_remediations() for write in each.writes}
    return (kind for name, kind in sorted(kinds.items()) if kind.plural in written or name in _ALSO)


async def may_not(at: Session, found: Iterable[Leftover]) -> list[str]:
    """The permissions that are missing to take it off, each in words, as in "patch pods in namespace shop".

    Raises KubeError where that can't be asked.
    """
    wanted: dict[str, tuple[ApiKind[Any], set[str]]] = {}
    for each in found:
        wanted.setdefault(each.kind.resource, (each.kind, set()))[1].add(each.ref.namespace)
    missing = []
    for kind, namespaces in wanted.values():
        if await _may_patch(at, kind, ""):
            continue
        lacking = [name for name in sorted(namespaces) if not name or not await _may_patch(at, kind, name)]
        where = f" in namespace{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}" if any(lacking) else ""
        missing += [f"patch {kind.resource}{where}"] if lacking else []
    return missing


async def _may_patch(at: Session, kind: ApiKind[Any], namespace: str) -> bool:
    return await own_permission(at.transport, Resource(kind.group, kind.plural, "patch", namespace))
