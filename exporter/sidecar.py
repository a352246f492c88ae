"""What the sidecar reports of its remediations: the repairs that it has planned, refused or carried out, by finding.

They are the sidecar's words about objects that anybody may have named: texts are cut, and lists are short.

The follower asks for them in the background; the sidecar holds its answer back until it changes. Whatever it answers,
the findings are served; its repairs are unknown then, and what it said last is kept.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from .config.settings import ReconcileSettings
from .engine.turn import in_turns

if TYPE_CHECKING:
    from .kube.get_json import Connection

_LONGEST = 1000  # characters of a text
_LONGEST_WRITE = 10_000  # of what would be written
_LONGEST_NAME = 100
_MOST_MODES = 100
_SLICE = 100  # repairs, which take about a millisecond
_MOST = 10  # of a list, and repairs of one finding

Seconds = Annotated[float, Meta(ge=0, le=253_402_300_799)]  # since 1970; up to the last that a calendar has


class _Said(msgspec.Struct, frozen=True, kw_only=True):
    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, str) and len(value) > _longest(name):
                msgspec.structs.force_setattr(self, name, f"{value[: _longest(name) - 1]}…")


def _longest(name: str) -> int:
    return _LONGEST_WRITE if name in ("write", "patch") else _LONGEST


class ReportedProposal(_Said, frozen=True, kw_only=True):
    """What to change instead, where somebody else would revert the write."""

    owner: str
    where: str
    patch: str = ""


class ReportedRefusal(_Said, frozen=True, kw_only=True):
    """The precondition that does not hold, and why."""

    precondition: str
    why: str


class ReportedBlock(_Said, frozen=True, kw_only=True):
    """A gate that is closed, and why; `until` is in seconds since 1970."""

    gate: str
    why: str
    until: Seconds | None = None


class ReportedObject(_Said, frozen=True, kw_only=True):
    """That bears approvals and pauses."""

    kind: str
    namespace: str
    name: str


class ReportedRepair(_Said, frozen=True, kw_only=True):
    """What one remediation has to say of one finding.

    `hash` is that of the plan, `write` the request as one line; both are empty without a plan. `commands` are for a
    shell; one that is too long to be shown whole is left out.
    """

    fingerprint: str
    remediation: str
    state: str
    mode: str = ""
    hash: str = ""
    target: str = ""
    write: str = ""
    why: str = ""
    effect: str = ""
    risk: str = ""
    undo: str = ""
    loses: tuple[str, ...] = ()
    proposal: ReportedProposal | None = None
    refused: ReportedRefusal | None = None
    blocked: tuple[ReportedBlock, ...] = ()
    commands: tuple[str, ...] = ()
    at: Seconds | None = None
    bound_to: ReportedObject | None = msgspec.field(default=None, name="boundTo")

    def __post_init__(self) -> None:
        super().__post_init__()
        force = msgspec.structs.force_setattr
        force(self, "loses", tuple(each[:_LONGEST] for each in self.loses[:_MOST]))
        force(self, "blocked", self.blocked[:_MOST])
        force(self, "commands", tuple(each for each in self.commands if len(each) <= _LONGEST)[:_MOST])


class ReportedUnseen(_Said, frozen=True, kw_only=True):
    """An object that can't be read, how many repairs it is in the way of, and what to do about it."""

    object: str
    repairs: Annotated[int, Meta(ge=0)]
    why: str
    remedy: str = ""


class ReportedCanary(_Said, frozen=True, kw_only=True):
    """How far the first repairs of a remediation are. One that has `stopped` says by which `object`, and `why`."""

    remediation: str
    state: str
    objects: tuple[str, ...] = ()
    object: str = ""
    attempt: str = ""
    why: str = ""
    at: Seconds | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        msgspec.structs.force_setattr(self, "objects", tuple(each[:_LONGEST] for each in self.objects[:_MOST]))


class Plans(msgspec.Struct, frozen=True, kw_only=True):
    """The sidecar's answer; `modes` has the mode of each remediation, `leader` is who leads, where that is known."""

    generation: str
    leading: bool
    modes: dict[str, str]
    repairs: tuple[ReportedRepair, ...]
    unseen: tuple[ReportedUnseen, ...] = ()
    canaries: tuple[ReportedCanary, ...] = ()
    leader: str = ""


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    generation: str
    leading: bool
    modes: dict[str, str] = {}
    repairs: list[msgspec.Raw] = []
    unseen: list[ReportedUnseen] = []
    canaries: list[ReportedCanary] = []
    leader: str = ""


_ANSWER, _REPAIR = msgspec.json.Decoder(_Answer), msgspec.json.Decoder(ReportedRepair)


def decoding(body: bytes) -> Generator[None, None, Plans]:
    """In slices, between which others get their turn: there may be a repair for each finding.

    Raises ValueError for what is no such answer.
    """
    try:
        answer = _ANSWER.decode(body)
        repairs = []
        for at, each in enumerate(answer.repairs):
            repairs.append(_REPAIR.decode(each))
            if at % _SLICE == 0:
                yield
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"the response is not from a sidecar: {error}") from error
    modes = {name[:_LONGEST_NAME]: mode[:_LONGEST_NAME] for name, mode in islice(answer.modes.items(), _MOST_MODES)}
    return Plans(
        generation=answer.generation,
        leading=answer.leading,
        modes=modes,
        repairs=tuple(repairs),
        unseen=tuple(answer.unseen[:_MOST]),
        canaries=tuple(answer.canaries[:_MOST_MODES]),
        leader=answer.leader[:_LONGEST_NAME],
    )


