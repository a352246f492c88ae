"""Panels as boards ask for them: the shapes that occur again and again, and their colours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from . import queries
from .model import COLUMNS, Column, Panel, PanelKind, PanelQuery, Threshold, Unit

__all__ = [
    "ATTENTION",
    "HELD",
    "NONE_OR_UNSEEN",
    "SEVERITIES",
    "YES_NO",
    "bars",
    "column",
    "each_severity",
    "each_value",
    "lines",
    "spread",
    "stat",
    "table",
    "upgrading",
]

SEVERITIES = {"critical": "red", "warning": "orange", "info": "blue"}
HELD = "purple"  # what was so when somebody last looked
NONE_OR_UNSEEN = "none, or no data"  # of what nothing can tell apart
ATTENTION = (Threshold(1, "orange"),)
YES_NO = {"0": "no", "1": "yes"}


def stat(title: str, description: str, expr: str, unit: Unit = Unit.COUNT, **more: Any) -> Panel:
    more = {"width": 4, "height": 4, **more}
    return Panel(PanelKind.STAT, title, description, unit, (PanelQuery(expr),), **more)


def lines(title: str, description: str, *asked: PanelQuery, unit: Unit = Unit.COUNT, **more: Any) -> Panel:
    more = {"width": 12, "height": 8, **more}
    return Panel(PanelKind.TIMESERIES, title, description, unit, asked, **more)


def bars(title: str, description: str, *asked: PanelQuery, unit: Unit = Unit.COUNT, **more: Any) -> Panel:
    more = {"width": 12, "height": 8, **more}
    return Panel(PanelKind.BARGAUGE, title, description, unit, asked, **more)


def table(title: str, description: str, columns: Iterable[Column], *asked: PanelQuery, **more: Any) -> Panel:
    more = {"width": 24, "height": 9, "empty": NONE_OR_UNSEEN, **more}
    return Panel(PanelKind.TABLE, title, description, Unit.COUNT, asked, columns=tuple(columns), **more)


def column(label: str, title: str = "", **more: Any) -> Column:
    return Column(title or label.replace("_", " "), label, **more)


def upgrading() -> Panel:
    return stat(
        "KubeVirt upgrading",
        "Whether KubeVirt's control plane is being upgraded. KubeVirt then migrates VMs itself, and alerts delay new "
        "findings for two hours.",
        f"max({queries.each('kubevirt_upgrade_in_progress')})",
        Unit.COUNT,
        texts=YES_NO,
        thresholds=ATTENTION,
    )


def each_severity(expr: Callable[[str], str], step: str = "") -> tuple[PanelQuery, ...]:
    """A query for each, in its colour. The expression is that for a matcher."""
    return each_value("severity", SEVERITIES, expr, step)


def each_value(
    label: str, colours: Mapping[str, str], expr: Callable[[str], str], step: str = ""
) -> tuple[PanelQuery, ...]:
    """A query for each value of a label, in its colour: no format but Grafana's colours single series."""
    return tuple(PanelQuery(expr(f'{label}="{value}"'), value, colour, step) for value, colour in colours.items())


def spread(*panels: Panel) -> tuple[Panel, ...]:
    """One line of panels that are as wide as each other, to a column."""
    width, rest = divmod(COLUMNS, len(panels))
    return tuple(replace(panel, width=width + (i < rest)) for i, panel in enumerate(panels))
