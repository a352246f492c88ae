"""A Lease as we read and write it: who holds it, whether it was given up, and what travels with it.

Its times are for people: no time that another computer wrote is compared with a clock of ours. People
edit leases too: a field that is not of its type counts as absent.

How long a lease is surely ours (`Tenure`) is said by a clock that nobody sets and that goes on while the computer
sleeps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from exporter.kube.errors import MALFORMED, KubeError, MalformedError, StatusError, UnreachableError
from exporter.kube.get_json import whole
from exporter.kube.transport import Transport

PREFIX = "steward.kubevirt-steward.io/"
_PROCESS = "lease-process"  # the process that wrote it last: a name may be that of two
_RELEASED = "lease-released"  # the process that gave it up
RESERVED = frozenset({_PROCESS, _RELEASED})
_LONGEST = 600  # seconds; a duration that somebody mistyped is not waited for


@dataclass(frozen=True)
class Contender:
    """One process that wants the lease. `duration` is in seconds."""

    namespace: str
    name: str
    identity: str
    process: str  # a value that no other process has
    duration: float


class LeaseRecord:
    """A Lease as the API server returned it. Two are equal where nobody wrote in between."""

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self._whole = whole
        self._meta, self._spec = _dict(whole.get("metadata")), _dict(whole.get("spec"))
        self._annotations = _dict(self._meta.get("annotations"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LeaseRecord) and self._whole == other._whole

    __hash__ = None  # type: ignore[assignment] # it holds a dict

    @property
    def holder(self) -> str:
        """Empty where nobody holds it."""
        return _text(self._spec.get("holderIdentity"))

    @property
    def released(self) -> bool:
        """Whether its last holder gave it up; a holder that somebody else took out of it may still believe to lead."""
        process = self._annotations.get(PREFIX + _PROCESS)
        return bool(not self.holder and process and self._annotations.get(PREFIX + _RELEASED) == process)

    @property
    def state(self) -> dict[str, str]:
        """The annotations that travel with it, without their prefix."""
        found = {
            key.removeprefix(PREFIX): value
            for key, value in self._annotations.items()
            if key.startswith(PREFIX) and isinstance(value, str)
        }
        return {key: value for key, value in found.items() if key not in RESERVED}

    def is_of(self, namespace: str, name: str) -> bool:
        """Whether it is the Lease of that name, with what a write has to be bound to."""
        meta = self._meta
        named = (self._whole.get("kind"), meta.get("namespace"), meta.get("name")) == ("Lease", namespace, name)
        return bool(named and _text(meta.get("uid")) and _text(meta.get("resourceVersion")))

    def held_by(self, candidate: Contender) -> bool:
        """Whether this very process wrote it, and nobody changed whose it is."""
        return self.holder == candidate.identity and self._annotations.get(PREFIX + _PROCESS) == candidate.process

    def patience(self, duration: float) -> float:
        """Seconds in which it has to stay as it is before somebody else may have it."""
        given = self._spec.get("leaseDurationSeconds")
        return max(duration, min(given, _LONGEST)) if isinstance(given, int) else duration

    def held(self, candidate: Contender, wall: float, state: Mapping[str, str | None] | None = None) -> dict[str, Any]:
        """What to write to hold it from now on; `wall` is in seconds since 1970. Of `state`, None takes a key out.

        It has the UID and the resourceVersion that were read: a PUT would create a Lease that is gone.
        """
        now = _micro_time(wall)
        ours = self.held_by(candidate)
        transitions = self._spec.get("leaseTransitions")
        count = max(transitions, 0) if isinstance(transitions, int) else 0
        spec = {
            **self._spec,
            **_spec(candidate),
            "holderIdentity": candidate.identity,
            "acquireTime": (ours and _text(self._spec.get("acquireTime"))) or now,
            "renewTime": now,
            "leaseTransitions": count if ours else min(count + 1, 2**31 - 1),
        }
        kept = {key: value for key, value in self._with(state).items() if key != PREFIX + _RELEASED}
        return self._written(spec, kept | {PREFIX + _PROCESS: candidate.process})

    def _with(self, state: Mapping[str, str | None] | None) -> dict[str, Any]:
        """The annotations as they are to be."""
        kept = dict(self._annotations)
        for key, value in (state or {}).items():
            kept.pop(PREFIX + key, None)
            if value is not None:
                kept[PREFIX + key] = value
        return kept

    def given_up(
        self, candidate: Contender, wall: float, state: Mapping[str, str | None] | None = None
    ) -> dict[str, Any]:
        """What to write so that the next one need not wait; `state` as in `held`."""
        spec = {key: value for key, value in self._spec.items() if key not in ("holderIdentity", "acquireTime")}
        spec |= {**_spec(candidate), "renewTime": _micro_time(wall)}
        return self._written(spec, self._with(state) | {PREFIX + _RELEASED: candidate.process})

    def _written(self, spec: dict[str, Any], annotations: dict[str, Any]) -> dict[str, Any]:
        meta = {key: value for key, value in self._meta.items() if key != "managedFields"}
        return {**self._whole, "metadata": meta | {"annotations": annotations}, "spec": spec}


def unheld(candidate: Contender) -> dict[str, Any]:
    """A Lease to create that nobody holds yet: one that was deleted may still be believed in."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": candidate.namespace, "name": candidate.name},
        "spec": _spec(candidate),
    }


