"""A cluster that is read as it is asked, and what it needs for that. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import msgspec

from exporter.facts.record import Record, UnansweredError
from exporter.store.cluster import Change, Cluster
from exporter.store.decode import ObjectDecoder
from exporter.store.index import Index
from exporter.store.kind import ApiKind
from exporter.store.kinds import kube_virt
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.source import UNREADABLE, Source, SyncState, Undecodable

__all__ = ["FreshCluster", "Need"]

# What is to be read of the API server for one answer, in as few requests as make sense, and what came of it.

# Objects of one kind and namespace, and namespaces of one kind: more are read as a list. Each is for one round in which
# the kind is asked for, the last one for all later rounds.
_OBJECTS = (20, 5, 0)
_NAMESPACES = (20, 5, 1, 0)


class Need(NamedTuple):
    """What is to be read: an object by its name; else a list in a namespace, in all where it is None."""

    kind: str
    namespace: str | None
    name: str | None


def names(need: Need, record: Undecodable) -> bool:
    """Whether an object that can't be decoded is one of what a need is for."""
    # What an unreadable object is called may be unreadable too: then it may be any.
    return need.namespace in (None, record.namespace) and (
        not record.object_name or need.name in (None, record.object_name)
    )


def gathered(needs: Iterable[Need], rounds: Mapping[str, int]) -> list[Need]:
    """Fewer requests for the same: many objects of a namespace, or many namespaces, are read as one list.

    `rounds` is how often objects of a kind were read already. Whoever walks over many objects may end at the first one
    that was not read, so that each is asked for in a round of its own; the longer that goes on, the fewer are many.
    After four rounds all objects of the kind were read, however many there are.
    """
    kinds: dict[str, dict[str | None, list[Need]]] = {}
    for need in needs:
        kinds.setdefault(need.kind, {}).setdefault(need.namespace, []).append(need)
    found: list[Need] = []
    for kind, namespaces in kinds.items():
        before = rounds.get(kind, 0)
        if None in namespaces or len(namespaces) > _NAMESPACES[min(before, len(_NAMESPACES) - 1)]:
            found.append(Need(kind, None, None))
            namespaces = {}
        for namespace, each in namespaces.items():
            listed = Need(kind, namespace, None)
            many = listed in each or len(each) > _OBJECTS[min(before, len(_OBJECTS) - 1)]
            found += [listed] if many else each
    return found


def content(raw: bytes | msgspec.Raw) -> Mapping[str, Any] | str:
    """The object, or why it can't be had whole: what is cut off could not be kept, nor put back."""
    try:
        found: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
    except RecursionError:
        return "it is nested too deep"
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return str(error)
    return found


# A cluster that is read from the API server as it is asked: for one answer, by exactly what that answer needs.
#
# It is a `Cluster` that starts empty. Whatever is asked of it that was not read yet is noted as a *need* and, for the
# moment, answered as if there were nothing; the needs are read, and all is asked again, until an answer needed nothing
# more. So an absence counts only once it was read, and what an index is read through is read too. How many rounds that
# takes depends on the question, and not on how many objects there are (`gathered`).

R = TypeVar("R", bound=Record)
_SHORT = 500  # objects of a list that takes no more than a moment


