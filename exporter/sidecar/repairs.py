"""What the sidecar reports of its remediations: the repairs that it has planned, refused or carried out, by finding.

They are the sidecar's words about objects that anybody may have named: texts are cut, and lists are short.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

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
