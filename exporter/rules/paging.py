"""Which findings page where they are critical, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..checks import all_checks
from ..findings.check import PER_FLEET
from ..findings.finding import Severity
from .areas import all_areas


@dataclass(frozen=True)
class Paging:
    """`why_not` is one line, empty where it pages."""

    check: str
    reason: str
    why_not: str = ""

    @property
    def pages(self) -> bool:
        return not self.why_not


def paging() -> Iterator[Paging]:
    """One for each reason that has critical findings. Raises KeyError where an alert does not say why one does not."""
    alerts = {alert.name: alert for area in all_areas() for alert in area.findings}
    for check in all_checks():
        for name, reason in check.reasons.items():
            if check.scope is PER_FLEET or Severity.CRITICAL not in reason.severities or not reason.alert:
                continue
            alert = alerts.get(reason.alert)
            if alert is None or name in alert.critical:
                yield Paging(check.id, name)
            else:
                yield Paging(check.id, name, alert.not_paging.get(name) or alert.not_paging[""])


def why_not_paging() -> dict[str, str]:
    """Why critical findings of a reason, CHECK/REASON, do not page; empty where they do."""
    return {f"{each.check}/{each.reason}": each.why_not for each in paging()}
