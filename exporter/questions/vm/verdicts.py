"""One verdict for each act on a VM: what its reports say of it, and every open finding whose reason forbids it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...checks.instancetypes.instancetype_vms import CHECK as SIZES
from ...domain.acts import Act
from ...domain.drains.departure import DrainState
from ...domain.drains.health import AILMENTS
from ...facts.naming import counted, named
from ...findings.check import Check
from ...findings.finding import VMS, Finding, Unknown
from ...findings.severity import Severity
from ..drain import TITLES
from .report import Objection, Places, RestartOutcome, Verdict, VMWhole

Says = Callable[[VMWhole], Iterable[str]]


def _nothing(_: VMWhole) -> Iterable[str]:
    return ()


@dataclass(frozen=True)
class _Deed:
    """Something that is done to a VM, and what each part of the report says of it: clauses about the VM.

    `applies` says whether it makes sense. What forbids one of its `parts` forbids it. `refused` is why it fails or does
    harm for certain, `passing` why nobody should do it now, and `unseen` why a verdict of yes would be a guess. A yes
    has what it `changes`, and what comes `then`.
    """

    act: str
    parts: frozenset[Act]
    applies: Callable[[VMWhole], bool]
    refused: Says
    unseen: Says
    passing: Says = _nothing
    changes: Says = _nothing
    then: Says = _nothing

    def forbidden(self, by: Finding) -> bool:
        """To delete what a finding is about is to delete the VM where it is about that, or about an IPAMClaim, which
        garbage collection deletes with it.
        """
        if by.forbids is None or self.parts.isdisjoint(by.forbids.acts):
            return False
        return self.act != "delete" or by.subject.kind in VMS or by.subject.kind == "IPAMClaim"


def _runs(found: VMWhole) -> bool:
    return found.migration is not None


# -- its next start


def _not_started(found: VMWhole) -> Iterator[str]:
    if found.restart is None:
        return
    yield from found.restart.refused
    if found.restart.start.none:
        yield "no node could take it"


def _start_unseen(found: VMWhole) -> Iterator[str]:
    if found.restart is not None:
        yield from _places(found.restart.start)
    yield from _undecodable(found)


def _start_changes(found: VMWhole) -> Iterable[str]:
    return changes(found.restart) if found.restart is not None else ()


def changes(restart: RestartOutcome) -> Iterator[str]:
    """What is not as before after its next start: clauses."""
    yield from _emptied(restart.fleeting)
    if restart.identity:
        yield f"{restart.identity}{f', which empties its {restart.loses}' if restart.loses else ''}"
    yield from restart.revisions


def _emptied(fleeting: str) -> Iterator[str]:
    if fleeting:
        yield f"what the guest wrote to {fleeting} is lost"


def _not_restarted_now(found: VMWhole) -> Iterable[str]:
    return found.restart.not_now if found.restart is not None else ()


def _not_started_again(found: VMWhole) -> Iterator[str]:
    return (f"it would not start again: {each}" for each in _not_started(found))


# Who starts it again, by its run strategy: `virtctl stop` sets that of the first two to Halted, and is a request of the
# others (pkg/virt-api/rest/lifecycle.go of kubevirt/kubevirt).
_AGAIN = {
    "Always": "KubeVirt starts it again after a shutdown in the guest, and not after virtctl stop",
    "Once": "KubeVirt doesn't start it again",
    "RerunOnFailure": "KubeVirt starts it again after a failure, and not after virtctl stop or a shutdown in the guest",
    "Manual": "KubeVirt doesn't start it again",
}


def _started_again(found: VMWhole) -> Iterator[str]:
    if again := _AGAIN.get(found.run_strategy):
        yield again


def _not_stopped_now(found: VMWhole) -> Iterator[str]:
    yield from found.deletion.not_now
    if found.run_strategy == "Halted":
        yield "it is being stopped already"
    elif found.run_strategy and found.run_strategy not in _AGAIN:
        yield f"virtctl stop does nothing with run strategy {found.run_strategy}"


# -- where it runs


def _not_migrated(found: VMWhole) -> Iterator[str]:
    ability = found.migration
    if ability is None:
        return
    if ability.obstacle:
        yield ability.obstacle
    if ability.migratable == "False":
        why = ": ".join(filter(None, (ability.reason, ability.message)))
        yield f"its condition LiveMigratable is False{f' ({why})' if why else ''}"
    yield from ability.refused
    if found.targets is not None and found.targets.none:
        yield "no other node could take it"


def _migration_unseen(found: VMWhole) -> Iterator[str]:
    if found.migration is None or found.migration.migratable not in ("True", "False"):
        yield "its VMI does not say yet whether it can be migrated"
    yield from _places(found.targets)
    yield from _undecodable(found)


def _places(places: Places | None) -> Iterator[str]:
    if places is None:
        return
    if places.unknown:
        yield places.unknown
    elif not places.fitting and not places.none:
        yield "no node is known that could take it"
    if places.unless:
        yield f"nodes may be ruled out by {places.unless}"


def _undecodable(found: VMWhole) -> Iterator[str]:
    return (f"{each} is undecodable" for each in found.unread if each.namespace in ("", found.namespace))


# -- a drain of its node, as its preview has it


def _drains(found: VMWhole) -> bool:
    """What ends by itself needs no drain."""
    return bool(found.drain_unknown) or (found.drain is not None and found.drain.state is not DrainState.TERMINATING)


def _in_drain(found: VMWhole, *states: DrainState) -> Iterator[str]:
    if found.drain is not None and found.drain.state in states:
        yield found.drain.why.rstrip(".") or TITLES[found.drain.state]


def _drain_unseen(found: VMWhole) -> Iterator[str]:
    if found.drain_unknown:
        yield found.drain_unknown
    yield from _in_drain(found, DrainState.UNKNOWN, DrainState.MAY_MIGRATE)


def _drain_changes(found: VMWhole) -> Iterator[str]:
    ends = list(_in_drain(found, DrainState.SHUTS_DOWN, DrainState.EXTERNAL))
    yield from ends
    if ends and found.restart is not None:
        yield from _emptied(found.restart.fleeting)


def _drained(found: VMWhole) -> Iterator[str]:
    drain = found.drain
    if drain is None or drain.state in (DrainState.SHUTS_DOWN, DrainState.EXTERNAL):
        return
    if place := drain.to or drain.target:
        yield f"it is migrating to {place}" if drain.to else f"{place} could take it"


# -- the next release of KubeVirt


def _upgrade_unseen(found: VMWhole) -> Iterator[str]:
    if found.upgrade.unknown:
        yield found.upgrade.unknown


def _told_by_upgrade(found: VMWhole) -> Iterator[str]:
    info = (each for each in found.upgrade.appears if Severity(each.severity) is Severity.INFO)
    yield from (f"{each.message.rstrip('.')} ({each.reason})" for each in info)
    yield from (f"{each.reason} goes" for each in found.upgrade.goes)


_DEEDS = (
    _Deed(
        "start",
        frozenset((Act.START, Act.RESTART)),  # which of the two the VM has is a matter of when one looks
        applies=lambda found: not _runs(found) and found.restart is not None,
        refused=_not_started,
        unseen=_start_unseen,
        passing=_not_restarted_now,
        changes=_start_changes,
    ),
    _Deed(
        "restart",
        frozenset((Act.RESTART, Act.STOP, Act.START, Act.END)),
        applies=lambda found: _runs(found) and found.restart is not None,
        refused=_not_started,
        unseen=_start_unseen,
        passing=_not_restarted_now,
        changes=_start_changes,
    ),
    _Deed(
        "stop",
        frozenset((Act.STOP, Act.END)),
        applies=lambda found: _runs(found) and found.vm is not None,
        refused=_not_started_again,
        unseen=_start_unseen,
        passing=_not_stopped_now,
        changes=_start_changes,
        then=_started_again,
    ),
    _Deed(
        "migrate",
        frozenset((Act.MIGRATE,)),
        applies=_runs,
        refused=_not_migrated,
        unseen=_migration_unseen,
        passing=lambda found: found.migration.not_now if found.migration is not None else (),
    ),
    _Deed(
        "drain",
        frozenset((Act.DRAIN,)),
        applies=_drains,
        refused=lambda found: _in_drain(found, DrainState.BLOCKED),
        unseen=_drain_unseen,
        changes=_drain_changes,
        then=_drained,
    ),
    _Deed(
        "upgrade",
        frozenset(),
        applies=lambda found: bool(found.upgrade.to or found.upgrade.unknown),
        refused=_nothing,  # each of its objections has its reason
        unseen=_upgrade_unseen,
        changes=_told_by_upgrade,
    ),
    _Deed(
        "delete",
        frozenset((Act.DELETE,)),
        applies=lambda found: not found.proposed,
        refused=lambda found: found.deletion.refused,
        unseen=lambda found: (*found.deletion.unseen, *_undecodable(found)),
        passing=lambda found: (*found.deletion.not_now, *found.deletion.protected),
        then=lambda found: found.deletion.then,
    ),
)


def verdicts(
    found: VMWhole,
    forbidding: Iterable[Finding],
    checks: Iterable[Check],
    blanks: Iterable[Unknown],
    early: Sequence[Finding] = (),
) -> tuple[Verdict, ...]:
    """`forbidding` are the open findings that forbid anything to be done to the VM, `early` those that open once they
    have lasted, and `blanks` say which checks have no answer for it.
    """
    forbids = list(forbidding)
    able = {each.id: frozenset(_forbidden_by(each)) for each in checks}
    silent = list(blanks)
    return tuple(_verdict(deed, found, forbids, able, silent, early) for deed in _DEEDS if deed.applies(found))


ACTS = tuple(each.act for each in _DEEDS if each.parts)
"""Those that a finding can forbid."""


def by_open_findings(forbidding: Iterable[Finding], *, runs: bool, alone: bool) -> Iterator[tuple[str, Objection]]:
    """Each act that is forbidden, with the first finding that forbids it. `runs`: it is on a node; `alone`: it is a VMI
    that no VM starts again.
    """
    forbids = sorted(forbidding, key=lambda each: (each.reason, each.subject))
    for deed in _DEEDS if forbids else ():
        if deed.act != "delete" and runs is (deed.act == "start"):
            continue  # what runs on a node is not started, and nothing else is done to what does not
        if alone and deed.act in ("restart", "stop"):
            continue
        for each in forbids:
            if each.forbids is not None and deed.forbidden(each):
                yield deed.act, Objection(each.reason, each.subject, each.forbids.why)
                break


def _verdict(
    deed: _Deed,
    found: VMWhole,
    forbids: Iterable[Finding],
    able: dict[str, frozenset[Act]],
    silent: Iterable[Unknown],
    early: Iterable[Finding],
) -> Verdict:
    no = [*_by_findings(deed, found, forbids), *(_by_upgrade(found) if deed.act == "upgrade" else ())]
    said = any(each.reason in AILMENTS for each in no)  # what is the matter with its node
    ails = found.migration.obstacle if found.migration is not None and deed.act == "migrate" else ""
    known = {each.reason for each in no}
    if deed.act != "drain" or found.drain is None or found.drain.reason not in known:
        no += [Objection("", None, each, fails=True) for each in deed.refused(found) if not (said and each == ails)]
    no += [Objection("", None, each, passing=True) for each in deed.passing(found)]
    if no:
        return Verdict(deed.act, "no", tuple(no), to=_to(deed, found))
    blank = _blank([each for each in silent if able.get(each.check, frozenset()) & deed.parts])
    young = (
        f"{each}, which has not lasted for long enough to be reported" for each in _by_findings(deed, found, early)
    )
    unknown = [Objection("", None, each) for each in dict.fromkeys((*deed.unseen(found), *blank, *young))]
    if unknown:
        return Verdict(deed.act, "unknown", tuple(unknown), to=_to(deed, found))
    changes = (*deed.changes(found), *(_not_again(forbids) if deed.act == "stop" else ()))
    return Verdict(deed.act, "changes" if changes else "yes", (), (*changes, *deed.then(found)), _to(deed, found))


def _not_again(forbidding: Iterable[Finding]) -> Iterator[str]:
    """What may be stopped, and not be started before something is done."""
    for each in sorted(forbidding, key=lambda each: (each.reason, each.subject)):
        if each.forbids is not None and Act.START in each.forbids.acts:
            yield f"it must not be started again: {each.forbids.why} ({each.reason})"


def _to(deed: _Deed, found: VMWhole) -> str:
    return found.upgrade.to if deed.act == "upgrade" else ""


def _blank(silent: Iterable[Unknown]) -> Iterator[str]:
    """Which checks have no answer, and why; of several causes the first, since the answer has all (`unanswered`)."""
    by_why: dict[str, list[str]] = {}
    for each in silent:
        by_why.setdefault(each.why, []).append(each.check)
    if by_why:
        checks = sorted({check for some in by_why.values() for check in some})
        more = f"; and {counted(len(by_why) - 1, 'more cause')}" if len(by_why) > 1 else ""
        yield f"{named(checks)} {'have' if len(checks) > 1 else 'has'} no answer: {next(iter(by_why))}{more}"


def _forbidden_by(check: Check) -> Iterator[Act]:
    for reason in check.reasons.values():
        yield from reason.forbids.acts if reason.forbids is not None else ()


def _by_findings(deed: _Deed, found: VMWhole, forbidding: Iterable[Finding]) -> Iterator[Objection]:
    for each in sorted(forbidding, key=lambda each: (each.reason, each.subject)):
        if each.forbids is None or not deed.forbidden(each):
            continue
        missing = [one.failure for one in found.sizes if one.failure] if each.reason in SIZES.reasons else []
        if missing and deed.act in ("start", "restart", "stop"):
            yield from (Objection(each.reason, each.subject, why, fails=True) for why in missing)
        else:
            yield Objection(each.reason, each.subject, each.forbids.why)


def _by_upgrade(found: VMWhole) -> Iterator[Objection]:
    for each in found.upgrade.appears:
        if Severity(each.severity) is not Severity.INFO:
            yield Objection(each.reason, each.subject, each.message.rstrip("."))
