"""The whole answer on one VM, in the shape that the JSON API and `steward vm -o json` share."""

from __future__ import annotations

from typing import Any

import msgspec

from ...findings.finding import Severity, Unknown
from ...store.record import Ref
from ..drain.report import UnseenKind, VMReport
from ..exit_codes import exit_code as ended
from ..findings import FindingReport
from .report import (
    FailureReport,
    FeatureUse,
    HeldMigration,
    InterfaceReport,
    MigrationAbility,
    MigrationUnderWay,
    Places,
    RestartOutcome,
    RunningPlace,
    SizeReport,
    UpgradeOutcome,
    Verdict,
    VMIdentity,
)


class VMWhole(msgspec.Struct, frozen=True, rename="camel"):
    """One VM. `vm` is null of a VMI that stands alone, `vmi` where the VM does not run. `proposed`: it is evaluated as
    the manifest would have it. `verdicts` say whether it may be started, or restarted and migrated. `drain` is what a
    drain of its node would do to it. `findings` are those on the VM and its VMI, `around` those on its node and its
    networks, `copies` those on restores and clones, of it or into it, that have not run yet and will duplicate what
    identifies a VM.

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


def exit_code(found: VMWhole, *, whole: bool = True) -> int:
    """0 if nothing is wrong with it, 1 if something is: it has a finding above info, must not be started, restarted or
    migrated, or keeps its node from being drained; 2 where the answer may be incomplete: it is not `whole`. That nobody
    can migrate it is no fault by itself, and neither is what passes, as a migration that is under way.
    """
    blind = bool(found.unseen or found.unread or found.unanswered_in_all) or _unknown(found)
    moves = found.migration is not None and found.migration.migratable == "True"
    judged = (each for each in found.verdicts if each.answer == "no" and (moves or each.act != "migrate"))
    refused = any(not reason.passing for each in judged for reason in each.reasons)
    stays = found.drain is not None and found.drain.state == "blocked"
    stays = stays or (found.migration is not None and bool(found.migration.obstacle))
    wrong = any(Severity(each.severity) is not Severity.INFO for each in found.findings)
    return ended(found=wrong or stays or refused, unknown=blind or not whole)


def _unknown(found: VMWhole) -> bool:
    parts: tuple[Any, ...] = (found.runs, found.targets, found.restart and found.restart.start)
    more = (*found.sizes, *(each for each in found.interfaces if each.nad))  # hardly a pod network has IPAMClaims
    return any(each is not None and each.unknown for each in (*parts, *more)) or bool(found.drain_unknown)
