"""The part of a runbook that is about one finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from ...checks import all_checks
from ...runbook import texts
from ...views.findings import FindingReport
from ..html.markdown import Block, Section, names_in, rendered, sections

_SHOWN = ("Diagnosis", "Mitigation", "Verification")


@dataclass(frozen=True)
class Part:
    """Some text; `about` names the other reasons that it is about, and is empty where it is about this one."""

    html: Markup
    about: str = ""


@dataclass(frozen=True)
class RunbookOfFinding:
    """`impact` is what happens if nobody acts; `parts` are what is to be done, by the title of the section."""

    alert: str
    meaning: Markup
    impact: Markup
    parts: dict[str, list[Part]]


class Runbooks:
    """By the name of the alert."""

    def __init__(self) -> None:
        self._reasons: dict[str, set[str]] = {}
        for check in all_checks():
            for name, reason in check.reasons.items():
                if reason.alert:
                    self._reasons.setdefault(reason.alert, set()).add(name)
        self._sections: dict[str, list[Section]] = {}  # made when they are first asked for

    def sections(self, alert: str) -> list[Section]:
        """Empty where there is no such runbook."""
        text = texts().get(alert)
        if text is not None and alert not in self._sections:
            self._sections[alert] = sections(text, self._reasons.get(alert, ()))
        return self._sections.get(alert, [])

    def of(self, alert: str, finding: FindingReport) -> RunbookOfFinding | None:
        found = {section.title: section for section in self.sections(alert)}
        if not found:
            return None
        names = names_in(texts()[alert], _labels(finding))
        own = frozenset((finding.reason,))

        def only(title: str) -> Markup:
            blocks = found[title].blocks if title in found else []
            return Markup("").join(
                rendered(each.tokens, names) for each in blocks if not each.reasons or own & each.reasons
            )

        parts = {title: list(_parts(found[title].blocks, own, names)) for title in _SHOWN if title in found}
        return RunbookOfFinding(alert, only("Meaning"), only("Impact"), parts)


def _parts(blocks: Iterable[Block], own: frozenset[str], names: Mapping[str, str]) -> Iterable[Part]:
    for each in blocks:
        if each.tokens:
            others = "" if not each.reasons or own & each.reasons else ", ".join(sorted(each.reasons))
            yield Part(rendered(each.tokens, names), others)


def _labels(finding: FindingReport) -> dict[str, str]:
    """The labels that the alert of a finding has."""
    subject = finding.subject
    return {
        "namespace": subject.namespace,
        "name": subject.name,
        "kind": subject.kind,
        "vm": finding.vm,
        "node": finding.node,
        "network": finding.network,
        "feature": finding.feature,
        "reason": finding.reason,
        "group": finding.group,
        "fingerprint": finding.fingerprint,
    }
