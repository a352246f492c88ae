"""What the checks have no answer for, by why that is, and how many of them answered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....checks import all_checks
from ....facts.naming import counted, named, plural
from ....offline.source import command, named_lists
from ....questions.findings import Report
from ....store.kind import ApiKind
from ....store.source import FILE, SyncState
from ..text.layout import paragraph
from ..text.terminal import one_line

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
