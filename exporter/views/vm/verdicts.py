"""One verdict for each act on a VM: what its reports say of it, and every open finding whose reason forbids it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...domain.acts import Act
from ...domain.drains.health import AILMENTS
from ...findings.check import Check
from ...findings.finding import Finding, Unknown
from .answer import VMWhole
from .report import Objection, Places, Verdict

# What an act is made of: whatever forbids a part forbids the whole.
_PARTS: Mapping[Act, frozenset[Act]] = {
    Act.START: frozenset((Act.START, Act.RESTART)),
    Act.RESTART: frozenset((Act.RESTART, Act.STOP, Act.START, Act.END)),
    Act.MIGRATE: frozenset((Act.MIGRATE,)),
}


def verdicts(
    found: VMWhole, forbidding: Iterable[Finding], checks: Iterable[Check], blanks: Iterable[Unknown]
) -> tuple[Verdict, ...]:
    """`forbidding` are the open findings that forbid anything to be done to the VM, and `blanks` say which checks have
    no answer for it.
    """
    forbids = list(forbidding)
    able = {each.id: frozenset(_forbidden_by(each)) for each in checks}
    silent = {each.check: each.why for each in blanks}
    made = []
    for act in _acts(found):
        no = [*_by_findings(act, forbids)]
        said = any(each.reason in AILMENTS for each in no)  # what is the matter with its node
        no += [Objection("", None, each) for each in _obstacles(act, found, of_node=not said)]
        no += [Objection("", None, each, passing=True) for each in _not_now(act, found)]
        blank = [f"{check}: {why}" for check, why in silent.items() if able.get(check, frozenset()) & _PARTS[act]]
        unknown = [Objection("", None, each) for each in dict.fromkeys((*_unseen(act, found), *blank))]
        if no:
            made.append(Verdict(act.name.lower(), "no", tuple(no)))
        elif unknown:
            made.append(Verdict(act.name.lower(), "unknown", tuple(unknown)))
        else:
            restart = found.restart if act is not Act.MIGRATE else None
            changes = restart is not None and bool(restart.identity or restart.revisions)
            made.append(Verdict(act.name.lower(), "changes" if changes else "yes"))
    return tuple(made)


def _acts(found: VMWhole) -> Iterator[Act]:
    """Those that make sense: what runs on a node is not started, and what does not is neither restarted nor moved."""
    if found.migration is None:
        if found.restart is not None:
            yield Act.START
        return
    if found.restart is not None:
        yield Act.RESTART
    yield Act.MIGRATE


def _forbidden_by(check: Check) -> Iterator[Act]:
    for reason in check.reasons.values():
        yield from reason.forbids.acts if reason.forbids is not None else ()


def _by_findings(act: Act, forbidding: Iterable[Finding]) -> Iterator[Objection]:
    for each in sorted(forbidding, key=lambda each: (each.reason, each.subject)):
        if each.forbids is not None and not _PARTS[act].isdisjoint(each.forbids.acts):
            yield Objection(each.reason, each.subject, each.forbids.why)


def _obstacles(act: Act, found: VMWhole, *, of_node: bool) -> Iterator[str]:
    ability, restart = found.migration, found.restart
    if act is Act.MIGRATE:
        if ability is not None and ability.obstacle and of_node:
            yield ability.obstacle
        if ability is not None and ability.migratable == "False":
            why = ": ".join(filter(None, (ability.reason, ability.message)))
            yield f"its condition LiveMigratable is False{f' ({why})' if why else ''}"
        yield from ability.refused if ability is not None else ()
        if found.targets is not None and found.targets.none:
            yield "no other node could take it"
    elif restart is not None:
        yield from restart.refused
        if restart.start.none:
            yield "no node could take it"


def _not_now(act: Act, found: VMWhole) -> tuple[str, ...]:
    part = found.migration if act is Act.MIGRATE else found.restart
    return part.not_now if part is not None else ()


def _unseen(act: Act, found: VMWhole) -> Iterator[str]:
    """Why a verdict of yes would be a guess."""
    ability, restart = found.migration, found.restart
    if act is Act.MIGRATE:
        if ability is None or ability.migratable not in ("True", "False"):
            yield "its VMI does not say yet whether it can be migrated"
        yield from _places(found.targets)
    elif restart is not None:
        yield from _places(restart.start)
    yield from (f"{each} is undecodable" for each in found.unread if each.namespace in ("", found.namespace))


def _places(places: Places | None) -> Iterator[str]:
    if places is None:
        return
    if places.unknown:
        yield places.unknown
    elif not places.fitting and not places.none:
        yield "no node is known that could take it"
    if places.unless:
        yield f"nodes may be ruled out by {places.unless}"
