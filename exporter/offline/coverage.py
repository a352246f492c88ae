"""Of which namespaces a dump holds all objects of a kind: what it lacks elsewhere may not have been collected.

A list with objects of several namespaces was made over all of them, for each kind that is in it. A list that the API
server made of a kind (`kind: PodList`) is taken for one over all namespaces where no other list of the kind differs
from it in its namespaces, and where its file is not below `namespaces/NAME/`. Everything else says something of the
namespaces alone that its objects are in. A list with `metadata.continue` is a page, and says nothing of what is not in
it, whatever else says.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from ..store.kind import ApiKind, Reach
from .documents import DumpedList

_OF_NAMESPACE = re.compile(r"(?:^|/)namespaces/([^/]+)/")
_Kind = ApiKind[Any]


class Coverage:
    """Is handed each list as it begins, and each object."""

    def __init__(self) -> None:
        self.pages: dict[_Kind, str] = {}  # with a file
        self._everywhere: set[_Kind] = set()
        self._places = defaultdict[_Kind, set[str]](set)
        self._lists = defaultdict[_Kind, list[set[str]]](list)  # that the API server made of a kind
        self._file = ""
        self._list: DumpedList | None = None
        self._held = defaultdict[_Kind, set[str]](set)  # by the list that is being read

    def begin(self, file: str, found: DumpedList | None = None, kind: _Kind | None = None) -> None:
        """A list, or a file."""
        self.end()
        self._file, self._list = file, found
        if kind is not None:
            self._held[kind] = set()

    def add(self, kind: _Kind, namespace: str, *, listed: bool) -> None:
        if listed and self._list is not None:
            self._held[kind].add(namespace)
        else:
            self._places[kind].add(namespace)

    def end(self) -> None:
        """Of the list that was read last."""
        held, found = self._held, self._list
        self._held, self._list = defaultdict(set), None
        if found is None:
            return
        own = _OF_NAMESPACE.search(self._file)
        several = len({each for kind, places in held.items() if kind.namespaced for each in places}) > 1
        for kind, places in held.items():
            if found.cut:
                self.pages.setdefault(kind, self._file)
            elif own:
                self._places[kind] |= {own[1]}
            elif several:
                self._everywhere.add(kind)
            elif found.kind:
                self._lists[kind].append(places)
            else:
                self._places[kind] |= places

    def within(self, kind: _Kind) -> frozenset[str] | None:
        """The namespaces of which all is there; None where it is all of the cluster."""
        if not kind.namespaced or kind.dispensable or kind.reach is Reach.CLUSTER or kind in self._everywhere:
            return None
        lists = self._lists[kind]
        if lists and all(each == lists[0] for each in lists):
            return None
        found = self._places[kind].union(*lists) - {""}
        return frozenset(found) or None  # manifests name no namespace
