"""The changes that can be previewed, each as a value: in words, and as what it does to the records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...facts.matching import MatcherRole
from ...store.cluster import Cluster
from ...store.kind import ApiKind
from ...store.kinds import instancetypes
from ...store.overlay import Edit
from ...store.source import Source, SyncState, Undecodable, unseen
from ..nearest import meant, shortened
from ..question import NotThereError

# The kinds of a role: of the whole cluster, and of a namespace.
_KINDS: dict[MatcherRole, tuple[ApiKind[Any], ApiKind[Any]]] = {
    MatcherRole.INSTANCETYPE: (instancetypes.CLUSTER_INSTANCETYPE, instancetypes.INSTANCETYPE),
    MatcherRole.PREFERENCE: (instancetypes.CLUSTER_PREFERENCE, instancetypes.PREFERENCE),
}
_NAMESAKES = 3  # are named
_BEFOREHAND = (
    "Before you delete it, have KubeVirt copy it for these VMs (VMInstancetypeUnversioned), or let VMs and pools refer "
    "to another one."
)
KINDS = tuple(kind for kinds in _KINDS.values() for kind in kinds)


@dataclass(frozen=True)
class ProposedChange:
    """`changes` has a sentence for each change. `within` is the only namespace in which the changed objects count,
    where there is just one. `beforehand` is what to do about whatever breaks, `unread` has a sentence for each change
    of which no check can say anything.
    """

    changes: tuple[str, ...]
    edits: tuple[Edit, ...]
    within: str = ""
    beforehand: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def without(cluster: Cluster, instancetypes: Iterable[str] = (), preferences: Iterable[str] = ()) -> ProposedChange:
    """They are deleted, each by its name, with its namespace before a slash where it is not of the whole cluster.

    Raises ValueError for text that is no name, and NotThereError.
    """
    objects = [_named(MatcherRole.INSTANCETYPE, each) for each in instancetypes]
    objects += [_named(MatcherRole.PREFERENCE, each) for each in preferences]
    return deletion(cluster, objects, local=True)


def _named(role: MatcherRole, text: str) -> tuple[ApiKind[Any], str, str]:
    cluster_wide, namespaced = _KINDS[role]
    namespace, slash, name = text.rpartition("/")
    if not name or (slash and not namespace) or "/" in namespace:
        raise ValueError(f"{shortened(text)!r} names no {role.value}; write it as NAME, or as NAMESPACE/NAME")
    return (namespaced, namespace, name) if slash else (cluster_wide, "", name)


def deletion(
    cluster: Cluster, objects: Iterable[tuple[ApiKind[Any], str, str]], *, local: bool = False
) -> ProposedChange:
    """Of objects by kind, namespace and name, all together; `local` are those that nobody refers to from another
    namespace. Raises NotThereError, but not for what can't be seen: then no check can say anything, and says that.
    """
    found = dict.fromkeys(objects)
    for kind, namespace, name in found:
        if not unseen(cluster, (kind.record,)) and cluster.get(kind.record, namespace, name) is None:
            raise NotThereError(_missing(cluster, kind, namespace, name))
    namespaces = {namespace for _, namespace, _ in found}
    return ProposedChange(
        tuple(f"{kind.name} {_path(namespace, name)} is deleted" for kind, namespace, name in found),
        tuple(Edit(kind.record, namespace, name) for kind, namespace, name in found),
        namespaces.pop() if local and len(namespaces) == 1 else "",
        (_BEFOREHAND,),
    )


def _missing(cluster: Cluster, kind: ApiKind[Any], namespace: str, name: str) -> str:
    source = cluster.get(Source, "", kind.name)
    undecodable = cluster.get(Undecodable, namespace, f"{kind.name} {name}")
    if undecodable is not None:
        return f"{undecodable.sentence}; so the effect of the deletion can't be evaluated"
    sentence = f"there is no {kind.name} {_path(shortened(namespace), shortened(name))!r}"
    if source is not None and source.sync_state is SyncState.ABSENT:
        return f"{sentence}: the cluster does not serve {kind.resource}"
    if others := _namesakes(cluster, name):
        return f"{sentence}, but there is {' and '.join(others)}"
    there = (_path(each.namespace, each.name) for each in cluster.all(kind.record))
    return f"{sentence}; {meant(_path(namespace, name), there, kind.plural)}"


def _namesakes(cluster: Cluster, name: str) -> list[str]:
    """A few of that very name, whatever their kind and namespace."""
    seen = [kind for kinds in _KINDS.values() for kind in kinds if not unseen(cluster, (kind.record,))]
    found = ((kind, each) for kind in seen for each in cluster.all(kind.record) if each.name == name)
    return [f"{kind.name} {_path(each.namespace, each.name)}" for kind, each in islice(found, _NAMESAKES)]


def _path(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name
