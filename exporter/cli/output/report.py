"""A report as text, or as one of the formats that other programs read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...checks import all_checks
from ...offline.source import command, named_lists
from ...sidecar.repairs import ReportedRepair
from ...store.kind import ApiKind
from ...store.source import FILE, SyncState
from ...views.findings import FindingReport, Report, plan_command
from .junit import junit
from .sarif import sarif
from .structured import json_of, yaml_of
from .table import indented, table

__all__ = ["rendered", "unread"]


def rendered(
    report: Report,
    output: str,
    checks: frozenset[str],
    read: Mapping[str, str] | None = None,
    *,
    commands: bool = True,
) -> str:
    """`checks` are the ids of the chosen ones; `read` says in words what the dump of each cluster held. Without
    `commands` the table has just the next step of each finding."""
    if output == "table":
        return _text(report, checks, read or {}, commands)
    return _RENDERERS[output](report, checks)


def unread(report: Report) -> list[tuple[str, str]]:
    """The files of dumps that could not be read, and why."""
    return [
        (f"{undecodable.cluster}: {undecodable.name}" if undecodable.cluster else undecodable.name, undecodable.why)
        for undecodable in report.undecodable
        if undecodable.kind == FILE
    ]


def _json(report: Report, _: frozenset[str]) -> str:
    return json_of(report)


def _yaml(report: Report, _: frozenset[str]) -> str:
    return yaml_of(report)


_RENDERERS: dict[str, Callable[[Report, frozenset[str]], str]] = {
    "json": _json,
    "yaml": _yaml,
    "junit": lambda report, checks: junit(report, checks, unread(report)),
    "sarif": lambda report, checks: sarif(report, checks, unread(report)),
}
_NEXT = " " * 10  # under the reason


def _text(report: Report, checks: frozenset[str], read: Mapping[str, str], commands: bool) -> str:
    named = [source.cluster for source in report.sources] + [undecodable.cluster for undecodable in report.undecodable]
    clusters = tuple(dict.fromkeys(named))
    several = len(clusters) > 1
    parts = []
    if report.findings:
        rows = [(f.cluster, f.severity, f.reason, f"{f.subject}", f.since, f.message) for f in report.findings]
        head = ("CLUSTER", "SEVERITY", "REASON", "OBJECT", "SINCE", "WHAT")
        parts.append(_columns(head, rows, several, [_advice(finding, commands) for finding in report.findings]))
    if report.unknown:
        places = [(u.cluster, u.check, u.partition or "everywhere", u.why) for u in report.unknown]
        parts.append("No answer:\n" + _columns(("CLUSTER", "CHECK", "WHERE", "WHY"), places, several))
    if files := unread(report):
        parts.append("Not read, and may hold anything:\n" + table(("FILE", "WHY"), files))
    lacking = ((cluster, _missing(report, checks, cluster)) for cluster in clusters)
    parts += [_filling(missing, f" of {cluster}" if several else "") for cluster, missing in lacking if missing]
    lines = [_summary(report, cluster, read.get(cluster, ""), several) for cluster in clusters]
    if several:
        lines.append(f"{_count(len(report.findings), 'finding')} in {len(clusters)} clusters.\n")
    return "\n".join([*parts, "".join(lines)])


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]], several: bool, beneath: Sequence[str] = ()) -> str:
    """A table whose first column, the cluster, is only there where there are several."""
    return table(head, rows, beneath) if several else table(head[1:], [row[1:] for row in rows], beneath)


def _advice(finding: FindingReport, commands: bool) -> str:
    """What to do: a sentence, and commands to copy; and what the sidecar can do."""
    following = indented((finding.next,), f"{_NEXT}next: ") if finding.next else ""
    following += indented(finding.commands, f"{_NEXT}$ ") if commands else ""
    if finding.repairs:
        return following + "".join(_repair(each, commands) for each in finding.repairs)
    if not finding.remediation:
        return following
    following += indented((finding.remediation,), f"{_NEXT}repair: ")
    return following + (indented((plan_command(finding),), f"{_NEXT}$ ") if commands else "")


def _repair(repair: ReportedRepair, commands: bool) -> str:
    """What the sidecar would do, or why not, and how to let it."""
    why = repair.refused.why if repair.refused else "; ".join(each.why for each in repair.blocked)
    facts = (
        (f"{repair.remediation}, {repair.state} (mode {repair.mode})", ""),
        (repair.write, ""),
        (why, "but: "),
        (repair.proposal.where if repair.proposal else "", "instead: "),
        (repair.risk if repair.risk != "none" else "", "risk: "),
        (", ".join(repair.loses), "loses: "),
        (repair.undo, "undo: "),
    )
    said = "; ".join(f"{name}{text}" for text, name in facts if text)
    return indented((said,), f"{_NEXT}repair: ") + (indented(repair.commands, f"{_NEXT}$ ") if commands else "")


def _summary(report: Report, cluster: str, read: str, several: bool) -> str:
    sources = [source for source in report.sources if source.cluster == cluster]
    if not sources:
        return f"{cluster}: nothing was read.\n"
    found = _count(sum(finding.cluster == cluster for finding in report.findings), "finding")
    seen = f"{sum(source.synced for source in sources)} of {len(sources)} kinds seen"
    return f"{f'{cluster}: ' if several else ''}{found}; {seen}{f'; {read}' if read else ''}.\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _missing(report: Report, checks: frozenset[str], cluster: str) -> list[ApiKind[Any]]:
    """The kinds that the chosen checks read and the dump of a cluster lacks."""
    read = {kind.name: kind for check in all_checks() if check.id in checks for kind in check.reads}
    names = (each.kind for each in report.sources if each.cluster == cluster and each.state == SyncState.MISSING)
    return [kind for kind in map(read.get, names) if isinstance(kind, ApiKind)]


def _filling(missing: list[ApiKind[Any]], where: str) -> str:
    return (
        f"For an answer add to the dump{where} what this prints, or say --complete if these kinds have no objects:\n"
        f"  {command(kind.resource for kind in missing)}\n"
        "Of a kind without objects that prints no more than an empty List; this names it too:\n"
        f"  {named_lists(missing)}\n"
    )
