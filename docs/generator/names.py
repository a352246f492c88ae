"""docs/names.md: the index of alerts, reasons and metrics, by name, each with where it is explained."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.checks import all_checks
from exporter.metrics.described import families
from exporter.questions.urgency import paging
from exporter.rules.routing import urgencies
from exporter.runbook import anchor

from .files import NOTE

__all__ = ["generated"]


def generated() -> dict[str, str]:
    return {"docs/names.md": "\n".join(_page()) + "\n"}


def _page() -> Iterator[str]:
    yield f"# Names\n\n{NOTE}\n"
    yield "All names that an alert, a finding or a panel may show, and where each is explained. [Severity and"
    yield "urgency](faq.md#how-bad-is-it-and-how-urgent) are two things.\n"
    yield "## Alerts\n"
    yield "| Alert | Wakes somebody | For |\n| --- | --- | --- |"
    for name, urgency in sorted(urgencies().items()):
        pages = "yes" if urgency.always else "where it is critical" if urgency.pages else "no"
        yield f"| [{name}](../rules/runbooks/{name}.md) | {pages} | {urgency.whom} |"
    yield "\n## Reasons\n"
    yield "| Reason | Check | Severity | Wakes somebody | Runbook |\n| --- | --- | --- | --- | --- |"
    yield from sorted(_reasons(), key=str.lower)
    yield "\n## Metrics\n"
    yield "[Metrics](metrics.md) has labels and meanings, [repairs](repairs.md#metrics) those of the sidecar.\n"
    yield "| Family | Of |\n| --- | --- |"
    yield from sorted(_families())


def _reasons() -> Iterator[str]:
    pages = {(each.check, each.reason): "where it is critical" for each in paging() if each.pages}
    for check in all_checks():
        for name, reason in check.reasons.items():
            severity = ", ".join(each.value for each in reason.severities)
            at = f"../rules/runbooks/{reason.alert}.md#{anchor(name)}"
            runbook = f"[{reason.alert}]({at})" if reason.alert else ""
            wakes = pages.get((check.id, name), "no")
            yield f"| `{name}` | [{check.id}](checks.md#{check.id}) | {severity} | {wakes} | {runbook} |"


def _families() -> Iterator[str]:
    for each in families().values():
        yield f"| `{each.name}` | [{each.of.replace('-', ' ')}](metrics.md#{each.of}) |"
