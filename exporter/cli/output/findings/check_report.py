"""What `steward check` finds, as text: one line a cause, its findings under it, then what has no answer, by why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....checks import all_checks
from ....facts.naming import counted, kind_word, named, plural
from ....findings.pages import repair_by
from ....findings.severity import Severity
from ....offline.source import command, named_lists
from ....questions.causes import CauseReport, acknowledged_text
from ....questions.findings import FindingReport, Report, plan_command, worst
from ....questions.urgency import pages, referred, stakes
from ....sidecar import ReportedRepair
from ....store.kind import ApiKind
from ....store.source import FILE, SyncState
from ..text.layout import HERE, Aim, age, indented, paragraph, sentence, to_run
from ..text.screen import cut, rows_of
from ..text.terminal import one_line

# What the checks have no answer for, by why that is, and how many of them answered.

_APART = 3  # kinds that a dump lacks of which each has a line of its own
_NAMED = 3


def no_answer(
    report: Report, cluster: str, checks: frozenset[str], *, several: bool, commands: bool, columns: int | None = None
) -> Iterator[str]:
    """The text of one cluster; nothing where every check answered. `commands` adds how an empty kind is named too. A
    terminal of so many `columns` gets lines that are broken between words, and commands on lines of their own.
    """
    unknown = [each for each in report.unknown if each.cluster == cluster and each.check in checks]
    if not unknown:
        return
    missing = _missing(report, checks, cluster)
    lacking = {f"{kind.name}: {why}": kind for kind, why in missing.items()}
    by_why: dict[str, dict[str, None]] = {}  # the checks, by what keeps them from an answer
    places: dict[str, dict[str, None]] = {}  # the partitions
    for each in unknown:
        by_why.setdefault(each.why, {}).setdefault(each.check)
        places.setdefault(each.why, {}).setdefault(each.partition)
    lines = list(_of_dump(lacking, by_why))
    others = [(f"{_in(places[why])}{why}", found) for why, found in by_why.items() if why not in lacking]
    lines += [
        (f"{one_line(why)}: {_checks(found)}", "") for why, found in sorted(others, key=lambda each: -len(each[1]))
    ]
    head = f"No answer{f' of {cluster}' if several else ''}:\n"
    yield head + "".join(_shown(text, to_run, columns) for text, to_run in lines)
    if missing and commands:
        lists = named_lists(list(missing))
        yield f"Of a kind without objects that prints no more than an empty List; this names it too:\n  {lists}\n"


def _shown(text: str, to_run: str, columns: int | None) -> str:
    """A text and the command that it ends with."""
    if columns is None:
        return f"  {f'{text} {to_run}' if to_run else text}\n"
    return paragraph(text, "  ", "    ", columns) + (f"    {to_run}\n" if to_run else "")


def _of_dump(lacking: dict[str, ApiKind[Any]], by_why: dict[str, dict[str, None]]) -> Iterator[tuple[str, str]]:
    """A text and a command for each kind that the dump lacks; of many one for all of them."""
    found = {kind: by_why[why] for why, kind in lacking.items() if why in by_why}
    if not found:
        return
    groups = [[kind] for kind in found] if len(found) <= _APART else [list(found)]
    for kinds in groups:
        which = named([plural(kind.name) for kind in kinds], most=_NAMED)
        checks = {check for kind in kinds for check in found[kind]}
        text = f"no {which} in the dump: {counted(len(checks), 'check')}; add:"
        yield text, command(k.resource for k in kinds)
    yield "or say --complete, if what the dump lacks has no objects", ""


def _in(partitions: Iterable[str]) -> str:
    """What goes before why: a few of the places, and nothing of what is everywhere."""
    found = [each for each in partitions if each]
    return f"{named(found, most=_NAMED)}: " if found else ""


def _checks(found: Iterable[str]) -> str:
    names = list(found)
    return named(names, most=_NAMED) if len(names) <= _NAMED else counted(len(names), "check")


def answered(report: Report, cluster: str, checks: frozenset[str], read: str) -> str:
    """How many of the checks answered, and of how many kinds: `24 of 27 checks answered; 30 of 30 kinds seen.`"""
    sources = [source for source in report.sources if source.cluster == cluster]
    if not sources and any(each.cluster == cluster for each in report.undecodable if each.kind == FILE):
        return "nothing was read."
    silent = {each.check for each in report.unknown if each.cluster == cluster and each.check in checks}
    elsewhere = {each.check for each in report.not_applicable if each.cluster == cluster and each.check in checks}
    asked = len(checks) - len(elsewhere)
    # One that has no answer for a namespace or an object alone has answered elsewhere.
    partly = silent - {each.check for each in report.unknown if each.cluster == cluster and not each.partition}
    parts = [f"{asked - len(silent)} of {counted(asked, 'check')} answered{' everywhere' if partly else ''}"]
    parts += [f"{counted(len(elsewhere), 'check')} of what is not served here"] if elsewhere else []
    parts += [f"{sum(source.synced for source in sources)} of {len(sources)} kinds seen"] if sources else []
    return "; ".join([*parts, *([read] if read else [])]) + "."


def _missing(report: Report, checks: frozenset[str], cluster: str) -> dict[ApiKind[Any], str]:
    """The kinds that the chosen checks read and of which a dump has nothing, and what is said of each."""
    read = {kind.name: kind for check in all_checks() if check.id in checks for kind in check.reads}
    found = {
        read.get(each.kind): each.why
        for each in report.sources
        if each.cluster == cluster and each.state == SyncState.MISSING and not each.objects
    }
    return {kind: why for kind, why in found.items() if isinstance(kind, ApiKind)}


# What the sidecar says of a finding, as text.


def repair(reported: ReportedRepair, margin: str, columns: int | None) -> str:
    """What it would do, or why not, and how to let it; as wide as the terminal, if it is on one."""
    why = reported.refused.why if reported.refused else "; ".join(each.why for each in reported.blocked)
    facts = (
        (f"{reported.remediation}, {reported.state} (mode {reported.mode})", ""),
        (reported.write, ""),
        (why, "but: "),
        (reported.proposal.where if reported.proposal else "", "instead: "),
        (reported.risk if reported.risk != "none" else "", "risk: "),
        (", ".join(reported.loses), "loses: "),
        (reported.undo, "undo: "),
    )
    said = "; ".join(f"{name}{text}" for text, name in facts if text)
    return sentence(said, f"{margin}repair: ", columns) + indented(reported.commands, f"{margin}$ ")


# What of a dump could not be read at all.


def unread(report: Report) -> list[tuple[str, str]]:
    """The files of dumps that could not be read, and why."""
    return [
        (f"{undecodable.cluster}: {undecodable.name}" if undecodable.cluster else undecodable.name, undecodable.why)
        for undecodable in report.undecodable
        if undecodable.kind == FILE
    ]


_FIRST = 20  # findings that are listed under a cause
HEAD = ("SEVERITY", "REASON", "OBJECT", "AGE", "WHAT")
_WIDE = ("OBJECT", "NODE", "NETWORK", "AGE", "CAUSE", "FINGERPRINT", "WHAT")
_UNDER = " " * 10  # under the reason


@dataclass(frozen=True)
class Presentation:
    """`checks` are the ids of the chosen ones, `read` says in words what the dump of each cluster held, `now` is what
    ages are counted to, and `columns` how wide the terminal is, None for no limit. `commands` says whether what to do
    is printed under each cause, and `aim` where the commands are to look.
    """

    checks: frozenset[str]
    now: float
    read: Mapping[str, str] = field(default_factory=dict)
    commands: bool = False
    columns: int | None = None
    aim: Aim = HERE


def check_text(report: Report, how: Presentation) -> str:
    """A line a cause, and its findings."""
    several = len(clusters_of(report)) > 1
    return _whole("".join(_causes(report, how, several=several)) if report.findings else "", report, how)


def _whole(found: str, report: Report, how: Presentation) -> str:
    """With what follows on what was found: what has no answer, what was not read, and the totals."""
    clusters = clusters_of(report)
    parts = [found] if found else []
    for cluster in clusters:
        parts += no_answer(
            report, cluster, how.checks, several=len(clusters) > 1, commands=how.commands, columns=how.columns
        )
    if files := unread(report):
        lines = rows_of(("FILE", "WHY"), files, None)
        parts.append("Not read, and may hold anything:\n" + "".join(f"{each}\n" for each in lines))
    return "\n".join([*parts, "".join(_ending(report, clusters, how))])


def clusters_of(report: Report) -> tuple[str, ...]:
    named = [each.cluster for each in report.sources] + [each.cluster for each in report.undecodable]
    return tuple(dict.fromkeys(named)) or ("",)  # of a running steward, to a tenant: it says nothing of kinds


def _causes(report: Report, how: Presentation, *, several: bool) -> Iterator[str]:
    """The lines of all causes: a cause with one finding is that finding."""
    of: dict[tuple[str, str], list[FindingReport]] = {}
    for finding in report.findings:
        of.setdefault((finding.cluster, finding.cause), []).append(finding)
    rows, beneath = [], []
    for cause in report.causes or ():
        found = of.get((cause.cluster, cause.cause), [])
        if found:
            rows.append((*((cause.cluster,) if several else ()), *cause_row(cause, found, how.now)))
            beneath.append((cause, found if len(found) > 1 else [], worst(found)))
    head = (*(("CLUSTER",) if several else ()), *HEAD)
    first, *lines = rows_of(head, rows, how.columns)
    yield f"{first}\n"
    for line, (cause, listed, advising) in zip(lines, beneath, strict=True):
        yield f"{line}\n"
        if cause.acknowledged:
            yield f"{cut(_UNDER + one_line(acknowledged_text(cause.acknowledged)), how.columns)}\n"
        yield from _listed(listed, how)
        yield from _advice(advising, listed, how)


def cause_row(cause: CauseReport, found: Sequence[FindingReport], now: float) -> tuple[str, ...]:
    """The cells below HEAD: of one that has one finding they are that finding's."""
    if len(found) == 1:
        (one,) = found
        return one.severity, one.reason, _subject(one), age(one.since, one.since_source, now), one.message
    since = age(cause.since, cause.since_source, now)
    return cause.severity, cause.reason, objects_of(cause), since, cause.title


