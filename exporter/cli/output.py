"""A report as text, or as one of the formats that other programs read."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ..checks import all_checks
from ..model.source import FILE, Sight
from ..offline.source import command
from ..report import Report, SourceReport
from .junit import junit
from .sarif import sarif
from .table import table

__all__ = ["FORMATS", "rendered", "unread"]


def rendered(report: Report, output: str, checks: frozenset[str], read: str = "") -> str:
    """`checks` are the ids of the chosen ones; `read` is what a dump held, in words."""
    if output == "table":
        return _text(report, checks, read)
    return _RENDERERS[output](report, checks)


def unread(report: Report) -> list[tuple[str, str]]:
    """The files of a dump that could not be read, and why."""
    return [(odd.name, odd.why) for odd in report.undecodable if odd.kind == FILE]


def _json(report: Report, _: frozenset[str]) -> str:
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def _yaml(report: Report, _: frozenset[str]) -> str:
    return msgspec.yaml.encode(report).decode()


_RENDERERS: dict[str, Callable[[Report, frozenset[str]], str]] = {
    "json": _json,
    "yaml": _yaml,
    "junit": lambda report, checks: junit(report, checks, unread(report)),
    "sarif": lambda report, checks: sarif(report, checks, unread(report)),
}
FORMATS = ("table", *_RENDERERS)


def _text(report: Report, checks: frozenset[str], read: str) -> str:
    parts = []
    if report.findings:
        rows = [(f.severity, f.reason, f"{f.subject}", f.since, f.message) for f in report.findings]
        parts.append(table(("SEVERITY", "REASON", "OBJECT", "SINCE", "WHAT"), rows))
    if report.unknown:
        places = [(u.check, u.partition or "everywhere", u.why) for u in report.unknown]
        parts.append("No answer:\n" + table(("CHECK", "WHERE", "WHY"), places))
    if files := unread(report):
        parts.append("Not read, and may hold anything:\n" + table(("FILE", "WHY"), files))
    if missing := _missing(report, checks):
        parts.append(_filling(missing))
    found = f"{len(report.findings)} findings" if len(report.findings) != 1 else "1 finding"
    seen = sum(source.synced for source in report.sources)
    parts.append(f"{found}; {seen} of {len(report.sources)} kinds seen{f'; {read}' if read else ''}.\n")
    return "\n".join(parts)


def _missing(report: Report, checks: frozenset[str]) -> list[SourceReport]:
    """The kinds that the chosen checks read and the dump lacks."""
    read = {kind.name for check in all_checks() if check.id in checks for kind in check.reads}
    return [source for source in report.sources if source.state == Sight.MISSING and source.kind in read]


def _filling(missing: list[SourceReport]) -> str:
    return (
        "For an answer add to the dump what this prints, or say --complete if these kinds have no objects:\n"
        f"  {command(source.resource for source in missing)}\n"
    )
