"""`steward reconcile ledger`: what was written, and what came of it."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from exporter.cli.output.text.layout import json_of, written, yaml_of
from exporter.cli.output.text.screen import width
from exporter.cli.output.text.terminal import complain, one_line, say

from ...carry_out.execute import PlanWriter, WriteOutcome
from ...carry_out.ledger_in_lease import ACCEPT, LEDGER, cluster_uid, misfit
from ...ledger import Entry, Event, Ledger, LedgerError, prove
from ...ledger.manual import folder
from ...ledger.proving import Proof
from ...plan.annotations import PREFIX, said_by
from ...plan.plan import Delete, moment
from ...plan.text import sentence
from ...publish.attempt_summary import AttemptSummary, CanaryStop
from ...publish.tallies import COLUMNS, Account, CauseRow, DayRow, Span, Tally, account, by_cause, by_day, wrong
from ..leases import lease_path, travelling
from ..ledger_pages import AttemptRow, entries_about, given, newest, rows, summary_of
from ..session import finish, open_session
from ..several import fitted, readable, rows_whole
from ..writing import directory_of, read_directory, taking_back, who

# What is proven of a ledger: by its files alone, and with the Lease; and how one that does not fit it is accepted.

_ALONE = "Only the Lease can show whether later entries are missing: use --verify with --lease or --kubeconfig."


def report(proof: Proof, more: str = _ALONE) -> int:
    """Says what is wrong, or what was proven; the exit code."""
    if proof.wrong:
        say("".join(f"{each}\n" for each in proof.wrong))
        return 1
    count = f"{proof.count} {'entry' if proof.count == 1 else 'entries'}"
    found = "No entries: is this the directory of the ledger?"
    if proof.count:
        found = f"{count}, unbroken from entry {proof.first} to entry {proof.last}, of {proof.whose}."
    say(fitted(f"{' '.join(filter(None, (found, proof.cut, more)))}\n", width()))
    return 0


def both(directory: Path, proof: Proof, more: str = _ALONE) -> int:
    """The same of the ledger and of what people did beside it, in the sidecar's pod."""
    code = report(proof, more)
    beside = folder(directory)
    if not beside.is_dir():
        return code
    say(f"Its second ledger, of commands of people ({beside}): ")
    return max(code, report(prove(beside), ""))


async def compare(arguments: argparse.Namespace) -> int:
    """With the cluster and the Lease. Raises KubeError, ValueError, LedgerError."""
    async with open_session(arguments) as at:
        said = (await travelling(at)).get(LEDGER)  # before the ledger, which goes on
        cluster, directory = await cluster_uid(at.reads), directory_of(arguments, at)
    proof = prove(directory)
    if proof.wrong:
        return both(directory, proof)

    def sum_at(seq: int) -> str | None:
        return next((entry.sum for entry in Ledger.read(directory) if entry.seq == seq), None)

    why = misfit(said, proof.head, sum_at, directory)
    if proof.whose.cluster != cluster:
        why = f"the ledger in {directory} is {proof.whose}, and this is cluster {cluster}"
    if why:
        say(f"{why}\n")
        return 1
    expected = (said or "").split()[1]
    return both(directory, proof, f"It is of this cluster, and the Lease was last held with it up to entry {expected}.")


async def accept(arguments: argparse.Namespace) -> int:
    """Annotates the Lease: the sidecar then takes its ledger as it is. Raises KubeError, ValueError."""
    async with open_session(arguments) as at:
        path = await lease_path(at)
        answer = await PlanWriter(at.transport).annotate(
            path, {f"{PREFIX}{ACCEPT}": f"{arguments.accept} by {await who(at)}"}
        )
    if answer.outcome is not WriteOutcome.ACCEPTED:
        complain(f"can't accept the ledger: {answer.why}")
        return 2
    say("The sidecar accepts its ledger if the word matches. Its log and the ledger will record that.\n")
    return 0


# Tables of what ledgers have: what was written, what was only shadowed, by cause, by day, and in sum. `columns` is how
# wide the terminal is, None for no limit.

_BY_DAY = ("found", "planned", "shadowed", "written", "verified", "returned", "undone")
_OF_CAUSE = ("shadowed", "went", "written", "failed", "unclear", "verified", "persists", "returned", "undone")


