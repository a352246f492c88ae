"""What is to be repaired, and the state of each repair: one finding and one remediation. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from exporter.facts.record import Ref
from exporter.findings.finding import Finding

from ..config.settings import Mode
from ..plan.plan import Create, Plan, Proposal, Refused
from ..plan.text import difference, sentence, words
from .gates import Blocked

_LASTS = 600.0  # seconds that a plan is shown before it is made anew
_PASSING = ("everything_seen", "same_plan", "unchanged", "read_just_now")  # refusals that say nothing of the object


@dataclass(frozen=True)
class Hint:
    """What says that there is something to do: a finding's check, reason, subject and fingerprint."""

    check: str
    reason: str
    subject: Ref
    fingerprint: str

    @classmethod
    def of(cls, finding: Finding) -> Hint:
        return cls(finding.check, finding.reason, finding.subject, finding.fingerprint)


@dataclass(frozen=True)
class Found:
    """One finding, as far as it is a hint. `since` is in seconds since 1970; `unknown` says why it may be old; `cause`
    is the id of its cause, empty where the exporter does not say.
    """

    hint: Hint
    severity: str
    message: str
    vm: str = ""
    since: float | None = None
    unknown: str = ""
    cause: str = ""

    @property
    def namespace(self) -> str:
        return self.hint.subject.namespace


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
        return self.in_state("refused", refused=refused)

    def planned(self, plan: Plan) -> Repair:
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
            difference=tuple(difference(plan)),
            proposal=plan.proposal,
            commands=() if proposed or self.mode == "apply" else (_command(self.mode, plan),),
        )

    def held_up(self, gates: tuple[Blocked, ...]) -> Repair:
        """As it is planned, with the gates that are closed: what would carry it out does not, then."""
        return msgspec.structs.replace(self, blocked=gates, commands=() if gates else self.commands)

    def outdated(self, now: float) -> bool:
        """Whether its plan is too old to be shown."""
        return now - self.at > _LASTS

    def waits(self, now: float) -> bool:
        """Whether it waits for the approval of a plan that is not to be made anew."""
        return self.state == "waiting" and not self.outdated(now)

    def in_state(self, state: str, **more: Any) -> Repair:
        return msgspec.structs.replace(self, state=state, **more)

    @property
    def standing(self) -> str:
        """Its state; a plan that a gate holds back is blocked, and held where it only waits for the canary."""
        if self.state not in ("planned", "blocked") or not self.blocked:
            return self.state
        return "held" if {each.gate for each in self.blocked} == {"canary"} else "blocked"


def _command(mode: str, plan: Plan) -> str:
    """What carries the plan out. In mode plan no approval does: then it is for a person."""
    verb = "approve" if mode == "approve" else "apply"
    return f"steward reconcile {verb} {plan.fingerprint} --remediation {plan.remediation} --plan {plan.hash}"