class FreshCluster(Cluster):
    def __init__(self, kinds: Iterable[ApiKind[Any]], indexes: Iterable[Index], assumed: str = "") -> None:
        """`assumed` is the upstream version to take KubeVirt for; empty for the one that it reports."""
        self._assumed = assumed
        self._kinds = {kind.record: kind for kind in kinds}
        self._namespaced = {kind.name for kind in self._kinds.values() if kind.namespaced}
        self._decoders = {kind.name: ObjectDecoder(kind) for kind in self._kinds.values()}
        self._read: dict[Need, int] = {}  # and how many objects were found
        self._whole: dict[tuple[str, str, str], Mapping[str, Any] | str | None] = {}  # or why it can't be read
        self._needs: dict[Need, None] = {}
        self._wanted: dict[Need, None] = {}  # whole
        self._rounds: Counter[str] = Counter()  # in how many rounds objects of a kind were needed
        self._internal = False
        self._noted: dict[Need, None] | None = None
        self._given = tuple(indexes)
        super().__init__((UNREADABLE, *self._given))

    # What is asked.

    def get(self, kind: type[R], namespace: str, name: str) -> R | None:
        self._need(kind, namespace, name)
        return super().get(kind, namespace, name)

    def all(self, kind: type[R]) -> Iterator[R]:
        self._need(kind, None, None)
        return super().all(kind)

    def within(self, kind: type[R], namespace: str) -> Iterable[R]:
        self._need(kind, namespace, None)
        return super().within(kind, namespace)

    def count(self, kind: type[Record]) -> int:
        self._need(kind, None, None)
        return super().count(kind)

    def has(self, kind: type[Record]) -> bool:
        self._need(kind, None, None)
        return super().has(kind)

    def sharing(self, index: Index, key: str) -> Iterable[Record]:
        self._need_under(index, key, of_dependents=False)
        return super().sharing(index, key)

    def first(self, index: Index, key: str) -> Record | None:
        self._need_under(index, key, of_dependents=False)
        return super().first(index, key)

    def some(self, index: Index, key: str, most: int) -> tuple[Record, ...]:
        self._need_under(index, key, of_dependents=False)
        return super().some(index, key, most)

    def shared_by(self, index: Index, key: str) -> int:
        self._need_under(index, key, of_dependents=False)
        return super().shared_by(index, key)

    def dependents(self, index: Index, key: str) -> Iterable[Record]:
        self._need_under(index, key, of_dependents=True)
        return super().dependents(index, key)

    def depending(self, index: Index, key: str) -> int:
        self._need_under(index, key, of_dependents=True)
        return super().depending(index, key)

    def keys(self, index: Index) -> Iterable[str]:
        self._need_under(index, None, of_dependents=False)
        return super().keys(index)

    def whole(self, kind: ApiKind[Any], namespace: str, name: str) -> Mapping[str, Any] | None:
        """The object as it was read by its name, None where it does not exist. Raises UnansweredError where it can't be
        read.
        """
        if (kind.name, namespace, name) not in self._whole:
            self._wanted[Need(kind.name, namespace, name)] = None
            return None
        found = self._whole[kind.name, namespace, name]
        if isinstance(found, str):
            raise UnansweredError(f"{kind.name} {namespace}/{name} could not be read: {found}")
        return found

    @contextmanager
    def noting(self) -> Iterator[Collection[Need]]:
        """What is asked for meanwhile, whether it was read already or not."""
        before, self._noted = self._noted, {}
        try:
            yield self._noted
        finally:
            self._noted = before

    def undecodable(self, kind: str, needs: Iterable[Need]) -> Iterator[Undecodable]:
        """The objects of a kind that were asked for, by name or in a list, and can't be decoded."""
        asked = [need for need in needs if need.kind == kind]
        with self._quiet():
            found = tuple(super().sharing(UNREADABLE, kind))
        for record in found:
            if isinstance(record, Undecodable) and any(names(need, record) for need in asked):
                yield record

    def without(self, left_out: Callable[[str, str], bool]) -> FreshCluster:
        """The same as if the objects of some kinds, by name, and namespaces did not exist; what is asked of it and was
        not read is needed here. It is for one answer.
        """
        made = FreshCluster(self._kinds.values(), self._given, self._assumed)
        made._read, made._needs, made._wanted = self._read, self._needs, self._wanted
        made._whole = {key: None if left_out(*key[:2]) else whole for key, whole in self._whole.items()}
        for kind in self.kinds():
            for each in super().all(kind):
                name = each.kind if isinstance(each, Undecodable) else kind.__name__
                if not left_out(name, each.namespace):
                    made.put(each)
        return made

    # What was read.

    def take_needs(self) -> list[Need]:
        """What has to be read before the last answer counts; few are left where one list has them all."""
        wanted, self._wanted = self._wanted, {}
        needs, self._needs = self._needs, {}
        left = [need for need in needs if need not in wanted and not self._covered(need)]
        found = [*wanted, *gathered(left, self._rounds)]
        self._rounds.update({need.kind for need in left})
        return found

    def was_read(self, need: Need) -> bool:
        return need in self._read

    def quick(self, long: Collection[str], namespace: str, elsewhere: Collection[str] = ()) -> list[Need]:
        """What was read; of lists of the whole cluster that were long, or are of the `long` kinds, a namespace. All of
        them of the kinds `elsewhere`, and where it is empty: what an object of no namespace serves may be in any.
        """
        needs: dict[Need, None] = {}
        for need, found in self._read.items():
            everywhere = not namespace or need.kind in elsewhere
            short = need.namespace is not None or everywhere or (found <= _SHORT and need.kind not in long)
            if short or need.kind in self._namespaced:
                needs[need if short else Need(need.kind, namespace, None)] = None
        return list(needs)

    def served(self, kind: ApiKind[Any], state: SyncState, why: str = "") -> None:
        """Whether a kind is served and may be read."""
        with self._quiet():
            self.put(Source("", kind.name, "", 0, kind.resource, state, why, 0.0, kind.optional))

    def found(self, need: Need, kind: ApiKind[Any], objects: Iterable[bytes | msgspec.Raw]) -> None:
        """Takes in what was read for a need; no object where it does not exist."""
        seen = {self._take(kind, raw, whole=need.name is not None) for raw in objects}
        with self._quiet():
            gone = [each for each in self._in(need, kind.record) if (each.namespace, each.name) not in seen]
        for each in gone:  # since it was read by another need
            self.remove(kind.record, each.namespace, each.name)
            self._whole.pop((kind.name, each.namespace, each.name), None)
            self._read.pop(Need(kind.name, each.namespace, each.name), None)
        if need.name is not None and not seen:
            self._whole[need.kind, need.namespace or "", need.name] = None
        self._read[need] = len(seen)

    def _in(self, need: Need, kind: type[Record]) -> list[Record]:
        if need.namespace is None:
            return list(super().all(kind))
        if need.name is None:
            return list(super().within(kind, need.namespace))
        found = super().get(kind, need.namespace, need.name)
        return [] if found is None else [found]

    def _take(self, kind: ApiKind[Any], raw: bytes | msgspec.Raw, *, whole: bool) -> tuple[str, str]:
        seen = self._decoders[kind.name].object(raw)
        if whole:
            self._whole[kind.name, seen.namespace, seen.name] = content(raw)
        if seen.why:
            self.put(
                Undecodable(
                    seen.namespace,
                    f"{kind.name} {seen.name}",
                    seen.uid,
                    0,
                    kind.name,
                    seen.name,
                    seen.why,
                    0.0,
                    kind.resource,
                )
            )
        elif isinstance(seen.record, KubeVirt):
            self.put(kube_virt.assuming(seen.record, self._assumed))
        elif seen.record is not None:
            self.put(seen.record)
        return seen.namespace, seen.name

    # What it needs.

    def _need(self, kind: type[Record], namespace: str | None, name: str | None) -> None:
        api = self._kinds.get(kind)
        if api is None or self._internal:
            return
        if not api.namespaced:
            namespace = None if name is None else ""
        need = Need(api.name, namespace, name)
        if self._noted is not None:
            self._noted[need] = None
        if not self._covered(need):
            self._needs[need] = None

    def _covered(self, need: Need) -> bool:
        kind, namespace, name = need
        read = self._read
        return (
            need in read
            or Need(kind, None, None) in read
            or (name is not None and namespace is not None and Need(kind, namespace, None) in read)
        )

    def _need_under(self, index: Index, key: str | None, *, of_dependents: bool) -> None:
        if self._internal or index is UNREADABLE:
            return
        namespace = key.partition("/")[0] if index.namespaced and key is not None else None
        for kind, api in self._kinds.items():
            wanted = not index.of or issubclass(kind, index.of)
            if wanted and issubclass(kind, index.dependents) is of_dependents:
                self._need(kind, namespace if api.namespaced else None, None)

    def _read_through(self, *args: Any) -> Any:
        with self._quiet():  # who is read through a record that was just read is nothing that anybody asked for
            return super()._read_through(*args)

    def put(self, record: Record) -> Change | None:
        if isinstance(record, Source | Undecodable):
            with self._quiet():
                return super().put(record)
        with self._quiet():
            before = super().get(type(record), record.namespace, record.name)
        # What is read later counts: each read is of the newest state.
        if before is not None and before.same_facts(record):
            return None
        return self._change(type(record), before, record)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        internal, self._internal = self._internal, True
        try:
            yield
        finally:
            self._internal = internal
