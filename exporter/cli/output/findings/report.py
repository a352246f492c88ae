"""A report as text, or as one of the formats that other programs read."""

from __future__ import annotations

from collections.abc import Callable

from ....questions.findings import Report
from .check_report import Presentation, check_text, names, unread, wide

__all__ = ["Presentation", "rendered", "unread"]


def rendered(report: Report, output: str, how: Presentation) -> str:
    return _RENDERERS[output](report, how)


def _json(report: Report, _: Presentation) -> str:
    from ..text.layout import json_of

    return json_of(report)


def _yaml(report: Report, _: Presentation) -> str:
    from ..text.layout import yaml_of

    return yaml_of(report)


def _csv(report: Report, _: Presentation) -> str:
    from .exchange import csv_of

    return csv_of(report)


def _html(report: Report, how: Presentation) -> str:
    from .html_report import html_of

    return html_of(report, how)


def _sarif(report: Report, how: Presentation) -> str:
    from .exchange import sarif

    return sarif(report, how.checks, unread(report))


_RENDERERS: dict[str, Callable[[Report, Presentation], str]] = {
    "table": check_text,
    "wide": wide,
    "name": lambda report, _: names(report),
    "json": _json,
    "yaml": _yaml,
    "csv": _csv,
    "html": _html,
    "sarif": _sarif,
}
