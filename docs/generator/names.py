"""docs/names.md: the index of alerts, reasons and metrics, by name, each with where it is explained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from exporter.checks import all_checks
from exporter.counts import all_states
from exporter.findings.check import PER_FLEET
from exporter.metrics import exposition
from exporter.metrics.telemetry import METRICS, PREFIX
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
    for check in all_checks():
        if check.scope is not PER_FLEET:
            yield from _rows((reason.family.name for reason in check.reasons.values()), "findings")
    yield from _rows([exposition.NAME], "causes")
    yield from _rows((gauge.name for state in all_states() for gauge in state.gauges), "states")
    totals = (f"{PREFIX}{name}{'_total' if each.type == 'counter' else ''}" for name, each in METRICS.items())
    yield from _rows(totals, "the-steward-itself")


def _rows(names: Iterable[str], section: str) -> Iterator[str]:
    of = section.replace("-", " ")
    yield from (f"| `{name}` | [{of}](metrics.md#{section}) |" for name in dict.fromkeys(names))
