"""The parts of the answer on one VM, as users get them. Times are RFC 3339 in UTC, empty where none is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from ...facts.naming import joined
from ...facts.record import Ref
from ...findings.finding import Unknown
from ...findings.severity import Severity
from ..drain.report import UnseenKind, VMReport
from ..findings import FindingReport
from ..trust import exit_code as ended


class NodeObstacle(msgspec.Struct, frozen=True):
    """`kind` is Taint, Cordoned, NotReady, NotSchedulable, Deleted, Selector, CPU, Affinity, AntiAffinity, PodAffinity,
    Volume, Device, NoDevice or Resource; `what` says it in a few words.
    """

    kind: str
    what: str


class NodeAnswer(msgspec.Struct, frozen=True):
    """Whether a node could take it: `yes`, `no` or `unknown`, and all that rules it out, or why that is not known."""

    node: str
    answer: str
    obstacles: tuple[NodeObstacle, ...] = ()


class Places(msgspec.Struct, frozen=True, rename="camel"):
    """Which nodes could take the VM; `unknown` says why nobody knows, and there are no nodes then.

    `fitting` of `in_all` could; `nodes` has the first of them, those that could before the others, and `left_out`
    counts the rest. `ruled_out` has the conditions with the number of nodes that each rules out, that of most first.
    Where no node is left `next` and `commands` answer the first condition. `unless` names what is not evaluated and
    may rule out any of them.
    """

    unknown: str = ""
    fitting: int = 0
    in_all: int = 0
    nodes: tuple[NodeAnswer, ...] = ()
    left_out: int = 0
    ruled_out: tuple[tuple[int, str], ...] = ()
    next: str = ""
    commands: tuple[str, ...] = ()
    unless: str = ""
    not_considered: tuple[str, ...] = ()

    @property
    def none(self) -> bool:
        """Whether no node is left, for certain."""
        return not self.unknown and not any(each.answer != "no" for each in self.nodes)


class RunningPlace(msgspec.Struct, frozen=True, rename="camel"):
    """`node` is empty of one that has none yet. `since` is when it came to its node: by the last `migration`, or the
    `creation` of the VMI. `unknown` says why it can't be seen whether it runs.
    """

    unknown: str = ""
    phase: str = ""
    node: str = ""
    since: str = ""
    since_source: str = ""
    paused: bool = False
    outdated: bool = False
    blocked: str = ""


class MigrationAbility(msgspec.Struct, frozen=True, rename="camel"):
    """`migratable` is the status of the condition LiveMigratable, empty where it is not evaluated yet, with its
    `reason` and `message`. `strategy` is the evictionStrategy in effect, and `strategy_source` who says it: `vmi`,
    `kubevirt`, `builtin`, or `unknown`. `features` are those it uses with which no VMI can be migrated. `obstacle` says
    why nothing is migrated off its node, whatever `migratable` is, and `refused` what is missing for its target pod.
    `not_now` is why nobody should make a migration now, though nothing is wrong by that.
    """

    migratable: str
    reason: str = ""
    message: str = ""
    strategy: str = ""
    strategy_source: str = ""
    features: tuple[str, ...] = ()
    obstacle: str = ""
    refused: tuple[str, ...] = ()
    not_now: tuple[str, ...] = ()


class HeldMigration(msgspec.Struct, frozen=True, rename="camel"):
    """What keeps it from migrating, or what a migration of it waits for. Each migration waits for a moment: only what
    `lasts`, by an open finding or by failures in a row, has a `reason` and what to do about it.
    """

    lasts: bool
    reason: str
    why: str
    next: str
    commands: tuple[str, ...]
    since: str
    since_source: str


class MigrationUnderWay(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    phase: str
    since: str
    since_source: str
    made_for: str
    target: str


class FailureReport(msgspec.Struct, frozen=True, rename="camel"):
    """A migration of it that failed; `failure` is the class of it, and `meaning` what that is. `lasting`: each attempt
    of the guest that runs now fails so. `next` and `commands` are what mends it, of failures since the last migration
    that succeeded.
    """

    at: str
    migration: str
    made_for: str
    failure: str
    meaning: str
    lasting: bool
    text: str
    next: str
    commands: tuple[str, ...]


class FeatureUse(msgspec.Struct, frozen=True, rename="camel"):
    """`asked_by` are VirtualMachine, VirtualMachineInstance or both. `allowed` is null where nobody knows, and `why`
    says why not, or why nobody knows; `stage` is where a refusal bites.
    """

    feature: str
    title: str
    values: tuple[str, ...]
    asked_by: tuple[str, ...]
    allowed: bool | None
    why: tuple[str, ...]
    stage: str


class SizeReport(msgspec.Struct, frozen=True, rename="camel"):
    """An instancetype or preference that the VM has, its `role`. `mode` is by what it refers to it: pinned, revision,
    unversioned or inferred; `revision` the ControllerRevision with its copy. `differs` are the fields in which the
    copy is not the object as it is now, null where that is not known; `failure` says what KubeVirt can't find.
    """

    role: str
    kind: str
    name: str
    mode: str
    revision: str
    differs: tuple[str, ...] | None
    failure: str = ""
    unknown: str = ""


class VMIdentity(msgspec.Struct, frozen=True, rename="camel"):
    """`uuid` is the firmware UUID that it has now, and `next_uuid` that of its next start. `origin` is where the next
    one comes from: `spec`, or `name`, from which KubeVirt derives it. `invalid` says why it identifies no VM.
    """

    uuid: str
    next_uuid: str
    origin: str
    serial: str
    next_serial: str
    keeps: str
    invalid: str = ""


class InterfaceReport(msgspec.Struct, frozen=True, rename="camel"):
    """One interface of the VM by the logical name of its network. `nad` is empty on the pod network. `macs` and
    `addresses` are all of the same NAD; `claim` is its IPAMClaim, and `claimed` what that holds. `absent`: its unplug
    was requested. `unknown` says what can't be seen of it, `missing` what is not there.
    """

    network: str
    nad: str
    absent: bool
    macs: tuple[str, ...]
    addresses: tuple[str, ...]
    requested: tuple[str, ...]
    claim: Ref | None
    claimed: tuple[str, ...]
    missing: str = ""
    unknown: str = ""


class RestartOutcome(msgspec.Struct, frozen=True, rename="camel"):
    """What its next start changes. `required` is what waits for it, by the condition RestartRequired. `identity` says
    how its firmware UUID changes, `loses` what that empties; `fleeting` are the disks, each with its source, that lose
    what the guest wrote, of one that runs; `revisions` which copies it gets that it does not run with. `refused` are
    features with which it can't start, and what is missing for that; `start` which nodes could take it then. `not_now`
    is why nobody should start or restart it now, though nothing is wrong by that.
    """

    required: str
    identity: str
    loses: str
    fleeting: str
    revisions: tuple[str, ...]
    refused: tuple[str, ...]
    start: Places
    not_now: tuple[str, ...] = ()


class Objection(msgspec.Struct, frozen=True):
    """A clause about the VM, `why`. `reason` and `subject` are those of the open finding that objects, if one does.
    `passing`: nothing is wrong by it. `fails`: the act would not work, and not only do harm.
    """

    reason: str
    subject: Ref | None
    why: str
    passing: bool = False
    fails: bool = False

    def __str__(self) -> str:
        return f"{self.why} ({self.reason})" if self.reason else self.why


class Verdict(msgspec.Struct, frozen=True):
    """Whether somebody may `start`, `stop`, `restart`, `migrate` or `delete` the VM, `drain` its node, or `upgrade`
    KubeVirt `to` the next release, as far as the VM is concerned. `answer` is `yes`, `changes` (yes, and the VM is not
    as before), `no`, or `unknown`; `reasons` has all that forbids it, or why nobody knows. `then` is what comes of it,
    in clauses, where it is done.
    """

    act: str
    answer: str
    reasons: tuple[Objection, ...] = ()
    then: tuple[str, ...] = ()
    to: str = ""

    @property
    def head(self) -> str:
        return _head(self, self.act)

    @property
    def whys(self) -> tuple[str, ...]:
        """What speaks against it, or what comes of it, a clause each."""
        return tuple(dict.fromkeys(map(str, self.reasons))) or self.then

    @property
    def fails(self) -> bool:
        return any(each.fails for each in self.reasons)


_OF_IT = {
    "start": "started",
    "restart": "restarted",
    "stop": "stopped",
    "migrate": "migrated",
    "delete": "deleted",
}  # what is done to the VM itself
_OTHERS = {
    ("drain", "yes"): "A drain of its node moves it",
    ("drain", "changes"): "A drain of its node ends it",
    ("drain", "no"): "Do not drain its node",
    ("drain", "fails"): "A drain of its node can't move it",
    ("drain", "unknown"): "Whether a drain of its node moves it is not known",
    ("upgrade", "yes"): "KubeVirt can be upgraded",
    ("upgrade", "changes"): "KubeVirt can be upgraded",
    ("upgrade", "no"): "Do not upgrade KubeVirt",
    ("upgrade", "unknown"): "It is not known whether KubeVirt can be upgraded",
    ("start", "fails"): "It will not start",
    ("migrate", "fails"): "It can't be migrated",
}


def _head(verdict: Verdict, *acts: str) -> str:
    """Of several acts about which the same is said."""
    answer = "fails" if verdict.fails else verdict.answer
    if (other := _OTHERS.get((verdict.act, answer))) is not None:
        return f"{other} to {verdict.to}" if verdict.to else other
    done = [_OF_IT[each] for each in acts]
    if answer in ("yes", "changes"):
        return f"It can be {joined(done)}{', with changes' if answer == 'changes' else ''}"
    if answer == "unknown":
        return f"Whether it can be {joined(done, 'or')} is not known"
    return f"Do not {joined(acts, 'or')} it"


class Said(NamedTuple):
    """What is said of some acts: `head`, and a clause for each of `whys`."""

    answer: str
    head: str
    whys: tuple[str, ...]


def said(verdicts: Iterable[Verdict]) -> tuple[Said, ...]:
    """The verdicts in words, those first by which something should not be done; acts of which the same is true are in
    one sentence.
    """
    found: dict[tuple[str, tuple[str, ...], str], list[Verdict]] = {}
    for each in sorted(verdicts, key=lambda each: each.answer != "no"):
        answer = "fails" if each.fails else each.answer
        apart = each.act if (each.act, answer) in _OTHERS else ""
        found.setdefault((answer, each.whys, apart), []).append(each)
    return tuple(
        Said(some[0].answer, _head(some[0], *(each.act for each in some)), whys) for (_, whys, _), some in found.items()
    )


class DeleteOutcome(msgspec.Struct, frozen=True, rename="camel"):
    """What its deletion comes to: clauses. `refused` is whom it would harm, `protected` what rejects it, and `not_now`
    why nobody should stop it or delete it now, though nothing is wrong by that. `then` is what goes with it.
    """

    refused: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    not_now: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    then: tuple[str, ...] = ()


class Difference(msgspec.Struct, frozen=True):
    """Something in which two VMs differ: how it is `here`, of the VM that is asked about, and `there`."""

    what: str
    here: str
    there: str


class UpgradeOutcome(msgspec.Struct, frozen=True, rename="camel"):
    """What the upgrade of KubeVirt `to` the next release that is known would change in its findings."""

    to: str = ""
    unknown: str = ""
    appears: tuple[FindingReport, ...] = ()
    goes: tuple[FindingReport, ...] = ()


# The whole answer on one VM, in the shape that the JSON API and `steward vm -o json` share.


class VMWhole(msgspec.Struct, frozen=True, rename="camel"):
    """One VM. `vm` is null of a VMI that stands alone, `vmi` where the VM does not run. `proposed`: it is evaluated as
    the manifest would have it. `verdicts` say what may be done to it, an act each. `drain` is what a drain of its node
    would do to it. `findings` are those on the VM, its VMI, its pods and its IPAMClaims, `around`
    those on its node and its networks, `copies` those on restores and clones, of it or into it, that have not run yet
    and will duplicate what identifies a VM. `beside` is another VM that it is compared with, and `differences` in what.

    `unseen` are the kinds that can't be seen, `unread` the undecodable objects that may matter, and `unanswered` the
    checks that have no answer for it: while there are any, the answer may be incomplete.
    """

    generation: int
    namespace: str
    name: str
    vm: Ref | None
    vmi: Ref | None
    proposed: bool
    run_strategy: str
    runs: RunningPlace | None
    verdicts: tuple[Verdict, ...]
    migration: MigrationAbility | None
    under_way: MigrationUnderWay | None
    held: tuple[HeldMigration, ...]
    failures: tuple[FailureReport, ...]
    targets: Places | None
    drain: VMReport | None
    drain_unknown: str
    restart: RestartOutcome | None
    upgrade: UpgradeOutcome
    deletion: DeleteOutcome
    identity: VMIdentity
    interfaces: tuple[InterfaceReport, ...]
    sizes: tuple[SizeReport, ...]
    features: tuple[FeatureUse, ...]
    findings: tuple[FindingReport, ...]
    around: tuple[FindingReport, ...]
    copies: tuple[FindingReport, ...]
    unseen: tuple[UnseenKind, ...]
    unread: tuple[Ref, ...]
    unanswered: tuple[Unknown, ...]
    unanswered_in_all: int
    beside: Ref | None = None
    differences: tuple[Difference, ...] = ()


def exit_code(found: VMWhole, *, whole: bool = True) -> int:
    """0 if nothing is wrong with it, 1 if something is: it has a finding above info, must not be started, stopped,
    restarted or migrated, or keeps its node from being drained; 2 where the answer may be incomplete: it is not
    `whole`. That nobody can migrate it is no fault by itself, and neither is what passes, as a migration that is under
    way.
    """
    blind = bool(found.unseen or found.unread or found.unanswered_in_all) or _unknown(found)
    moves = found.migration is not None and found.migration.migratable == "True"
    acts = ("start", "stop", "restart", *(("migrate",) if moves else ()))
    judged = (each for each in found.verdicts if each.answer == "no" and each.act in acts)
    refused = any(not reason.passing for each in judged for reason in each.reasons)
    stays = found.drain is not None and found.drain.state == "blocked"
    stays = stays or (found.migration is not None and bool(found.migration.obstacle))
    wrong = any(Severity(each.severity) is not Severity.INFO for each in found.findings)
    return ended(found=wrong or stays or refused, unknown=blind or not whole)


def _unknown(found: VMWhole) -> bool:
    parts: tuple[Any, ...] = (found.runs, found.targets, found.restart and found.restart.start)
    more = (*found.sizes, *(each for each in found.interfaces if each.nad))  # hardly a pod network has IPAMClaims
    return any(each is not None and each.unknown for each in (*parts, *more)) or bool(found.drain_unknown)
