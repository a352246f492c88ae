"""`steward explain`: what a check, reason, alert or metric means and what to do; of a finding with its names."""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...checks import all_checks
from ...facts.naming import kind_word
from ...facts.rules import BY_ID
from ...facts.times import Since
from ...findings.check import PER_FLEET, Check, Reason
from ...findings.pages import repair_by
from ...findings.severity import Severity
from ...questions.urgency import Urgency, urgency_of
from ...runbook import link, texts
from ..output.text.layout import grid, paragraph, to_run
from ..output.text.screen import prose_width, width
from ..output.text.terminal import complain, one_line, say

if TYPE_CHECKING:  # its report is dear to import, and a reason needs none
    from ...questions.findings import FindingReport

# What a check, a reason or a finding means, as text. Words in capitals are filled in by findings.

_NAME = 10  # columns of what a line is about
_RELATED = 20  # findings that are named


def of_check(check: Check, columns: int | None) -> str:
    reads = ", ".join(kind.name for kind in check.reads)
    rows = [(name, _severities(reason, "|"), reason.title) for name, reason in check.reasons.items()]
    story = inspect.getdoc(inspect.getmodule(check.find)) or ""
    text = story if columns is None else "\n".join(_prose(part, columns) for part in story.split("\n\n")).rstrip("\n")
    return f"{check.id}: {check.title}\n\n{text}\n\n{_prose(f'Reads: {reads}', columns)}\n" + grid(
        ("REASON", "SEVERITY", "TITLE"), rows, columns
    )


def of_reason(check: Check, name: str, reason: Reason, columns: int | None) -> str:
    by_reason = f'{{reason="{name}"}}' if check.scope is not PER_FLEET else ""
    facts = {
        "Impact": reason.impact,
        "Severity": reason.severity_when or _severities(reason, " or "),
        "Metric": reason.family.name + by_reason,
        "Alert": _alert(reason, urgency_of(reason, name)),
        "Runbook": link(reason.alert, name),
        "Next": reason.next,
        "Repair": repair_by(reason.remediation),
    }
    title = f"{name} (check {check.id}): {reason.title}\n\n{_prose(reason.meaning, columns)}\n"
    return f"{title}{_facts(facts, columns)}{to_run(reason.commands, '  ')}"


def of_finding(finding: FindingReport, columns: int | None, related: Sequence[FindingReport] = ()) -> str:
    """Of the findings that are `related` to it the first are named."""
    check = next(each for each in all_checks() if each.id == finding.check)
    reason = check.reasons[finding.reason]
    subject = f"{kind_word(finding.subject.kind)} {finding.subject.path}"
    facts = {
        "Means": reason.meaning,
        "Impact": reason.impact,
        "Since": finding.since + (" or before" if finding.since_source == Since.FIRST_SEEN else ""),
        "Alert": _alert(reason, urgency_of(reason, finding.reason, Severity(finding.severity))),
        "Runbook": link(reason.alert, finding.reason),
        "Cause": finding.cause,
        "Finding": finding.fingerprint,
        "May be old": finding.unknown,
        "Next": finding.next,
        "Repair": "" if finding.repairs else repair_by(finding.remediation or ""),
    }
    title = one_line(f"{finding.severity} {finding.reason}: {subject}")
    text = f"{title}\n\n{_prose(finding.message, columns)}\n{_facts(facts, columns)}"
    text += to_run(finding.commands, "  ")
    if finding.repairs:
        from ..output.findings.check_report import repair  # dear to import, too

        text += "".join(repair(each, "  ", columns) for each in finding.repairs)
    if related:
        rows = [
            (each.severity, each.reason, f"{kind_word(each.subject.kind)} {each.subject.path}", each.fingerprint)
            for each in related[:_RELATED]
        ]
        more = f"and {len(related) - _RELATED} more\n" if len(related) > _RELATED else ""
        text += "\n" + grid(("RELATED", "REASON", "OBJECT", "FINDING"), rows, columns) + more
    return text


def _alert(reason: Reason, urgency: Urgency | None) -> str:
    """With how urgent it is; none where no alert covers the finding."""
    return f"{reason.alert}. {urgency.said}" if urgency else ""


def _facts(facts: dict[str, str], columns: int | None) -> str:
    """Whatever there is something to say of."""
    said = ((f"{name}:".ljust(_NAME), fact) for name, fact in facts.items() if fact)
    return "".join(_prose(fact, columns, first) for first, fact in said)


def _severities(reason: Reason, between: str) -> str:
    return between.join(severity.value for severity in reason.severities)


def _prose(text: str, columns: int | None, first: str = "") -> str:
    return (
        f"{first}{one_line(text)}\n" if columns is None else paragraph(" ".join(text.split()), first, columns=columns)
    )


_ID = re.compile(r"[0-9a-f]{4,16}")
_Row = tuple[Check, str, Reason]


def run(arguments: argparse.Namespace) -> int:
    what = arguments.what
    every = [(check, name, reason) for check in all_checks() for name, reason in check.reasons.items()]
    if what is None:
        rows = [(check.id, name, reason.title) for check, name, reason in every]
        say(grid(("CHECK", "REASON", "TITLE"), rows, width()))
        return 0
    columns = prose_width() if width() else None
    whole = next((check for check, _, _ in every if check.id == what.lower()), None)
    found = [] if whole else [row for row in every if what.lower() in _names(row)]
    if arguments.runbook and (found or whole):
        return _runbook([row for row in every if row[0] is whole] or found, columns)
    if whole or found:
        say(of_check(whole, columns) if whole else "\n".join(of_reason(*row, columns) for row in found))
        return 0
    if _ID.fullmatch(what):
        return _one(arguments, columns)
    if text := _other(what, columns, runbook=arguments.runbook):
        say(text)
        return 0
    complain(_unknown(what, every))
    return 2


