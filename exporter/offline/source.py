"""The offline source: a whole dump, read once.

If an object is in two files, the newer state counts: by resourceVersion if both have one, else by creation time, else
the file read later. A kind that is in no file is missing, not empty, unless the dump is declared complete: it may not
have been collected. An empty list of the kind (`kind: IPAMClaimList`) proves that it was; a plain `kind: List` proves
nothing about other kinds. A dispensable kind without objects is empty. Nor is a kind empty in a namespace of which the
dump has no object of it, unless `Coverage` knows that all namespaces were collected. A page of a list leaves its kind
missing in a dump that is declared complete too: it says itself that there is more.

A namespace that an object of a cluster-scoped kind carries does not count, as for the API server. Objects of the other
kinds without one, as manifests have them, belong to none, and are compared with each other only.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from ..engine.intake import Intake
from ..facts.naming import named
from ..store.decode import MALFORMED, Decoded, ObjectDecoder
from ..store.kind import ApiKind, Kind, Reach
from ..store.source import SyncState
from .documents import DumpedList, DumpedObject, Malformed, objects
from .files import DumpError, File, Unread, files
from .limits import Effort
from .wanted import LabelledVMs, Wanted

# Of which namespaces a dump holds all objects of a kind: what it lacks elsewhere may not have been collected.
#
# A list with objects of several namespaces was made over all of them, for each kind that is in it. A list that the API
# server made of a kind (`kind: PodList`) is taken for one over all namespaces where no other list of the kind differs
# from it in its namespaces, and where its file is not below `namespaces/NAME/`. Everything else says something of the
# namespaces alone that its objects are in. A list with `metadata.continue` is a page, and says nothing of what is not
# in it, whatever else says.

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


class ReadTally(msgspec.Struct):
    """What was read so far."""

    files: int = 0
    objects: int = 0
    others: int = 0  # objects and lists of kinds that nothing reads

    def __str__(self) -> str:
        return f"{_count(self.files, 'file')}, {_count(self.objects, 'object')}, {self.others} of other kinds"


_PROGRESS_EVERY = 500  # objects
_NAMED = 3  # namespaces
_LONGEST_VERSION = 20  # digits of 64 bits
_NO_FILE = "the dump has no .yaml, .yml or .json file; an archive inside it has to be named itself"
_NOTHING = "the dump has no Kubernetes object"

Progress = Callable[[ReadTally], None]


class _RankMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: Any = None
    creation_timestamp: Any = None


class _Ranked(msgspec.Struct, frozen=True, gc=False):
    metadata: _RankMeta = _RankMeta()


class _Status(msgspec.Struct, frozen=True, gc=False):
    message: Any = None


_RANKED = msgspec.json.Decoder(_Ranked)


class _Held(msgspec.Struct, frozen=True, gc=False):
    """A state of an object: its resourceVersion, 0 for none, and its creationTimestamp as text."""

    decoded: Decoded
    version: int
    created: str

    def superseded_by(self, other: _Held) -> bool:
        """Whether the other, read later, is newer; of equal states, the one that can be decoded."""
        if self.version and other.version and self.version != other.version:
            return self.version < other.version
        if self.created != other.created:
            return self.created < other.created
        return bool(self.decoded.why) or not other.decoded.why


class OfflineSource:
    def __init__(
        self, kinds: Iterable[Kind[Any]], intake: Intake, *, complete: bool = False, labelled: LabelledVMs | None = None
    ) -> None:
        """`complete`: the dump has the whole cluster, so a kind without objects is empty. `labelled` notes the labels
        of what is read.
        """
        self.kinds = [kind for kind in kinds if isinstance(kind, ApiKind)]
        self.tally = ReadTally()
        self._wanted, self._effort = Wanted(self.kinds, labels=labelled is not None), Effort()
        self._labelled = labelled
        self._intake, self._complete = intake, complete
        self._decoders = {kind: ObjectDecoder(kind) for kind in self.kinds}
        self._held: dict[ApiKind[Any], dict[tuple[str, str], _Held]] = {kind: {} for kind in self.kinds}
        self._listed: set[ApiKind[Any]] = set()
        self._coverage = Coverage()
        self._any = False  # whether there was any object or list
        self._first_unread = ""

    async def read(self, files: Iterable[File | Unread], progress: Progress = lambda _: None) -> None:
        """Reads all files and hands their objects over. Raises DumpError if there are none."""
        for file in files:
            self.tally.files += 1
            if isinstance(file, Unread):
                self._unread(file.name, file.why)
            else:
                self._read(file, progress)
            progress(self.tally)
        if not self._any or (self._first_unread and not self.tally.objects and not self._listed):
            raise DumpError(self._first_unread or (_NOTHING if self.tally.files else _NO_FILE))
        if self._complete and not (self.tally.objects or self.tally.others or self._listed):
            raise DumpError(f"{_NOTHING}, and so it is not all of a cluster: each has namespaces; leave --complete out")
        for kind, held in self._held.items():
            await self._intake.swap(kind, {name: each.decoded for name, each in held.items()})
            self._state(kind, held=bool(held))

    def _state(self, kind: ApiKind[Any], *, held: bool) -> None:
        """Says how much of a kind the dump has."""
        to_add = f"add the output of: {command([kind.resource])}"
        if kind in self._coverage.pages:
            why = f"{self._coverage.pages[kind]} has only one page of a list of {kind.resource}; {to_add}"
            self._intake.sync_state(kind, SyncState.MISSING, why)
        elif not (held or self._complete or kind in self._listed or kind.dispensable):
            self._intake.sync_state(kind, SyncState.MISSING, f"no {kind.name} in the dump; {to_add}")
        elif not self._complete and (places := self._coverage.within(kind)):
            where = named(sorted(places), most=_NAMED)
            why = f"the dump has {kind.resource} of {where} alone; {to_add}; or say --complete if there are no others"
            self._intake.seen_within(kind, places, why, SyncState.MISSING)
        else:
            self._intake.sync_state(kind, SyncState.READ)

    def _unread(self, file: str, why: str) -> None:
        self._first_unread = self._first_unread or f"{_NOTHING} that can be read; {file}: {why}"
        self._intake.unread(file, why)

    def _read(self, file: File, progress: Progress) -> None:
        self._coverage.begin(file.name)
        for found in objects(file.content, self._wanted, json_only=file.json, effort=self._effort):
            if isinstance(found, Malformed):
                self._unread(file.name, found.why)
                continue
            self._any = self._any or bool(found.kind and found.api_version) or isinstance(found, DumpedList)
            kind = self._wanted.kind(found.api_version, found.kind)
            if isinstance(found, DumpedList):
                self._listed |= {kind} if kind else set()
                self._coverage.begin(file.name, found, kind)
            elif kind:
                self._hold(kind, found, file.name)
                if self.tally.objects % _PROGRESS_EVERY == 0:
                    progress(self.tally)
            elif (found.api_version, found.kind) == ("v1", "Status"):
                self._unread(file.name, f"it contains an error response: {_message(found.raw)}")
            else:
                self.tally.others += 1
        self._coverage.end()

    def _hold(self, kind: ApiKind[Any], found: DumpedObject, file: str) -> None:
        self.tally.objects += 1
        decoded = _placed(self._decoders[kind].object(found.raw), kind)
        if why := _refused(kind, found):
            decoded = msgspec.structs.replace(decoded, record=None, why=why)
        if decoded.why:
            decoded = msgspec.structs.replace(decoded, why=f"{decoded.why[:160]} ({file})")
        self._coverage.add(kind, decoded.namespace, listed=found.listed)
        state = _Held(decoded, *_rank(found.raw))
        before = self._held[kind].get((decoded.namespace, decoded.name))
        if before is None or before.superseded_by(state):
            self._held[kind][decoded.namespace, decoded.name] = state
            if self._labelled is not None:
                self._labelled.note(kind, decoded, found.raw)


def _placed(decoded: Decoded, kind: ApiKind[Any]) -> Decoded:
    """Without the namespace that an object of a cluster-scoped kind may carry."""
    if kind.namespaced or kind.reach is Reach.NAMESPACE or not decoded.namespace:
        return decoded
    record = decoded.record and msgspec.structs.replace(decoded.record, namespace="")
    return msgspec.structs.replace(decoded, namespace="", record=record)


def _refused(kind: ApiKind[Any], found: DumpedObject) -> str:
    """Why an object of a dump is not taken, whatever else it holds."""
    if found.api_version.rpartition("/")[2] not in kind.versions:
        read = " and ".join(kind.versions)
        return f"unsupported apiVersion {found.api_version}; supported are {read} of its group"
    return ""


def command(resources: Iterable[str]) -> str:
    """The command that dumps these kinds of a cluster."""
    return f"kubectl get {','.join(resources)} -A -o yaml"


def named_lists(kinds: Iterable[ApiKind[Any]]) -> str:
    """The command that dumps these kinds as lists of their own, which name the kind even if they are empty.

    It prints an error of a version that is not served.
    """
    paths = " ".join(f"{kind.base(each)}/{kind.plural}" for kind in kinds for each in kind.versions)
    return f"for path in {paths}; do kubectl get --raw $path; done"


def _message(raw: bytes | msgspec.Raw) -> str:
    try:
        return str(msgspec.json.decode(raw, type=_Status).message)
    except (*MALFORMED, ValueError):
        return "undecodable"


def _rank(raw: bytes | msgspec.Raw) -> tuple[int, str]:
    """The resourceVersion, 0 for none that orders, and the creationTimestamp as text."""
    try:
        meta = _RANKED.decode(raw).metadata
    except MALFORMED:
        return 0, ""
    version, created = meta.resource_version, meta.creation_timestamp
    orders = isinstance(version, str) and version.isdecimal() and len(version) <= _LONGEST_VERSION
    return int(version) if orders else 0, created if isinstance(created, str) else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# A dump that is served: read once, before anybody is answered, and then nothing changes any more.


class DumpSource:
    """In place of a source that watches."""

    def __init__(self, path: str, kinds: Iterable[Kind[Any]], intake: Intake, *, complete: bool) -> None:
        self._path, self._source = path, OfflineSource(kinds, intake, complete=complete)
        self.reflectors: tuple[Any, ...] = ()
        self.requests: Counter[tuple[str, str, str]] = Counter()

    async def read(self, progress: Progress) -> ReadTally:
        """Raises DumpError."""
        await self._source.read(files(self._path), progress)
        return self._source.tally

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        yield

    def skew(self) -> None:
        """No API server has another clock."""
