"""`PersesDashboard` of the Perses operator, v1alpha2."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from .links import PAGE
from .model import Board, Column, Link, Panel, PanelKind, Threshold, Unit, Variable, placed

__all__ = ["manifest"]

Json = dict[str, Any]

_HEX = {  # those of Grafana's palette
    "red": "#F2495C",
    "orange": "#FF9830",
    "dark-orange": "#FA6400",
    "light-orange": "#FFB357",
    "yellow": "#FADE2A",
    "blue": "#5794F2",
    "light-blue": "#8AB8FF",
    "dark-blue": "#1F60C4",
    "purple": "#B877D9",
    "text": "#8E8E8E",
    "transparent": "#8E8E8E",  # of a number, not of its background
}
_FIELD = re.compile(r"(?<!\$)\{(\w+)\}")
_SOURCE: Json = {"kind": "PrometheusDatasource"}


def manifest(board: Board) -> Json:
    panels = {f"r{i}p{j}": panel for i, row in enumerate(board.rows) for j, panel in enumerate(row.panels)}
    config: Json = {
        "display": {"name": f"KubeVirt steward / {board.title}", "description": f"{board.shows} For {board.audience}."},
        "duration": f"{board.hours}h",
        "refreshInterval": "1m",
        "variables": [_variable(variable) for variable in board.variables],
        "panels": {key: _panel(panel) for key, panel in panels.items()},
        "layouts": list(_layouts(board)),
    }
    return {
        "apiVersion": "perses.dev/v1alpha2",
        "kind": "PersesDashboard",
        "metadata": {"name": board.uid, "labels": {"app.kubernetes.io/part-of": "kubevirt-steward"}},
        "spec": {"config": config},
    }


def _layouts(board: Board) -> Iterator[Json]:
    for i, row in enumerate(board.rows):
        places, _ = placed(row)
        items = [
            {
                "x": x,
                "y": y,
                "width": panel.width,
                "height": panel.height,
                "content": {"$ref": f"#/spec/panels/r{i}p{j}"},
            }
            for j, (panel, x, y) in enumerate(places)
        ]
        display = {"title": row.title, "collapse": {"open": True}}
        yield {"kind": "Grid", "spec": {"display": display, "items": items}}


def _variable(variable: Variable) -> Json:
    display = {"name": variable.title, "hidden": variable.hidden}
    if not variable.label:
        text = {"name": variable.name, "display": display, "value": variable.default}
        return {"kind": "TextVariable", "spec": text}
    every: Json = {"customAllValue": ".*", "defaultValue": ["$__all"]} if variable.several else {}
    values = {"labelName": variable.label, "matchers": [variable.selector]}
    spec = {
        "name": variable.name,
        "display": display,
        "allowAllValue": variable.several,
        "allowMultiple": variable.several,
        "sort": "alphabetical-asc",
        "plugin": {"kind": "PrometheusLabelValuesVariable", "spec": values},
        **every,
    }
    return {"kind": "ListVariable", "spec": spec}


def _panel(panel: Panel) -> Json:
    kind, spec = _PLUGINS[panel.kind](panel)
    made: Json = {
        "display": {"name": panel.title, "description": panel.description},
        "plugin": {"kind": kind, "spec": spec},
        "queries": [
            {
                "kind": "TimeSeriesQuery",
                "spec": {
                    "plugin": {
                        "kind": "PrometheusTimeSeriesQuery",
                        "spec": {
                            "datasource": _SOURCE,
                            "query": query.expr,
                            **({"seriesNameFormat": query.legend} if query.legend else {}),
                            **({"minStep": query.step} if query.step else {}),
                        },
                    }
                },
            }
            for query in panel.queries
        ],
    }
    if panel.links:
        made["links"] = [
            {"name": link.title, "url": link.url, "renderVariables": True, "targetBlank": True} for link in panel.links
        ]
    return {"kind": "Panel", "spec": made}


def _format(unit: Unit, decimals: int | None = None) -> Json:
    made: Json = {"unit": unit.perses}
    if unit is Unit.SHORT:
        made["shortValues"] = True
    if decimals is not None:
        made["decimalPlaces"] = decimals
    return made


def _thresholds(steps: tuple[Threshold, ...]) -> Json:
    listed = [{"value": step.value, "color": _HEX[step.colour]} for step in steps]
    return {"mode": "absolute", "defaultColor": _HEX["text"], "steps": listed}


def _stat(panel: Panel) -> tuple[str, Json]:
    mappings = [{"kind": "Misc", "spec": {"value": "empty", "result": {"value": panel.empty}}}]
    mappings += [
        {"kind": "Value", "spec": {"value": value, "result": {"value": text}}} for value, text in panel.texts.items()
    ]
    return "StatChart", {
        "calculation": "last-number",
        "format": _format(panel.unit, panel.decimals),
        "thresholds": _thresholds(panel.thresholds),
        "colorMode": "value",
        "mappings": mappings,
    }


def _lines(panel: Panel) -> tuple[str, Json]:
    visual: Json = {"display": "line", "lineWidth": 1, "areaOpacity": 0.25 if panel.stacked else 0}
    if panel.stacked:
        visual["stack"] = "all"
    axis: Json = {"format": _format(panel.unit, panel.decimals), "min": 0}
    if panel.maximum is not None:
        axis["max"] = panel.maximum
    settings = [
        {"queryIndex": i, "colorMode": "fixed", "colorValue": _HEX[query.colour]}
        for i, query in enumerate(panel.queries)
        if query.colour
    ]
    return "TimeSeriesChart", {
        "legend": {"mode": "list", "position": "bottom"},
        "visual": visual,
        "yAxis": axis,
        **({"querySettings": settings} if settings else {}),
    }


def _bars(panel: Panel) -> tuple[str, Json]:
    return "BarChart", {
        "calculation": "last-number",
        "format": _format(panel.unit, panel.decimals),
        "sort": "desc",
        "mode": "value",
    }


def _table(panel: Panel) -> tuple[str, Json]:
    spec: Json = {
        "density": "compact",
        "enableFiltering": True,
        "defaultColumnHidden": True,
        "columnSettings": [_column(panel, column) for column in panel.columns],
    }
    if len(panel.queries) > 1:
        spec["transforms"] = [{"kind": "MergeSeries", "spec": {}}]
    return "Table", spec


def _column(panel: Panel, column: Column) -> Json:
    several = len(panel.queries) > 1
    value = f"value #{column.value + 1}" if column.value is not None and several else "value"
    made: Json = {"name": column.label or value, "header": column.title, "enableSorting": True, "hide": False}
    if column.width:
        made["width"] = column.width
    if not column.label:
        made["format"] = _format(column.unit or panel.unit, column.decimals)
    if column.links and (not column.texts or column.value is not None):  # a link has the value itself, not its text
        link = column.links[0]
        made["dataLink"] = {"url": _url(link), "title": link.title, "openNewTab": True}
    for each in panel.sort:
        if each.removeprefix("-") == column.title:
            made["sort"] = "desc" if each.startswith("-") else "asc"
    if cells := list(_cells(column)):
        made["cellSettings"] = cells
    return made


def _cells(column: Column) -> Iterator[Json]:
    texts = _shown(column.texts)
    for value in dict.fromkeys((*texts, *column.colours)):
        cell: Json = {"condition": {"kind": "Value", "spec": {"value": value}}}
        if value in texts:
            cell["text"] = texts[value]
        if value in column.colours:
            cell["textColor"] = _HEX[column.colours[value]]
        yield cell
    for step, after in zip_longest(column.thresholds, column.thresholds[1:]):
        limits = {"min": step.value, **({"max": after.value} if after else {})}
        yield {"condition": {"kind": "Range", "spec": limits}, "textColor": _HEX[step.colour]}


def _shown(texts: Mapping[str, str]) -> dict[str, str]:
    return {value: text for value, text in texts.items() if text}


def _url(link: Link) -> str:
    """Of a cell it encodes what would be a URL: its links to the page begin with the variable as it is."""
    return _FIELD.sub(
        lambda match: f"${{{PAGE}}}" if match[1] == PAGE else f'${{__data.fields["{match[1]}"]}}', link.url
    )


_PLUGINS = {PanelKind.STAT: _stat, PanelKind.TIMESERIES: _lines, PanelKind.TABLE: _table, PanelKind.BARGAUGE: _bars}