class Repairs:
    """The last answer of the sidecar, by the fingerprints of the findings."""

    def __init__(self, unknown_since: float | None = None) -> None:
        """Without a time the sidecar is not asked; else it has not answered since, in seconds since 1970."""
        self.followed = unknown_since is not None
        self.plans: Plans | None = None
        self.unknown_since = unknown_since
        self.why = "the sidecar has not been asked yet" if self.followed else ""
        self.version = 0  # grows with each change
        self._of: dict[str, tuple[ReportedRepair, ...]] = {}

    def take(self, plans: Plans) -> None:
        """The sidecar has answered."""
        if plans == self.plans and self.unknown_since is None:
            return
        found: dict[str, list[ReportedRepair]] = {}
        for each in plans.repairs:
            found.setdefault(each.fingerprint, []).append(each)
        self._of = {key: tuple(each[:_MOST]) for key, each in found.items()}
        self.plans, self.unknown_since, self.why = plans, None, ""
        self.version += 1

    def lost(self, why: str, now: float) -> None:
        """It does not answer: what it said last is kept, and may be old. `now` is in seconds since 1970."""
        since = now if self.unknown_since is None else self.unknown_since
        if (since, why) != (self.unknown_since, self.why):
            self.unknown_since, self.why = since, why
            self.version += 1

    def of(self, fingerprint: str) -> tuple[ReportedRepair, ...] | UnsetType:
        """What is known of a finding; UNSET where no sidecar is asked."""
        return self._of.get(fingerprint, ()) if self.followed else UNSET


log = logging.getLogger(__name__)
_LARGEST = 32 << 20  # bytes of an answer
_PATH = "/api/v1/plans"
_LONGEST_WHY = 300  # characters


@dataclass(frozen=True)
class Waits:
    """All in seconds. `change` is how long the sidecar may hold an answer back, `answer` how long it may take then;
    `pause` is between two answers, `first` and `longest` are between tries after failures, which double.
    """

    change: int = 30
    answer: float = 15.0
    pause: float = 1.0
    first: float = 1.0
    longest: float = 60.0


class Follower:
    def __init__(self, settings: ReconcileSettings, repairs: Repairs, waits: Waits | None = None) -> None:
        """The settings have a URL."""
        from .kube.get_json import JSONServer  # its client is dear to import, and who reads a report needs none

        self._sidecar = JSONServer(
            (settings.url or "").rstrip("/"),
            settings.token_file or "",
            settings.ca_file or "",
            settings.server_name or "",
        )
        self._repairs, self._waits = repairs, waits or Waits()
        self._failures = 0

    async def run(self) -> None:
        """Does not return, and raises nothing for what the sidecar or the network does."""
        while True:
            with self._failing():
                await self._follow()
            self._failures += 1
            grown = self._waits.first * 2 ** min(self._failures - 1, 10)
            await asyncio.sleep(min(grown, self._waits.longest) * random.uniform(0.5, 1.0))  # noqa: S311

    async def once(self) -> None:
        """Asks once; raises nothing for what the sidecar or the network does."""
        with self._failing():
            async with self._sidecar.connected(_LARGEST) as connection:
                plans, _ = await self._asked(connection, "", "")
                if plans is not None:
                    self._answered(plans)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        from .kube.get_json import GetError

        try:
            yield
        except GetError as error:
            self._lost(f"{error}{self._advice(error.status)}")
        except ValueError as error:
            self._lost(str(error))

    async def _follow(self) -> None:
        """Until something fails: the CA and the connections are made anew then."""
        generation = tag = ""
        async with self._sidecar.connected(_LARGEST) as connection:
            while True:
                plans, tag = await self._asked(connection, generation, tag)
                if plans is not None:
                    self._answered(plans)
                    generation = plans.generation
                await asyncio.sleep(self._waits.pause)

    async def _asked(self, connection: Connection, generation: str, tag: str) -> tuple[Plans | None, str]:
        """The answer and its tag; without an answer where nothing has changed."""
        query = {"wait": str(self._waits.change), "since": generation} if generation else {}
        answer = await connection.get(_PATH, query, seconds=self._waits.change + self._waits.answer, tag=tag)
        return (await in_turns(decoding(answer.body)) if answer.status == 200 else None), answer.tag

    def _advice(self, status: int) -> str:
        if status in (401, 403):
            return ". Set reconcile.tokenFile to a token that the sidecar accepts"
        return ". Set reconcile.url to the sidecar's URL, without a path" if status in (301, 302, 404) else ""

    def _answered(self, plans: Plans) -> None:
        if self._repairs.unknown_since is not None:
            log.info('event="repair controller reached" url=%s repairs=%d', self._sidecar.url, len(plans.repairs))
        self._failures = 0
        self._repairs.take(plans)

    def _lost(self, why: str) -> None:
        """Logs it once, not each time that it is tried again."""
        why = f"the repairs can't be read from {self._sidecar.url}: {why}"[:_LONGEST_WHY]
        news = why != self._repairs.why
        self._repairs.lost(why, time.time())
        if news:
            log.warning('event="repair controller unreachable" why="%s"', why)
