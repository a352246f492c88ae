"""What is generated of each runbook: its first lines say whether it is urgent, for whom, and until when it may wait."""

from __future__ import annotations

import re
from collections.abc import Iterator

from exporter.checks import all_checks
from exporter.questions.urgency import Urgency
from exporter.rules.urgency import paging, urgencies
from exporter.runbook import anchor, headed, texts

__all__ = ["generated"]

_LEAD = re.compile(r"\A(# \w+\n\n)(?:(?!## ).*\n)*", re.MULTILINE)


def generated() -> dict[str, str]:
    """Written into the runbook between its title and its first section."""
    urgent, pages = urgencies(), _pages()
    return {
        f"rules/runbooks/{name}.md": _with_lead(text, "\n\n".join(_lead(name, urgent[name], pages)))
        for name, text in texts().items()
        if name in urgent
    }


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
