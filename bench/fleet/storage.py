"""What the stub serves, as bytes that are made once: objects by resource, each around its resourceVersion."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from bench.fleet.changes import CHANGES, chosen
from demo.apiserver.resources import RESOURCES, Obj, ServedResource

__all__ = ["CRDS", "SERVED", "Encoded", "Prepared", "Rows", "Storage", "encoded"]

CRDS = ServedResource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
SERVED = (*RESOURCES, CRDS)
_BY_KIND = {(each.api_version, each.kind): each for each in SERVED}
_MARK = '"resourceVersion":"@"'


@dataclass(slots=True)
class Rows:
    """The objects of a resource in the order of a list."""

    bodies: list[bytes] = field(default_factory=list)
    keys: dict[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """One change of one object: what stands before and behind its resourceVersion."""

    resource: ServedResource
    row: int
    head: bytes
    tail: bytes

    def body(self, version: int) -> bytes:
        return b"%b%d%b" % (self.head, version, self.tail)


class Encoded(NamedTuple):
    """An object as it is stored: what stands before and behind its resourceVersion."""

    api_version: str
    kind: str
    namespace: str
    name: str
    head: bytes
    tail: bytes


def encoded(obj: Obj) -> Encoded:
    meta = obj["metadata"]
    return Encoded(obj["apiVersion"], obj["kind"], meta.get("namespace", ""), meta["name"], *_around_version(obj))


class Storage:
    def __init__(self, objects: Iterable[Encoded]) -> None:
        self.version = 1000
        self.rows: dict[ServedResource, Rows] = defaultdict(Rows)
        for each in chain(map(encoded, _crds()), objects):
            self._add(each)

    def prepared(self, change: str, count: int) -> Iterator[tuple[str, Prepared, Prepared]]:
        """Name and change, there and back, of so many objects that are spread over all; none of them is faulty."""
        of = CHANGES[change]
        resource = next(each for each in SERVED if each.kind == of.kind)
        rows = self.rows[resource]
        for row in chosen(change, len(rows.bodies), count):
            obj = json.loads(rows.bodies[row])
            if "labels" not in obj["metadata"]:  # it has the fault that the change would make
                continue
            there, back = (Prepared(resource, row, *_around_version(of.changed(obj, way))) for way in (True, False))
            yield obj["metadata"]["name"], there, back

    def put(self, prepared: Prepared) -> bytes:
        """Makes a change; gives the object as it is now."""
        self.version += 1
        body = prepared.body(self.version)
        self.rows[prepared.resource].bodies[prepared.row] = body
        return body

    def _add(self, each: Encoded) -> None:
        rows = self.rows[_BY_KIND[each.api_version, each.kind]]
        self.version += 1
        rows.keys[each.namespace, each.name] = len(rows.bodies)
        rows.bodies.append(b"%b%d%b" % (each.head, self.version, each.tail))


def _around_version(obj: Obj) -> tuple[bytes, bytes]:
    meta = {**obj["metadata"], "resourceVersion": "@"}
    head, _, tail = json.dumps({**obj, "metadata": meta}, separators=(",", ":")).partition(_MARK)
    return f'{head}"resourceVersion":"'.encode(), f'"{tail}'.encode()


def _crds() -> Iterator[Obj]:
    """As far as kube-state-metrics reads them: to find out what is served."""
    for each in RESOURCES:
        if each.custom and not each.group.endswith(".k8s.io"):
            names = {"plural": each.plural, "kind": each.kind, "listKind": f"{each.kind}List"}
            spec = {
                "group": each.group,
                "names": names,
                "scope": "Namespaced" if each.namespaced else "Cluster",
                "versions": [{"name": each.version, "served": True, "storage": True}],
            }
            meta = {"name": each.qualified, "uid": each.qualified}
            yield {"apiVersion": CRDS.api_version, "kind": CRDS.kind, "metadata": meta, "spec": spec}
