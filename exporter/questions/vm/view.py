"""The whole answer on one VM, put together in slices. Pure: nothing is written, and no check is evaluated but for the
next release, and for a VM that does not exist yet.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec

from ...checks.identity.copies_ahead import CHECK as COPIES_AHEAD
from ...domain.acts import Act
from ...domain.drains.failures import FailedMigration
from ...domain.drains.health import AILMENTS
from ...engine.engine import Engine
from ...facts.naming import counted, named
from ...facts.record import Record
from ...findings.advice import in_turn, key_of, places_of
from ...findings.check import Check
from ...findings.finding import VMS, Finding, Unknown
from ...findings.severity import Severity
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.node import Node
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..findings import FindingReport, order, reported
from .context import OneVM, found
from .futures import concerning, drained, restarted, start_places, unanswered, upgraded
from .moving import ability, failures, held, own_migrations, runs, runs_now, under_way
from .places import for_migration, places
from .report import Objection, Places, RestartOutcome, UpgradeOutcome, Verdict, VMWhole
from .shape import features, identity, interfaces, sizes

# One verdict for each act on a VM: what its reports say of it, and every open finding whose reason forbids it.

# What an act is made of: whatever forbids a part forbids the whole.
_PARTS: Mapping[Act, frozenset[Act]] = {
    Act.START: frozenset((Act.START, Act.RESTART)),
    Act.RESTART: frozenset((Act.RESTART, Act.STOP, Act.START, Act.END)),
    Act.MIGRATE: frozenset((Act.MIGRATE,)),
}


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
    made = []
    for act in _acts(found):
        no = [*_by_findings(act, forbids)]
        said = any(each.reason in AILMENTS for each in no)  # what is the matter with its node
        no += [Objection("", None, each) for each in _obstacles(act, found, of_node=not said)]
        no += [Objection("", None, each, passing=True) for each in _not_now(act, found)]
        blank = _blank([each for each in silent if able.get(each.check, frozenset()) & _PARTS[act]])
        young = (f"{each}, which has not lasted for long enough to be reported" for each in _by_findings(act, early))
        unknown = [Objection("", None, each) for each in dict.fromkeys((*_unseen(act, found), *blank, *young))]
        if no:
            made.append(Verdict(act.name.lower(), "no", tuple(no)))
        elif unknown:
            made.append(Verdict(act.name.lower(), "unknown", tuple(unknown)))
        else:
            restart = found.restart if act is not Act.MIGRATE else None
            changes = restart is not None and bool(restart.identity or restart.revisions)
            made.append(Verdict(act.name.lower(), "changes" if changes else "yes"))
    return tuple(made)


def _blank(silent: Iterable[Unknown]) -> Iterator[str]:
    """Which checks have no answer, and why; of several causes the first, since the answer has all (`unanswered`)."""
    by_why: dict[str, list[str]] = {}
    for each in silent:
        by_why.setdefault(each.why, []).append(each.check)
    if by_why:
        checks = sorted({check for some in by_why.values() for check in some})
        more = f"; and {counted(len(by_why) - 1, 'more cause')}" if len(by_why) > 1 else ""
        yield f"{named(checks)} {'have' if len(checks) > 1 else 'has'} no answer: {next(iter(by_why))}{more}"


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


_REPORTS = 50  # made between two looks at the event loop: a VM may have any number of IPAMClaims
_MOST_AROUND = 20
_MOST_UNANSWERED = 20


def steps(
    engine: Engine, namespace: str, name: str, kept: tuple[FailedMigration, ...] = ()
) -> Generator[None, None, VMWhole]:
    """Stops after each few milliseconds, so that others get their turn. `kept` are migrations of its VMI that failed,
    as far as they are remembered. Raises NotThereError.
    """
    context = replace(found(engine.cluster, namespace, name), kept=kept)
    every = (each for each in engine.findings() if each.check != COPIES_AHEAD.id)
    own = [each for each in every if (each.subject.namespace, each.vm) == (namespace, name)]
    shown = engine.restraints.applied
    reports: list[FindingReport] = []
    for each in in_turn(sorted(own, key=order)):
        reports.append(reported(shown(each), "", engine.unknown_of(each)))
        if len(reports) % _REPORTS == 0:
            yield
    node = context.vmi.node if context.vmi is not None else ""
    nads = [nad for record in context.records for nad in _nads(record)]
    forbidding = engine.restraints.of(namespace, name, node, nads)
    keys = {(namespace, name), *places_of(namespace, node, nads)}
    early: dict[str, Finding] = {}  # of each reason one
    for each in engine.early():
        if each.forbids is not None and each.reason not in early and key_of(each) in keys:
            early[each.reason] = each
    blanks = list(unanswered(context, engine))
    return (yield from whole(context, engine, reports, forbidding, blanks, tuple(early.values())))


def whole(
    context: OneVM,
    engine: Engine,
    findings: Iterable[FindingReport],
    forbidding: Iterable[Finding],
    blanks: list[Unknown],
    early: Sequence[Finding] = (),
) -> Generator[None, None, VMWhole]:
    """`findings` are those that it has, or would have, `forbidding` those that forbid something to be done to it, of
    which those that are not open yet are `early`, and `blanks` where a check has no answer for it.
    """
    vm, vmi = context.vm, context.vmi
    start: RestartOutcome | None = None
    if vm is not None:
        start = yield from restarted(context, vm)
    elif vmi is not None and not runs_now(vmi):
        start = RestartOutcome("", "", "", (), (), (yield from start_places(context)))
    upgrade = (yield from upgraded(context, engine)) if not context.proposed else UpgradeOutcome()
    made = VMWhole(
        generation=engine.generation,
        namespace=context.namespace,
        name=context.name,
        vm=vm.ref if vm is not None else None,
        vmi=vmi.ref if vmi is not None else None,
        proposed=context.proposed,
        run_strategy=vm.run_strategy if vm is not None else "",
        runs=runs(context),
        verdicts=(),
        migration=None,
        under_way=None,
        held=(),
        failures=(),
        targets=None,
        drain=None,
        drain_unknown="",
        restart=start,
        upgrade=upgrade,
        identity=identity(context),
        interfaces=tuple(interfaces(context)),
        sizes=tuple(sizes(context)),
        features=tuple(features(context)),
        findings=tuple(findings),
        around=tuple(_around(context, engine)),
        copies=tuple(_copies(context, engine)),
        unseen=context.unseen(concerning(context)),
        unread=context.unread,
        unanswered=tuple(blanks[:_MOST_UNANSWERED]),
        unanswered_in_all=len(blanks),
    )
    if runs_now(vmi):
        made = yield from _moving(context, engine, made)
    return msgspec.structs.replace(made, verdicts=verdicts(made, forbidding, engine.checks, blanks, early))


def _moving(context: OneVM, engine: Engine, made: VMWhole) -> Generator[None, None, VMWhole]:
    """With what is true of one that runs."""
    vmi = context.vmi
    assert vmi is not None
    own = own_migrations(context, vmi)
    able = ability(context, own)
    targets = None if able.obstacle else (yield from _targets(context))
    drain, why = yield from drained(context, vmi, engine)
    return msgspec.structs.replace(
        made,
        migration=able,
        under_way=under_way(own),
        held=tuple(held(own, {each.reason for each in made.findings}, engine.restraints)),
        failures=failures(context, own, engine.restraints),
        targets=targets,
        drain=drain,
        drain_unknown=why,
    )


def _targets(context: OneVM) -> Generator[None, None, Places]:
    vmi = context.vmi
    assert vmi is not None
    if why := context.blind(Node):
        return Places(unknown=why)
    wanted = for_migration(context, vmi)
    if isinstance(wanted, str):
        return Places(unknown=wanted)
    return (yield from places(context.cluster, wanted, frozenset([vmi.node])))


def _around(context: OneVM, engine: Engine) -> list[FindingReport]:
    """Open findings above info on its node and its networks."""
    node = context.vmi.node if context.vmi is not None else ""
    nads = {nad for record in context.records for nad in _nads(record)}
    networks = _networks(context, nads)
    chosen = []
    for each in engine.findings():
        if each.severity is Severity.INFO or each.subject.kind in VMS:
            continue
        on_node = each.subject.kind == "Node" and each.subject.name == node
        nad = each.subject.kind == "NetworkAttachmentDefinition" and each.subject.path in nads
        if on_node or nad or (each.network and each.network in networks and each.subject.kind != "IPAMClaim"):
            chosen.append(each)
    return [reported(each, "", engine.unknown_of(each)) for each in sorted(chosen, key=order)[:_MOST_AROUND]]


def _copies(context: OneVM, engine: Engine) -> list[FindingReport]:
    """Of restores and clones that are not made of it alone, but of what it has: an address may be a third one's."""
    refs = {(each.ref.namespace, each.ref.name) for each in context.records}
    chosen = (
        each
        for each in engine.findings()
        if each.check == COPIES_AHEAD.id
        and (
            (each.subject.namespace, each.vm) in refs or any((one.namespace, one.name) in refs for one in each.related)
        )
    )
    return [reported(each, "", engine.unknown_of(each)) for each in sorted(chosen, key=order)[:_MOST_AROUND]]


def _nads(record: Record) -> Iterator[str]:
    if isinstance(record, VirtualMachine | VirtualMachineInstance):
        yield from (nad for _, nad, _ in record.networks if nad)


def _networks(context: OneVM, nads: Iterable[str]) -> set[str]:
    """The names of the networks that the NADs stand for."""
    parts = (nad.partition("/") for nad in nads)
    found = (context.cluster.get(NetworkAttachmentDefinition, namespace, name) for namespace, _, name in parts)
    return {each.network for each in found if each is not None and each.network}