def _listed(found: Sequence[FindingReport], how: Presentation) -> Iterator[str]:
    """The findings of a cause, each with what is wrong with its own object."""
    if not found:
        return
    left = None if how.columns is None else how.columns - len(_UNDER)
    rows = [(_subject(each), age(each.since, each.since_source, how.now), each.message) for each in found[:_FIRST]]
    for line in rows_of(("", "", ""), rows, left)[1:]:
        yield f"{_UNDER}{line}\n"
    if (more := len(found) - _FIRST) > 0:
        yield f"{_UNDER}and {more:,} more: steward check{how.aim.steward} {found[0].cause} -o wide\n"


def _advice(finding: FindingReport, listed: Sequence[FindingReport], how: Presentation) -> Iterator[str]:
    """What to do, of the worst finding of a cause: how urgent it is and what is lost, a sentence, commands to copy, and
    what the sidecar can do. `listed` are the findings of the cause, if there are several.
    """
    if not how.commands:
        return
    for line in stakes(finding):
        yield sentence(line, _UNDER, how.columns)
    if finding.next:
        same = all((each.next, each.commands) == (finding.next, finding.commands) for each in listed)
        of = "" if same else f" for {_subject(finding)}"
        yield sentence(finding.next, f"{_UNDER}next{of}: ", how.columns)
        for line in referred(finding.next, finding.evidence):
            yield sentence(line, _UNDER, how.columns)
    yield to_run(finding.commands, _UNDER)
    if finding.repairs:
        for each in finding.repairs:
            yield repair(each, _UNDER, how.columns)
    elif finding.remediation:
        yield sentence(repair_by(finding.remediation), f"{_UNDER}repair: ", how.columns)
        yield indented(how.aim.of_cluster(plan_command(finding)), f"{_UNDER}$ ")


