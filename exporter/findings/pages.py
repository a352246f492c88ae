"""What the pages of the checks say of their reasons.

A check has a page beside it, `<check>.yaml`, with a section for each reason; `docs/generator/pages.py` says what may
stand there. Nobody reads YAML at a start: `make generate` compiles all pages to `pages.json`, which is read once, by
the first check.
"""

from __future__ import annotations

from functools import cache
from pkgutil import get_data
from typing import TypeVar

import msgspec

from ..domain.acts import Act, Among, Forbids
from .causes import Cause
from .check import Family, Reason
from .severity import Severity

__all__ = [
    "NEXT_CHARACTERS",
    "Texts",
    "alerts_of",
    "answered_by",
    "areas_of_alerts",
    "command",
    "reasons_of",
    "repair_by",
]

T = TypeVar("T")

NEXT_CHARACTERS = 120
"""As many a next step has at most, with its fields filled in."""


class _Forbids(msgspec.Struct):
    acts: tuple[str, ...]
    because: str
    among: str = "OWN"


class _Section(msgspec.Struct):
    """One reason: acts, causes and whom a finding is about by their names, commands by theirs or in full."""

    severity: tuple[Severity, ...]
    metric: str
    meaning: str
    title: str = ""
    severity_when: str = ""
    grace: float = 0.0
    lasting: bool = False
    message: dict[str, str] = {}
    impact: str = ""
    next: dict[str, str] = {}
    commands: tuple[str, ...] = ()
    alert: str = ""
    pages: bool = False
    not_paging: str = ""
    met: str = ""
    remediation: tuple[str, ...] = ()
    cause: str = ""
    does: tuple[str, ...] = ()
    forbids: _Forbids | None = None


class AlertArea(msgspec.Struct):
    """What the alerts of an area of the rules are about, and the families that are quiet during an upgrade."""

    note: str
    quiet: tuple[str, ...] = ()


class _Pages(msgspec.Struct):
    alerts: dict[str, msgspec.Raw]
    areas: dict[str, AlertArea]
    commands: dict[str, str]
    metrics: dict[str, Family]
    reasons: dict[str, dict[str, _Section]]


def reasons_of(check: str) -> dict[str, Reason]:
    """The reasons of a check, in the order of its page."""
    pages = _compiled()
    if check not in pages.reasons:
        raise LookupError(f"no page of check {check} is compiled: write {check}.yaml beside it, then `make generate`")
    return {name: _reason(section, pages) for name, section in pages.reasons[check].items()}


class Texts:
    """What the findings of a check say, in the words of its page: `TEXTS.message("OrphanClaim", vm=…)`.

    A text has variants by a name; the one without is "". Its fields, in braces, are filled with what is given.
    Raises KeyError for a text that the page does not have, and for a field that is not given.
    """

    def __init__(self, check: str) -> None:
        self._reasons = _compiled().reasons[check]

    def message(self, reason: str, variant: str = "", /, **fields: object) -> str:
        return self._reasons[reason].message[variant].format_map(fields)

    def next(self, reason: str, variant: str = "", /, **fields: object) -> str:
        """In place of the next step of the reason, where that depends on the case."""
        return self._reasons[reason].next[variant].format_map(fields)

    def next_if_short(self, reason: str, *variants: str, **fields: object) -> str:
        """The first of these variants that is as short as a next step is with its fields; empty where none is."""
        texts = (self.next(reason, each, **fields) for each in variants)
        return next((each for each in texts if len(each) <= NEXT_CHARACTERS), "")


def answered_by(remediation: str) -> dict[str, tuple[str, ...]]:
    """The reasons whose pages name a remediation, by check."""
    found = {
        check: tuple(name for name, section in sections.items() if remediation in section.remediation)
        for check, sections in _compiled().reasons.items()
    }
    return {check: names for check, names in found.items() if names}


def repair_by(remediation: str) -> str:
    """A remediation with what it does, in one line; the name alone of one that is not known."""
    does = _remediations().get(remediation)
    return f"{remediation}: {does}" if does else remediation


def areas_of_alerts() -> dict[str, AlertArea]:
    """By the names of the areas."""
    return _compiled().areas


def alerts_of(area: str, shape: type[T]) -> dict[str, T]:
    """The alerts of findings of an area of the rules, by their names, each of a shape."""
    return msgspec.json.decode(_compiled().alerts.get(area, b"{}"), type=dict[str, shape])  # type: ignore[valid-type]


def command(name: str) -> str:
    """One of `exporter/checks/commands.yaml`, for a finding that has commands of its own."""
    return _compiled().commands[name]


@cache
def _remediations() -> dict[str, str]:
    """What each does, by its name, as `docs/generator/sidecar.py` has it from the sidecar."""
    return msgspec.json.decode(get_data(__package__, "remediations.json") or b"{}", type=dict[str, str])


@cache
def _compiled() -> _Pages:
    return msgspec.json.decode(get_data(__package__, "pages.json") or b"", type=_Pages)


def _reason(section: _Section, pages: _Pages) -> Reason:
    said = section.forbids
    return Reason(
        section.severity,
        section.meaning,
        pages.metrics[section.metric],
        title=section.title,
        severity_when=section.severity_when,
        impact=section.impact,
        grace=section.grace,
        lasting=section.lasting,
        next=section.next.get("", ""),
        commands=tuple(pages.commands.get(each, each) for each in section.commands),
        alert=section.alert,
        pages=section.pages,
        not_paging=section.not_paging,
        met=section.met,
        remediation=next(iter(section.remediation), ""),
        cause=Cause[section.cause] if section.cause else None,
        does=_acts(section.does),
        forbids=Forbids(_acts(said.acts), said.because, Among[said.among]) if said is not None else None,
    )


def _acts(names: tuple[str, ...]) -> tuple[Act, ...]:
    return tuple(Act[each] for each in names)
