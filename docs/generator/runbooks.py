"""What is generated of each runbook of findings.

Its first lines say whether it is urgent, for whom, and until when it can wait. What its reasons mean and what is lost
by them comes from the pages of their checks: the first paragraph below the heading of a reason, and the first
paragraph or list below "Impact". What follows is kept by hand. The section "Remediation" is made of what the
remediations declare. It ends with when the alert does, unless the section "Verification" says that itself. A paragraph
that several runbooks have is a part, by a name (rules/runbooks/parts.yaml).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import fill

import yaml

from exporter.checks import all_checks
from exporter.facts.naming import counted
from exporter.findings.check import Reason
from exporter.questions.urgency import Urgency, paging
from exporter.rules.areas import all_areas
from exporter.rules.routing import urgencies
from exporter.runbook import anchor, headed
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations

from .files import TOP
from .sidecar import ONLY_PROPOSES

__all__ = ["generated"]

_WIDTH = 120
_PART = re.compile(r"^(<!-- part: (\S+) -->\n)(?:.+\n)+", re.MULTILINE)
_LEAD = re.compile(r"\A(# \w+\n\n)(?:(?!## ).*\n)*", re.MULTILINE)

_LEFT = "Lines that remain are about other objects."
_END = re.compile(rf"\n{re.escape(_LEFT)} The alert resolves .* after its finding\.\n\Z")
_PLAN = """\
The plan shows the proposal, or why there is none:

```sh not-in-tests: the tests of the sidecar run it
steward reconcile plan -n "$NAMESPACE"
```
"""
_PLAN_AND_APPLY = """\
The plan shows fingerprint, cost and undo. `apply` asks first:

