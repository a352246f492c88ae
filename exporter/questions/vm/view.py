"""The whole answer on one VM, put together in slices. Pure: nothing is written, and no check is evaluated but for the
next release, and for a VM that does not exist yet.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace

import msgspec

from ...checks.identity.copies_ahead import CHECK as COPIES_AHEAD
from ...domain.drains.failures import FailedMigration
from ...engine.engine import Engine
from ...facts.record import Record
from ...findings.advice import in_turn, key_of, places_of
from ...findings.finding import VMS, Finding, Unknown
from ...findings.severity import Severity
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.node import Node
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..findings import FindingReport, order, reported
from .context import OneVM, found
from .futures import concerning, deleted, drained, restarted, start_places, unanswered, upgraded
from .moving import ability, failures, held, own_migrations, runs, runs_now, under_way
from .places import for_migration, places
from .report import DeleteOutcome, Places, RestartOutcome, UpgradeOutcome, VMWhole
from .shape import features, identity, interfaces, sizes
from .verdicts import verdicts

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
        start = RestartOutcome("", "", "", "", (), (), (yield from start_places(context)))
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
        deletion=deleted(context) if not context.proposed else DeleteOutcome(),
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