def _spec(candidate: Contender) -> dict[str, Any]:
    return {"leaseDurationSeconds": max(1, -int(-candidate.duration // 1))}


def _micro_time(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


# Requests for one Lease, each within a time.

_BYTES = 4 * 2**20


class LeaseApi:
    """Each request takes at most so many seconds, and raises KubeError; what came of a write is then not known."""

    def __init__(self, transport: Transport, namespace: str, name: str) -> None:
        self._transport, self._namespace, self._name = transport, namespace, name
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    def __str__(self) -> str:
        return f"Lease {self._namespace}/{self._name}"

    async def get(self, seconds: float) -> LeaseRecord | None:
        """None where it does not exist."""
        try:
            return await self._request("GET", f"/{self._name}", None, seconds)
        except StatusError as error:
            if error.not_found:
                return None
            raise

    async def create(self, body: Mapping[str, Any], seconds: float) -> None:
        """Does nothing where it exists."""
        try:
            await self._request("POST", "", body, seconds)
        except StatusError as error:
            if error.code != 409:
                raise

    async def replace(self, body: Mapping[str, Any], seconds: float) -> LeaseRecord:
        return await self._request("PUT", f"/{self._name}", body, seconds)

    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None, seconds: float) -> LeaseRecord:
        try:
            async with asyncio.timeout(seconds):
                opened = self._transport.open(method, self._path + path, read_seconds=seconds, body=body)
                async with opened as response:
                    content = await whole(response, _BYTES)
        except TimeoutError as error:
            raise UnreachableError(f"no response to {method} of {self} within {seconds:.1f} s") from error
        try:
            record = LeaseRecord(msgspec.json.decode(content, type=dict[str, Any]))
        except MALFORMED as error:
            raise MalformedError(f"{method} of {self} was not answered with a Lease: {error}") from error
        if not record.is_of(self._namespace, self._name):
            raise MalformedError(f"{method} of {self} was answered with something else, or without a resourceVersion")
        return record


async def read_leases(transport: Transport, path: str, query: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """A Lease or a list of them, as it is. Raises KubeError."""
    async with transport.open("GET", path, query, read_seconds=10.0) as response:
        content = await whole(response, _BYTES)
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except MALFORMED as error:
        raise MalformedError(f"GET {path} was not answered with a Lease: {error}") from error


class NotLeadingError(Exception):
    """The lease is not surely ours for as long as was asked; its text is why, one sentence."""


class WithheldError(NotLeadingError):
    """The lease may be ours, and must not: what travels with it does not fit; its text is why, one sentence."""


class Tenure:
    """The time that a successful write of the lease gives us, counted from before it was sent.

    Whoever takes the lease over saw that very write at the earliest after it was sent, and waits for `duration` from
    then. All in seconds; `margin` is for clocks that don't run at the same speed.
    """

    def __init__(self, duration: float, margin: float, clock: Callable[[], float]) -> None:
        self._seconds, self._clock = duration - margin, clock
        self._sent: float | None = None

    @property
    def left(self) -> float:
        """Seconds for which the lease is surely ours from now on; 0 where it may be somebody else's."""
        return 0.0 if self._sent is None else max(0.0, self._sent + self._seconds - self._clock())

    @property
    def age(self) -> float:
        """Seconds since the last write that succeeded was sent; infinite without one."""
        return float("inf") if self._sent is None else self._clock() - self._sent

    def renewed(self, sent: float) -> None:
        """A write that was sent at this time succeeded."""
        self._sent = sent if self._sent is None else max(sent, self._sent)

    def lost(self) -> None:
        self._sent = None


# In place of an election where nothing may be written: no Lease is taken, and the fence lets nothing through.
#
# What the Lease says is read where it matters, in mode `shadow`: whoever paused everything has paused that, too.

_EVERY = 10.0  # seconds between two reads of the Lease, and for one


class NoElection:
    """It leads as far as planning goes; any number of replicas may."""

    leading, leader = True, ""

    def __init__(self, lease: LeaseApi | None = None, wanted: Callable[[], bool] = lambda: True) -> None:
        """`lease` is the one to read while that is `wanted`; without it none is."""
        self.state: Mapping[str, str] = {}
        self.changed = asyncio.Condition()
        self._lease, self._wanted, self._seen = lease, wanted, lease is None

    @property
    def seen(self) -> bool:
        """Whether the state is that of the Lease, or does not matter."""
        return self._seen or not self._wanted()

    async def run(self) -> None:
        """Until it is cancelled."""
        while self._lease is not None:
            if self._wanted():
                await self.look(self._lease)
            await asyncio.sleep(_EVERY)
        await asyncio.Event().wait()

    async def look(self, lease: LeaseApi) -> None:
        """Reads the Lease; one that does not exist says nothing."""
        try:
            record = await lease.get(_EVERY)
        except KubeError:
            self._seen = False
            return
        self.state, self._seen = record.state if record is not None else {}, True

    async def assure(self, seconds: float) -> None:  # noqa: ARG002 # as a fence has it
        """Raises NotLeadingError: whoever writes needs the Lease."""
        raise NotLeadingError("no Lease is held, because no remediation has permission to write. Nothing is written")

    async def publish(self, state: Mapping[str, str | None]) -> None:
        """Nothing travels without a Lease."""
