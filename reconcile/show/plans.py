"""What is known of each repair now, for whoever looks: the API, the page, the metrics."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

import msgspec

from exporter.facts.record import Ref
from exporter.findings.causes import Reference

from ..config.settings import Mode
from ..confirm.confirm import Confirmed
from ..decide.gates import Blocked
from ..observe.source import Found
from ..plan.plan import Add, Create, Delete, Patch, Plan, Proposal, Refused, Remove, Replace, Test

# By what repairs belong together: a remediation, and the cause of what it is for (`exporter.findings.causes`).


def words(reference: Reference) -> str:
    """What one act would mend."""
    where = f" in namespace {reference.namespace}" if reference.namespace else ""
    if reference.kind:
        path = f"{reference.namespace}/{reference.name}" if reference.namespace else reference.name
        return f"{reference.kind} {path}"
    if reference.node:
        return f"node {reference.node}{where}"
    if reference.network:
        return f"network {reference.network}{where}"
    if reference.feature:
        return f"feature {reference.feature}" + (f" ({reference.name})" if reference.name else "") + where
    if reference.group:
        return f"what shares {reference.group}"
    return f"namespace {reference.namespace}" if reference.namespace else "the cluster"


_LONGEST = 120  # characters of a value in a sentence
_PASSING = ("everything_seen", "same_plan", "unchanged", "read_just_now")  # refusals that say nothing of the object


class Repair(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One finding and one remediation. `state`: planned, refused, blocked, waiting for approval, proposed, verifying,
    failed, shadowed: it would have been written, or unclear: it was sent, and may still arrive. `cause` is that of the
    finding, by its id, and `concerns` the same in words, once there is a plan. `subject` is what the finding is about,
    `target` what is written, and `bound_to` the object that bears approvals. `at` is when it was looked at, in seconds
    since 1970. `content` is the object that is created, and `difference` its lines as JSON, each after `+` where it is
    not in what it is `compared` with, `-` where it is only in that, or a space.
    """

    fingerprint: str
    remediation: str
    check: str
    reason: str
    subject: str = ""
    cause: str = ""
    concerns: str = ""
    namespace: str
    mode: str
    state: str
    at: float
    hash: str = ""
    target: str = ""
    write: str = ""
    why: str = ""
    effect: str = ""
    risk: str = ""
    undo: str = ""
    loses: tuple[str, ...] = ()
    content: Mapping[str, Any] | None = None
    compared: str = ""
    difference: tuple[str, ...] = ()
    proposal: Proposal | None = None
    refused: Refused | None = None
    blocked: tuple[Blocked, ...] = ()
    commands: tuple[str, ...] = ()
    bound_to: Ref | None = None

    @classmethod
    def of(cls, found: Found, remediation: str, mode: Mode, at: float) -> Repair:
        """Of a finding, before anything is planned."""
        return cls(
            fingerprint=found.hint.fingerprint,
            remediation=remediation,
            check=found.hint.check,
            reason=found.hint.reason,
            subject=str(found.hint.subject),
            cause=found.cause,
            namespace=found.namespace,
            mode=mode.value,
            state="planned",
            at=at,
        )

    @property
    def possible(self) -> bool:
        """Whether it would be written as far as its last plan says: one that could not be made may be another time."""
        return self.proposal is None and (self.refused is None or self.refused.precondition in _PASSING)

    def unplanned(self, refused: Refused) -> Repair:
        return msgspec.structs.replace(self, state="refused", refused=refused)

    def planned(self, confirmed: Confirmed) -> Repair:
        plan = confirmed.plan
        proposed = plan.proposal is not None
        return msgspec.structs.replace(
            self,
            state="proposed" if proposed else "planned",
            hash=plan.hash,
            cause=plan.cause_id or self.cause,
            concerns=words(plan.cause) if plan.cause is not None else "",
            target=str(plan.target),
            bound_to=plan.bound_to,
            write=sentence(plan),
            why=plan.why,
            effect=plan.effect,
            risk=plan.risk.value,
            undo=plan.undo,
            loses=plan.loses,
            content=plan.step.manifest if isinstance(plan.step, Create) else None,
            compared=plan.compared.of if plan.compared is not None else "",
            difference=tuple(_difference(plan)),
            proposal=plan.proposal,
            commands=() if proposed or self.mode == "apply" else (_command(self.mode, plan),),
        )

    def held_up(self, gates: tuple[Blocked, ...]) -> Repair:
        """As it is planned, with the gates that are closed: what would carry it out does not, then."""
        return msgspec.structs.replace(self, blocked=gates, commands=() if gates else self.commands)