```sh not-in-tests: the tests of the sidecar run it
steward reconcile plan -n "$NAMESPACE"
FINGERPRINT='<fingerprint>'
steward reconcile apply "$FINGERPRINT"
```
"""


def generated() -> dict[str, str]:
    """Written into the runbook between its title and its first section."""
    urgent, pages, reasons = urgencies(), _pages(), _reasons()
    parts = yaml.safe_load((TOP / "rules/runbooks/parts.yaml").read_text(encoding="utf-8"))
    return {
        f"rules/runbooks/{path.name}": _with_parts(
            _made(
                _with_lead(path.read_text(encoding="utf-8"), "\n\n".join(_lead(path.stem, urgent[path.stem], pages))),
                path.stem,
                reasons.get(path.stem, {}),
            ),
            parts,
        )
        for path in sorted((TOP / "rules/runbooks").glob("*.md"))
        if path.stem in urgent
    }


def _with_parts(text: str, parts: Mapping[str, str]) -> str:
    """With each part below the line that names it. Raises KeyError for one that there is not."""
    return _PART.sub(lambda found: f"{found[1]}{parts[found[2]]}\n", text)


_Reasons = Mapping[str, Mapping[str, Reason]]  # by name, then by check: two checks can have one of a name


def _reasons() -> dict[str, dict[str, dict[str, Reason]]]:
    """Of each alert."""
    found: dict[str, dict[str, dict[str, Reason]]] = {}
    for check in all_checks():
        for name, reason in check.reasons.items():
            if reason.alert:
                found.setdefault(reason.alert, {}).setdefault(name, {})[check.id] = reason
    return found


def _made(text: str, alert: str, reasons: _Reasons) -> str:
    if not reasons:
        return text
    return _with_end(_with_repairs(_with_reasons(text, reasons), reasons), alert)


def _with_reasons(text: str, reasons: _Reasons) -> str:
    meanings = {
        name: _joined(text for each in found.values() for text in (each.meaning, each.severity_when))
        for name, found in reasons.items()
    }
    impacts = {name: _joined(each.impact for each in found.values()) for name, found in reasons.items()}
    for name, meaning in meanings.items():
        text = _below(text, f"### `{name}`", meaning)
    names: dict[str, list[str]] = {}
    for name, impact in impacts.items():
        names.setdefault(impact, []).append(f"`{name}`")
    lines = (_in_width(f"- {', '.join(of)}: {impact}", "  ") for impact, of in names.items())
    return _below(text, "## Impact", next(iter(names)) if len(names) == 1 else "\n".join(lines))


def _with_repairs(text: str, reasons: _Reasons) -> str:
    """What the sidecar can do about the reasons of the alert."""
    repairs = [
        (remediation, names)
        for remediation in all_remediations()
        if (names := [n for n, checks in reasons.items() if any(n in remediation.answers.get(c, ()) for c in checks)])
    ]
    if not repairs:
        return text
    lines = [_in_width(_repair(each, names if len(reasons) > 1 else ()), "  ") for each, names in repairs]
    commands = _PLAN if all(each.proposes_only for each, _ in repairs) else _PLAN_AND_APPLY
    if "NAMESPACE=" not in text:
        commands = commands.replace(' -n "$NAMESPACE"', "")
    section = f"## Remediation\n\n{chr(10).join(lines)}\n\n{commands}\n"
    before, found, rest = text.partition("## Remediation\n")
    if not found:
        before, rest = (text.partition("## Verification\n")[0], text)
    return before + section + rest[rest.index("## Verification\n") :]


def _with_end(text: str, alert: str) -> str:
    """With when the alert is over, where nothing else says so."""
    kept = _END.sub("", text)
    if re.search(r"\b[Aa]lerts? (?:ends?|resolves?)\b", kept.partition("## Verification\n")[2]):
        return kept
    keep = next(each.keep for area in all_areas() for each in area.findings if each.name == alert)
    return f"{kept}\n{_LEFT} The alert resolves {_in_words(keep)} after its finding.\n"


def _in_words(duration: str) -> str:
    number, unit = duration[:-1], {"m": "minute", "h": "hour", "d": "day"}[duration[-1]]
    return counted(int(number), unit)


def _repair(remediation: Remediation, reasons: Iterable[str]) -> str:
    name, only = remediation.id, ", ".join(f"`{each}`" for each in reasons)
    parts = [f"- [`{name}`](../../docs/repairs.md#{name})" + (f" ({only})" if only else "") + f": {remediation.title}."]
    if remediation.opt_in:
        parts.append(f'The VM needs the annotation `{remediation.opt_in}: "true"`.')
    if remediation.note:
        parts.append(remediation.note)
    if remediation.proposes_only or remediation.undo.startswith("none"):
        parts.append(ONLY_PROPOSES if remediation.proposes_only else "No undo.")
    return " ".join(parts)


def _in_width(text: str, indent: str = "") -> str:
    return fill(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _joined(texts: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(filter(None, texts)))


def _below(text: str, heading: str, said: str) -> str:
    """With what is said in the place of the first paragraph below a heading."""
    shown = said if said.startswith("- ") else _in_width(said)
    found = re.compile(rf"^{re.escape(heading)}\n\n(?:.+\n)+", re.MULTILINE)
    return found.sub(lambda _: f"{heading}\n\n{shown}\n", text)


def _with_lead(text: str, lead: str) -> str:
    return _LEAD.sub(lambda found: f"{found[1]}{lead}\n\n", text)


def _lead(alert: str, urgency: Urgency, pages: set[tuple[str, str]]) -> Iterator[str]:
    first, rest = urgency.urgent.split(":", 1)
    yield f"**{first}:**{rest} {urgency.who} {urgency.morning}"
    reasons = headed(alert)
    if len(reasons) > 1:
        paged = urgency.pages and not all((alert, each) in pages for each in reasons)
        links = (
            f"[`{each}`](#{anchor(each)})"
            + (" (pages where it is critical)" if paged and (alert, each) in pages else "")
            for each in reasons
        )
        yield f"By reason: {', '.join(links)}."


def _pages() -> set[tuple[str, str]]:
    """Alert and reason of what pages where it is critical."""
    reasons = {(check.id, name): reason.alert for check in all_checks() for name, reason in check.reasons.items()}
    return {(reasons[each.check, each.reason], each.reason) for each in paging() if each.pages}
