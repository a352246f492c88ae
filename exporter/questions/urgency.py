"""How urgent an alert is, and a finding by its alert, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import msgspec

from ..checks import all_checks, reason_of
from ..findings.check import PER_FLEET, Reason
from ..findings.pages import alerts_of, areas_of_alerts
from ..findings.severity import Severity

_WHO = {"pager": "the on-call engineer", "platform": "cluster administrators", "tenants": "the owners of the namespace"}


class Urgency(msgspec.Struct, frozen=True):
    """`pages`: some of it is critical, and `always` where all of it is. `receivers` are those of the routes. `why_not`
    says in a sentence why what is critical does not page.
    """

    pages: bool
    always: bool
    receivers: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def urgent(self) -> str:
        if not self.pages:
            return "Not urgent: the alert doesn't page."
        if self.always:
            return "Urgent: the alert pages."
        return "Urgent if critical: a critical alert pages, a warning doesn't."

    @property
    def who(self) -> str:
        return f"For {self.whom}."

    @property
    def whom(self) -> str:
        return " and ".join(_WHO.get(each, each) for each in self.receivers)

    @property
    def morning(self) -> str:
        if not self.pages:
            return "It can wait until the next working day."
        return "Act at once." if self.always else "Act at once if it is critical."

    @property
    def said(self) -> str:
        """Of a finding or a reason, for which nobody has to be named."""
        return f"The alert doesn't page. {self.why_not}" if self.why_not else f"{self.urgent} {self.morning}"


# Which findings page where they are critical, and why the others do not.


@dataclass(frozen=True)
class Paging:
    """`why_not` is one line, empty where it pages."""

    check: str
    reason: str
    why_not: str = ""

    @property
    def pages(self) -> bool:
        return not self.why_not


class _Said(msgspec.Struct):
    """What an alert says of those of its reasons that don't page, and don't say why."""

    not_paging: str = ""


@cache
def _alerts() -> Mapping[str, _Said]:
    return {name: said for area in areas_of_alerts() for name, said in alerts_of(area, _Said).items()}


def _why_not(reason: Reason, name: str) -> str:
    """Raises LookupError where nothing says why it does not page."""
    alert = _alerts().get(reason.alert)
    if alert is None or reason.pages:
        return ""
    if why := reason.not_paging or alert.not_paging:
        return why
    raise LookupError(f"{name} does not page, and neither its page nor {reason.alert} says why")


def paging() -> Iterator[Paging]:
    """One for each reason that has critical findings. Raises LookupError where nothing says why one does not."""
    for check in all_checks():
        for name, reason in check.reasons.items():
            if check.scope is not PER_FLEET and Severity.CRITICAL in reason.severities and reason.alert:
                yield Paging(check.id, name, _why_not(reason, name))


def urgency_of(reason: Reason, name: str, severity: Severity | None = None) -> Urgency | None:
    """That of its findings, or of those of one severity; None where no alert covers them."""
    severities = {severity} if severity else {each for each in reason.severities if each is not Severity.INFO}
    if not reason.alert or severity is Severity.INFO:
        return None
    if Severity.CRITICAL not in severities:
        own = "" if Severity.CRITICAL in reason.severities else reason.not_paging
        return Urgency(pages=False, always=False, why_not=own)
    why_not = _why_not(reason, name)
    return Urgency(pages=not why_not, always=severities == {Severity.CRITICAL}, why_not=why_not)


class _Finding(Protocol):
    """A finding, or a cause of some, as it is reported."""

    @property
    def check(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def severity(self) -> str: ...


def pages(finding: _Finding) -> bool:
    """Whether the on-call engineer is paged for it."""
    urgency = _of(finding)
    return urgency is not None and urgency.pages


def stakes(finding: _Finding) -> list[str]:
    """How urgent it is, and what is lost by it, as lines of text; nothing of a reason that is not known."""
    reason, urgency = reason_of(finding.check, finding.reason), _of(finding)
    lines = [urgency.said] if urgency else []
    return [*lines, f"Impact: {reason.impact}"] if reason is not None and reason.impact else lines


_REFERRED = re.compile(r"\bevidence `(\w+)`")


def referred(following: str, evidence: Mapping[str, Any]) -> Iterator[str]:
    """The evidence that a next step refers to, as lines of text: who reads the step needs it."""
    for name in dict.fromkeys(_REFERRED.findall(following)):
        if value := evidence.get(name):
            yield f"{name}: {', '.join(map(str, value)) if isinstance(value, list | tuple) else value}"


def _of(finding: _Finding) -> Urgency | None:
    reason = reason_of(finding.check, finding.reason)
    return None if reason is None else urgency_of(reason, finding.reason, Severity(finding.severity))