def _subject(finding: FindingReport) -> str:
    return f"{kind_word(finding.subject.kind)} {finding.subject.path}"


def objects_of(cause: CauseReport) -> str:
    """How many there are of which kind and where, and what they have in common."""
    counts = ", ".join(counted(number, kind_word(kind)) for kind, number in cause.kinds.items())
    where = f" in {cause.first_namespaces[0]}" if cause.namespaces == 1 else ""
    where = f" in {counted(cause.namespaces, 'namespace')}" if cause.namespaces > 1 else where
    by = cause.reference
    named = f"{kind_word(by.kind)} {by.name}" if by.kind else by.node or by.network or by.feature
    return f"{named}: {counts}{where}" if named else f"{counts}{where}"


def _ending(report: Report, clusters: Sequence[str], how: Presentation) -> Iterator[str]:
    several = len(clusters) > 1
    if paging := dict.fromkeys(each.reason for each in report.causes or () if not each.is_known and pages(each)):
        yield sentence(f"Urgent, the alert pages: {', '.join(paging)}.", "", how.columns)
    yield f"{totals(report)}{of_causes(report)}.\n"
    for cluster in clusters:
        line = f"{f'{cluster}: ' if several else ''}{answered(report, cluster, how.checks, how.read.get(cluster, ''))}"
        yield f"{line}\n" if how.columns is None else paragraph(line, columns=how.columns)
    if report.findings and not how.commands and how.columns is not None:
        yield "`--commands` adds what to do; `steward explain REASON` says what a reason means.\n"