def of_attempts(found: Iterable[AttemptRow], columns: int | None) -> str:
    rows = [
        (moment(each.at), each.attempt, row.outcome, each.plan.remediation, _undoing(each.undoes) + sentence(each.plan))
        for row in found
        if (each := row.intended).plan is not None
    ]
    head = ("AT", "ATTEMPT", "OUTCOME", "REMEDIATION", "WRITE")
    return rows_whole(head, rows, columns) if rows else "Nothing was written.\n"


def _undoing(attempt: str) -> str:
    return f"undo of {attempt}: " if attempt else ""


def of_shadowed(attempts: Iterable[AttemptSummary], columns: int | None) -> str:
    """What would have been written, and whether its finding is there still."""
    rows = [(moment(each.at), each.attempt, _state(each), each.remediation, each.write) for each in attempts]
    head = ("AT", "ATTEMPT", "FINDING", "REMEDIATION", "WOULD WRITE")
    return rows_whole(head, rows, columns) if rows else "Nothing was shadowed.\n"


def _state(attempt: AttemptSummary) -> str:
    if attempt.went is None:
        return "open"
    return "gone, written by another client" if attempt.somebody else "gone"


def of_causes(found: Iterable[CauseRow], columns: int | None) -> str:
    """One row for each remediation and cause."""
    rows = [
        (
            each.remediation,
            str(each.objects),
            each.cause,
            _numbers(each.tally, _OF_CAUSE),
            f"{each.reason} of {each.what}",
        )
        for each in found
    ]
    head = ("REMEDIATION", "OBJECTS", "ID", "OUTCOMES", "CAUSE")
    return rows_whole(head, rows, columns) if rows else "Nothing was written.\n"


def of_days(found: Iterable[DayRow], columns: int | None) -> str:
    rows = [(each.day, *(str(getattr(each.tally, name)) for name in _BY_DAY), each.remediation) for each in found]
    head = ("DAY (UTC)", *(COLUMNS[name].upper() for name in _BY_DAY), "REMEDIATION")
    return rows_whole(head, rows, columns) if rows else "Nothing was counted.\n"


def of_account(found: Account, columns: int | None) -> str:
    """By remediation; and what of it needs somebody, with why."""
    tallies = [(name, _numbers(tally, COLUMNS)) for name, tally in found.remediations.items()]
    text = rows_whole(("REMEDIATION", "OUTCOMES"), tallies, columns) if tallies else "Nothing was done.\n"
    canaries = [
        (
            *(moment(each.at), each.remediation, each.object, f"{each.reason} {each.fingerprint}".strip()),
            *(each.attempt, _resumed(each), each.why),
        )
        for each in found.canaries
    ]
    if canaries:
        of_canaries = ("CANARY STOPPED", "REMEDIATION", "OF", "FINDING", "ATTEMPT", "RESUMED", "WHY")
        text += f"\n{rows_whole(of_canaries, canaries, columns)}"
    span = Span(found.since, math.inf)
    failed = [
        (moment(each.at), each.attempt, ", ".join(wrong(each, span)), each.remediation, each.write, each.why)
        for each in found.failed
    ]
    if failed:
        head = ("AT", "ATTEMPT", "OUTCOME", "REMEDIATION", "WRITE", "WHY")
        text += f"\n{rows_whole(head, failed, columns)}"
    return text


def _resumed(stop: CanaryStop) -> str:
    if stop.resumed is None:
        return "no"
    return f"{moment(stop.resumed)}{f' by {stop.by}' if stop.by else ''}{f': {stop.because}' if stop.because else ''}"


def _numbers(tally: Tally, names: Iterable[str]) -> str:
    """Those that are not 0, with their words."""
    return ", ".join(f"{number} {COLUMNS[name]}" for name in names if (number := getattr(tally, name)))


_LISTED = 50
_DAYS, _DAY = 14, 86_400.0
_OF_THE_SERVER = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "selfLink",
)


def run(arguments: argparse.Namespace) -> int:
    if arguments.accept:
        return finish(accept(arguments))
    if arguments.verify and (arguments.lease or arguments.kubeconfig or arguments.context):
        return finish(compare(arguments))
    try:
        directory = read_directory(arguments)
        return both(directory, prove(directory)) if arguments.verify else _listed(arguments, directory)
    except (LedgerError, ValueError) as error:
        complain(str(error))
        return 2