_SAYS = re.compile(r"^## (Meaning|Impact)\n\n(.+?)\n(?=\n## |\Z)", re.MULTILINE | re.DOTALL)


def _other(what: str, columns: int | None, *, runbook: bool) -> str:
    """An alert, or a metric family, that is of no reason; empty for what is neither."""
    from ...metrics.described import families  # dear to import, and a reason needs none
    from ...rules.routing import urgencies

    alerts = {name.lower(): name for name in urgencies()}
    if alert := alerts.get(what.lower()):
        if runbook:
            from ..output.runbook_text import runbook_text  # its Markdown is dear to import

            return runbook_text(alert, frozenset(), {}, columns)
        said = {head: " ".join(text.split()) for head, text in _SAYS.findall(texts().get(alert, ""))}
        facts = {"Impact": said.get("Impact", ""), "Alert": urgencies()[alert].said, "Runbook": link(alert)}
        return f"{alert}\n\n{_prose(said.get('Meaning', ''), columns)}\n{_facts(facts, columns)}"
    if family := families().get(what.lower()):
        facts = {"Labels": ", ".join(family.labels), "See": f"docs/metrics.md#{family.of}"}
        return f"{family.name}\n\n{_prose(family.help, columns)}\n{_facts(facts, columns)}"
    return ""


def _names(row: _Row) -> tuple[str, ...]:
    """By which a reason is called. Two checks may have one: what is wrong is the same, whoever caused it."""
    _, name, reason = row
    family = reason.family.name
    return tuple(each.lower() for each in (name, reason.alert, family, f"{family}_since_timestamp_seconds"))


def _unknown(what: str, every: list[_Row]) -> str:
    if what in BY_ID:
        return f"{what} is a feature: `steward features {what}` says whether it is allowed, and who asks for it"
    from ...metrics.described import families  # only where nothing is called so
    from ...rules.routing import urgencies

    names = (each for check, name, _ in every for each in (check.id, name))
    known = {each.lower(): each for each in (*names, *urgencies(), *families())}
    close = difflib.get_close_matches(what.lower(), known, 1) or [
        name for name in known if name.startswith(what.lower())
    ]
    hint = f"did you mean {known[close[0]]}?" if close else "`steward explain` lists all"
    return f"no check, reason, alert or metric is called {what[:100]!r}; {hint}"


def _runbook(rows: list[_Row], columns: int | None) -> int:
    from ..output.runbook_text import runbook_text  # its Markdown is dear to import

    reasons: dict[str, list[str]] = {}
    for _, name, reason in rows:
        if reason.alert:
            reasons.setdefault(reason.alert, []).append(name)
    if not reasons:
        complain(f"{rows[0][1]} has no alert, and so no runbook; `steward explain {rows[0][1]}` says what to do")
        return 2
    parts = []
    for alert, names in reasons.items():
        labels = {"reason": names[0]} if len(names) == 1 else {}
        parts.append(runbook_text(alert, frozenset(names), labels, columns))
    say("\n".join(parts))
    return 0


def _one(arguments: argparse.Namespace, columns: int | None) -> int:
    """Of a finding, or the worst of a cause."""
    from ..asking import WRONG  # only where something is looked at
    from ..input.once import aim_of
    from ..output.text.layout import aimed

    try:
        found, related = _found(arguments)
        finding = aimed(found, aim_of(arguments))
    except WRONG as error:
        complain(str(error))
        return 2
    if not arguments.runbook:
        say(of_finding(finding, columns, related))
        return 0
    check = next(each for each in all_checks() if each.id == finding.check)
    reason = check.reasons[finding.reason]
    if not reason.alert:
        complain(f"{finding.reason} has no alert, and so no runbook; without --runbook it is said what to do")
        return 2
    from ...questions.findings import names_for_runbook
    from ..output.runbook_text import runbook_text  # its Markdown is dear to import

    say(runbook_text(reason.alert, frozenset((finding.reason,)), names_for_runbook(finding), columns))
    return 0


def _found(arguments: argparse.Namespace) -> tuple[FindingReport, list[FindingReport]]:
    """The one that is meant, of a cluster, a dump or a running exporter, and those related to it. Raises UsageError
    and DumpError.
    """
    import asyncio  # only where something is looked at

    from ...questions.findings import Report, near, take, with_causes, worst
    from ..asking import Place, from_anywhere
    from ..input.config import configured
    from ..input.filters import ObjectSelection, UsageError
    from ..input.names import known_to
    from ..input.once import refuse_complete_without_dump, undated

    within = [arguments.namespace] if arguments.namespace else []

    async def running() -> tuple[Report, bool]:
        from ..input.running import report_of  # not for a dump

        return await report_of(arguments), True

    async def taken(place: Place) -> Report:
        report = take(place.engine)
        if place.look is not None:
            known_to(place.engine.cluster, within, ObjectSelection(), report.findings)
        return undated(with_causes(report, place.engine))

    refuse_complete_without_dump(arguments)
    config, wanted = configured(arguments).config, arguments.what
    report, _ = asyncio.run(from_anywhere(arguments, config, running, taken, views=(), namespaces=within))
    found = [each for each in report.findings if wanted in (each.fingerprint[: len(wanted)], each.cause[: len(wanted)])]
    if not found:
        raise UsageError(
            f"no finding and no cause has ID {wanted}, or it is gone; `steward check -o wide` shows the ids"
        )
    meant = worst(found)
    return meant, near(meant, report.findings)
