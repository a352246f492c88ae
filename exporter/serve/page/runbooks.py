"""/runbooks/: the runbooks as pages, by area, for whoever can't reach the internet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from markupsafe import Markup

from ...checks import all_checks
from ...facts.record import Ref
from ...questions.findings import FindingReport, names_for_runbook
from ...questions.nearest import nearest
from ...questions.selection import area_of
from ...questions.urgency import Urgency
from ...runbook import anchor, headed, texts
from ..html.markdown import RunbookBlock, RunbookSection, names_in, rendered, sections
from .frame import Frame

# The part of a runbook that is about one finding.

_SHOWN = ("Diagnosis", "Mitigation", "Verification")


@dataclass(frozen=True)
class Part:
    """Some text; `about` names the other reasons that it is about, and is empty where it is about this one."""

    html: Markup
    about: str = ""


@dataclass(frozen=True)
class RunbookOfFinding:
    """`subject` is whose names are filled in, empty if it isn't known whose they are to be. `parts` are what is to be
    done, by the title of the section.
    """

    alert: str
    subject: str
    parts: dict[str, list[Part]]


class Runbooks:
    """By the name of the alert."""

    def __init__(self) -> None:
        self._reasons: dict[str, set[str]] = {}
        for check in all_checks():
            for name, reason in check.reasons.items():
                if reason.alert:
                    self._reasons.setdefault(reason.alert, set()).add(name)
        self._sections: dict[str, list[RunbookSection]] = {}  # made when they are first asked for

    def reasons(self, alert: str) -> list[str]:
        return sorted(self._reasons.get(alert, ()))

    def sections(self, alert: str) -> list[RunbookSection]:
        """Empty where there is no such runbook."""
        text = texts().get(alert)
        if text is not None and alert not in self._sections:
            self._sections[alert] = sections(text, self._reasons.get(alert, ()))
        return self._sections.get(alert, [])

    def of(self, alert: str, finding: FindingReport, kubevirt: Ref | None) -> RunbookOfFinding | None:
        """`kubevirt` is the KubeVirt object, None where there is not one, or the viewer has no permission to see it."""
        found = {section.title: section for section in self.sections(alert)}
        if not found:
            return None
        own_names = names_for_runbook(finding, kubevirt)
        names = names_in(texts()[alert], own_names)
        parts = {title: list(_parts(found[title].blocks, finding, names)) for title in _SHOWN if title in found}
        return RunbookOfFinding(alert, str(finding.subject) if "name" in own_names else "", parts)


def _parts(blocks: Iterable[RunbookBlock], finding: FindingReport, names: Mapping[str, str]) -> Iterable[Part]:
    """What is for an object of another kind is left out. In what is for other reasons no names are filled in, since it
    names their objects.
    """
    own, kind = frozenset((finding.reason,)), finding.subject.kind
    for each in blocks:
        if each.tokens and each.concerns(own, kind):
            yield Part(rendered(each.tokens, names))
        elif each.tokens and each.concerns(each.reasons, kind):
            yield Part(rendered(each.tokens), ", ".join(sorted(each.reasons)))


_OF_STEWARD = "steward"  # the area of alerts that no reason names


class RunbookPages:
    def __init__(self, frame: Frame, runbooks: Runbooks, urgencies: Mapping[str, Urgency]) -> None:
        """`urgencies` are by the name of the alert."""
        self._frame, self._runbooks, self._urgencies = frame, runbooks, urgencies
        area = {reason.alert: area_of(check.id) for check in all_checks() for reason in check.reasons.values()}
        self._by_area: dict[str, list[str]] = {}
        for name in texts():
            self._by_area.setdefault(area.get(name, _OF_STEWARD), []).append(name)

    async def every(self, request: web.Request) -> web.StreamResponse:
        values = {"by_area": dict(sorted(self._by_area.items())), "urgencies": self._urgencies, "name": ""}
        return await self._frame.page(request, "runbook.html", values, here="/runbooks/")

    async def one(self, request: web.Request) -> web.StreamResponse:
        """By the name of its alert, with or without `.md`: `steward rules render` writes links with it."""
        name = request.match_info["name"].removesuffix(".md")
        if name not in texts():
            near = nearest(name, texts())
            sentence = f"There is no runbook {name[:100]!r}" + (f"; did you mean {near}?" if near else ".")
            more = {"near": [(f"/runbooks/{near}.md", near)] if near else []}
            return await self._frame.mistake(request, 404, sentence, here="/runbooks/", more=more)
        parts = [
            (section.title, rendered([token for block in section.blocks for token in block.tokens]))
            for section in self._runbooks.sections(name)
        ]
        reasons = [(each, anchor(each)) for each in headed(name)]
        values: dict[str, Any] = {
            "name": name,
            "parts": parts,
            "urgency": self._urgencies.get(name),
            "reasons": reasons,
        }
        values["now"] = urlencode([("reason", each) for each in self._runbooks.reasons(name)])
        return await self._frame.page(request, "runbook.html", values, here="/runbooks/")