def totals(report: Report) -> str:
    """`3 critical, 1 warning, 12 info, 2 acknowledged`; what there is none of is left out."""
    known = {(each.cluster, each.cause) for each in report.causes or () if each.is_known}
    found = ["acknowledged" if (f.cluster, f.cause) in known else f.severity for f in report.findings]
    names = (*(each.value for each in reversed(Severity)), "acknowledged")
    counts = [(found.count(each), each) for each in names]
    none = "No findings in what could be evaluated" if report.unknown or unread(report) else "No findings"
    return ", ".join(f"{count:,} {name}" for count, name in counts if count) or none


def of_causes(report: Report) -> str:
    """What follows on the totals: `: 65 findings of 57 causes`; empty without a finding."""
    causes, findings = len(report.causes or ()), len(report.findings)
    return f": {counted(findings, 'finding')} of {counted(causes, 'cause')}" if findings else ""


def wide(report: Report, how: Presentation) -> str:
    """One row a finding, whole, with its ids and where it is; nothing is cut."""
    several = len(clusters_of(report)) > 1
    head = ("SEVERITY", "REASON", *(("CLUSTER",) if several else ()), *_WIDE)
    rows = [
        (
            *(each.severity, each.reason, *((each.cluster,) if several else ())),
            *(_subject(each), each.node or "-", each.network or "-", age(each.since, each.since_source, how.now)),
            *(each.cause, each.fingerprint, each.message),
        )
        for each in report.findings
    ]
    return _whole("".join(f"{line}\n" for line in rows_of(head, rows, None)) if rows else "", report, how)


def names(report: Report) -> str:
    """Each object that has a finding once, as `steward check` takes it: kind/NAMESPACE/NAME."""
    found = dict.fromkeys(f"{each.subject.kind.lower()}/{each.subject.path}" for each in report.findings)
    return "".join(f"{each}\n" for each in found)