def _command(mode: str, plan: Plan) -> str:
    """What carries the plan out. In mode plan no approval does: then it is for a person."""
    verb = "approve" if mode == "approve" else "apply"
    return f"steward reconcile {verb} {plan.fingerprint} --remediation {plan.remediation} --plan {plan.hash}"


def _difference(plan: Plan) -> Iterator[str]:
    """The lines of what is created, with those of what it is compared with; all are new where it is with nothing."""
    if not isinstance(plan.step, Create):
        return
    before, after = _lines(plan.compared.manifest if plan.compared is not None else None), _lines(plan.step.manifest)
    for tag, old, old_end, new, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (f"  {line}" for line in after[new:new_end])
        else:
            yield from (f"- {line}" for line in before[old:old_end])
            yield from (f"+ {line}" for line in after[new:new_end])


def _lines(manifest: Mapping[str, Any] | None) -> list[str]:
    if manifest is None:
        return []
    return msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=2).decode().splitlines()


def sentence(plan: Plan) -> str:
    """The write in one line."""
    step = plan.step
    if isinstance(step, Delete):
        return f"delete {step.target}"
    if isinstance(step, Create):
        return f"create {step.target}"
    if isinstance(step, Patch):
        changes = [op for op in step.ops if not isinstance(op, Test)]
        words = ", ".join(map(_change, changes))
        where = f"/{step.subresource}" if step.subresource else ""
        return f"patch {step.target}{where}: {words}" if words else "nothing"
    return f"call {step.action} of {step.target}"


def _change(op: Add | Replace | Remove) -> str:
    """One operation of a patch, with the value that it writes as JSON."""
    if isinstance(op, Remove):
        return f"remove {op.path}"
    value = msgspec.json.encode(op.value).decode()
    return f"{type(op).__name__.lower()} {op.path}: {value if len(value) <= _LONGEST else value[:_LONGEST] + '…'}"


class ShownRepairs:
    """The repairs by finding and remediation. `changed` is notified when one differs."""

    def __init__(self) -> None:
        self._repairs: dict[tuple[str, str], Repair] = {}
        self.generation = 0
        self.changed = asyncio.Condition()

    def repairs(self) -> list[Repair]:
        return list(self._repairs.values())

    def get(self, fingerprint: str, remediation: str) -> Repair | None:
        return self._repairs.get((fingerprint, remediation))

    async def put(self, repair: Repair) -> None:
        key = repair.fingerprint, repair.remediation
        before = self._repairs.get(key)
        self._repairs[key] = repair
        if before is None or msgspec.structs.replace(before, at=repair.at) != repair:
            await self._notify()

    async def keep(self, keys: Iterable[tuple[str, str]]) -> None:
        """Forgets all others."""
        wanted = set(keys)
        gone = [key for key in self._repairs if key not in wanted]
        for key in gone:
            del self._repairs[key]
        if gone:
            await self._notify()

    async def _notify(self) -> None:
        self.generation += 1
        async with self.changed:
            self.changed.notify_all()


# Repairs by remediation and cause: one row for 40 IPAMClaims of one network. Pure.

_FIRST = 5  # objects that are named


class RepairCause(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """All repairs of one remediation that have one cause. `concerns` is the cause in words, empty where none of them
    has a plan; `states` counts the repairs, and `first` are some of the findings' subjects.
    """

    remediation: str
    check: str
    reason: str
    cause: str
    concerns: str
    repairs: int
    states: dict[str, int]
    first: tuple[str, ...]


def grouped(repairs: Iterable[Repair]) -> list[RepairCause]:
    """Those of the most repairs first."""
    found: dict[tuple[str, ...], list[Repair]] = {}
    for each in repairs:
        cause = each.cause or f"namespace {each.namespace}"
        found.setdefault((each.remediation, each.check, each.reason, cause), []).append(each)
    rows = [
        RepairCause(
            remediation=own[0].remediation,
            check=own[0].check,
            reason=own[0].reason,
            cause=own[0].cause,
            concerns=next((each.concerns for each in own if each.concerns), ""),
            repairs=len(own),
            states=dict(sorted(Counter(state_of(each) for each in own).items())),
            first=tuple(each.subject for each in own[:_FIRST]),
        )
        for own in found.values()
    ]
    return sorted(rows, key=lambda row: (-row.repairs, row.remediation, row.concerns, row.cause))


def state_of(repair: Repair) -> str:
    """A plan that a gate holds back is blocked; one that only waits for the canary of its remediation is held."""
    if repair.state not in ("planned", "blocked") or not repair.blocked:
        return repair.state
    return "held" if {each.gate for each in repair.blocked} == {"canary"} else "blocked"