def _listed(arguments: argparse.Namespace, directory: Path) -> int:
    since = given(arguments.since, time.time()) if arguments.since else 0.0
    if not arguments.attempt:
        if arguments.daily or arguments.summary or arguments.by_cause or arguments.shadow:
            say(_accounted(arguments, directory, since), arguments.output)
            return 0
        if arguments.output == "table":
            say(of_attempts(rows(directory, since, arguments.limit or _LISTED), width()))
        else:
            say(_structured(newest(directory, since, arguments.limit or _LISTED), arguments.output), arguments.output)
        return 0
    own = entries_about(directory, arguments.attempt)
    if not own:
        complain(f"the ledger has no attempt {arguments.attempt}. Omit it to list the newest attempts")
        return 2
    if arguments.object:
        say(yaml_of(_created_again(own[0].whole or {})), "yaml")
        return 0
    say(_structured(own, arguments.output) or _one(own, arguments), arguments.output)
    return 0


def _accounted(arguments: argparse.Namespace, directory: Path, since: float) -> str:
    """By day, by remediation, by cause, or one by one. Raises LedgerError."""
    attempts, counts, stops = summary_of(directory)
    output, limit = arguments.output, arguments.limit
    span = Span(since or time.time() - _DAYS * _DAY, math.inf)
    if arguments.summary:
        found = account(attempts, counts, stops, span, limit)
        return written(found, output, lambda found: of_account(found, width()))
    if arguments.daily:
        return written(by_day(attempts, counts, span)[:limit], output, lambda found: of_days(found, width()))
    own = [each for each in attempts if each.shadow is arguments.shadow]
    if arguments.by_cause:
        return written(by_cause(own, Span(since, math.inf))[:limit], output, lambda found: of_causes(found, width()))
    newest_first = [each for each in reversed(own) if each.at >= since][: limit or _LISTED]
    return written(newest_first, output, lambda found: of_shadowed(found, width()))


def _structured(entries: list[Entry], output: str) -> str:
    plain = [msgspec.to_builtins(each) for each in entries]
    return json_of(plain) if output == "json" else yaml_of(plain) if output == "yaml" else ""


def _one(entries: list[Entry], arguments: argparse.Namespace) -> str:
    rows = [(moment(each.at), str(each.event), each.mode, _by(each), _what(each)) for each in entries]
    intended, lines = entries[0], list[str]()
    deleted = intended.event is Event.INTENDED and intended.plan is not None and isinstance(intended.plan.step, Delete)
    if intended.plan is not None and deleted:
        lines.append(taking_back(intended.plan, intended.attempt, arguments.ledger))
        if intended.plan.loses:
            lines.append(f"Lost permanently: {', '.join(intended.plan.loses)}")
    more = "".join(f"{one_line(line)}\n" for line in lines)
    return rows_whole(("AT", "EVENT", "MODE", "BY", "WHAT"), rows, width()) + readable(more, arguments)


def _by(entry: Entry) -> str:
    """Who asked; a name out of an annotation that no policy held to its author is as given."""
    of_annotation = entry.mode == "approve" or entry.event in (Event.RESUMED, Event.ACCEPTED)
    return said_by(entry.by, authorized=entry.authorized or not of_annotation)


def _what(entry: Entry) -> str:
    if entry.plan is not None:
        return f"{sentence(entry.plan)}{_accepted(entry)}"
    return entry.why or ("" if entry.happened is None else _resolved(entry))


def _accepted(entry: Entry) -> str:
    """What a person gave up to take a write back, by its words and as it was shown."""
    if entry.plan is None or not entry.plan.accepted:
        return ""
    return f"; accepted as lost: {', '.join(entry.plan.accepted)} ({', '.join(entry.plan.loses)})"


def _resolved(entry: Entry) -> str:
    return "done" if entry.happened else "not written"


def _created_again(whole: dict[str, Any]) -> dict[str, Any]:
    """Without what the API server gives an object."""
    metadata = {name: each for name, each in (whole.get("metadata") or {}).items() if name not in _OF_THE_SERVER}
    return {**whole, "metadata": metadata}
