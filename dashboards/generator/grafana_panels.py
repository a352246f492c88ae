"""A panel in Grafana's classic JSON, without its number and its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from .links import PAGE, paged
from .model import Column, Link, Panel, PanelKind, PanelQuery, Threshold

__all__ = ["SOURCE", "panel_of"]

Json = dict[str, Any]

SOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
NEUTRAL = "text"  # what Grafana has for text: neither good nor bad
_LEGEND = re.compile(r"{{(\w+)}}")
_FIELD = re.compile(r"(?<!\$)\{(\w+)\}")


def panel_of(panel: Panel) -> Json:
    made: Json = {
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "targets": [_target(panel, query, _ref(i)) for i, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": list(_overrides(panel))},
        "options": _OPTIONS[panel.kind](panel),
    }
    if panel.links:
        made["links"] = [{"title": link.title, "url": _url(panel, link), "targetBlank": True} for link in panel.links]
    if panel.kind is PanelKind.TABLE:
        made["transformations"] = list(_transformations(panel))
    return made


def _ref(number: int) -> str:
    return chr(ord("A") + number)


def _target(panel: Panel, query: PanelQuery, ref: str) -> Json:
    over_time = panel.kind is PanelKind.TIMESERIES
    step = {"interval": query.step} if query.step else {}
    return {
        "refId": ref,
        "datasource": SOURCE,
        "editorMode": "code",
        "expr": paged(query.expr) if PAGE in _linked(panel) else query.expr,
        "format": "table" if panel.kind is PanelKind.TABLE else "time_series",
        "instant": not over_time,
        "range": over_time,
        "legendFormat": query.legend or "__auto",
        **step,
    }


def _defaults(panel: Panel) -> Json:
    made: Json = {"unit": panel.unit.grafana, "thresholds": _thresholds(panel.thresholds)}
    if panel.kind is PanelKind.TIMESERIES:
        made["color"] = {"mode": "palette-classic"}  # shades of one colour can't be told apart
        made["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 25 if panel.stacked else 0,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        }
        made["min"] = 0
    else:
        made["color"] = {"mode": "thresholds"}
    made["noValue"] = panel.empty
    if panel.kind is PanelKind.BARGAUGE:
        made["min"] = 0
    if panel.decimals is not None:
        made["decimals"] = panel.decimals
    if panel.maximum is not None:
        made["max"] = panel.maximum
    if panel.texts:
        made["mappings"] = [_mapping(panel.texts)]
    return made


def _thresholds(steps: Iterable[Threshold]) -> Json:
    base = {"color": NEUTRAL, "value": None}
    return {"mode": "absolute", "steps": [base, *({"color": step.colour, "value": step.value} for step in steps)]}


def _mapping(texts: Mapping[str, str], colours: Mapping[str, str] = MappingProxyType({})) -> Json:
    options: dict[str, Json] = {}
    for i, value in enumerate(dict.fromkeys((*texts, *colours))):
        options[value] = {"index": i}
        if value in texts:
            options[value]["text"] = texts[value]
        if value in colours:
            options[value]["color"] = colours[value]
    return {"type": "value", "options": options}


def _overrides(panel: Panel) -> Iterator[Json]:
    if panel.kind is PanelKind.TABLE:  # else what stands for a table without rows fills every empty cell
        yield _override("byRegexp", "/.*/", {"noValue": ""})
    for i, query in enumerate(panel.queries):
        properties: Json = {"color": {"mode": "fixed", "fixedColor": query.colour}} if query.colour else {}
        if panel.kind is PanelKind.BARGAUGE:  # else one bar alone has no name
            properties["displayName"] = _LEGEND.sub(r"${__field.labels.\1}", query.legend)
        if properties:
            yield _override("byFrameRefID", _ref(i), properties)
    for column in panel.columns:
        yield _override("byName", column.title, _cells(panel, column))
    for label in _linked(panel):
        yield _override("byName", label, {"custom.hidden": True})


def _override(matcher: str, options: str, properties: Json) -> Json:
    listed = [{"id": name, "value": value} for name, value in properties.items()]
    return {"matcher": {"id": matcher, "options": options}, "properties": listed}


def _unit(column: Column) -> str:
    """Of a column of labels it says that they are texts: 12e34567 would be shown as an infinite number."""
    return "string" if column.label else column.unit.grafana if column.unit else ""


def _cells(panel: Panel, column: Column) -> Json:
    """What is special of a column."""
    made: Json = {"unit": _unit(column)} if _unit(column) else {}
    if column.decimals is not None:
        made["decimals"] = column.decimals
    if column.width:
        made["custom.width"] = column.width
    if column.texts or column.colours:
        made["mappings"] = [_mapping(column.texts, column.colours)]
    if column.thresholds:
        made["thresholds"] = _thresholds(column.thresholds)
    if column.colours or column.thresholds:
        made["custom.cellOptions"] = {"type": "color-text"}
    if column.links:
        made["links"] = [{"title": link.title, "url": _url(panel, link), "targetBlank": True} for link in column.links]
    return made


def _linked(panel: Panel) -> list[str]:
    """Labels that links need and no column shows."""
    needed = {label for column in panel.columns for link in column.links for label in _FIELD.findall(link.url)}
    return sorted(needed - {column.label for column in panel.columns})


def _url(panel: Panel, link: Link) -> str:
    titles = {column.label: column.title for column in panel.columns if column.label}
    shown = {column.label for column in panel.columns if column.texts}

    def cell(match: re.Match[str]) -> str:
        label = match[1]
        return "${__value.text}" if label in shown else f'${{__data.fields["{titles.get(label, label)}"]}}'

    return _FIELD.sub(cell, link.url)


def _transformations(panel: Panel) -> Iterator[Json]:
    """One table of all queries; the columns in their order, by their titles, and no others."""
    values = ["Value"] if len(panel.queries) == 1 else [f"Value #{_ref(i)}" for i in range(len(panel.queries))]
    names = {(column.label if column.value is None else values[column.value]): column.title for column in panel.columns}
    if len(panel.queries) > 1:
        yield {"id": "merge", "options": {}}
    yield {"id": "filterFieldsByName", "options": {"include": {"names": [*names, *_linked(panel)]}}}
    yield {
        "id": "organize",
        "options": {
            "excludeByName": {},
            "indexByName": {name: i for i, name in enumerate((*names, *_linked(panel)))},
            "renameByName": {name: title for name, title in names.items() if name != title},
        },
    }


_REDUCED: Json = {"calcs": ["lastNotNull"], "fields": "", "values": False}


def _stat(panel: Panel) -> Json:
    return {
        "reduceOptions": _REDUCED,
        "colorMode": "background" if panel.loud else "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "textMode": "auto",
    }


def _bargauge(_: Panel) -> Json:
    return {
        "reduceOptions": _REDUCED,
        "displayMode": "basic",
        "orientation": "horizontal",
        "valueMode": "text",
        "showUnfilled": False,
        "sizing": "manual",  # else one bar alone is as high as its panel
        "maxVizHeight": 22,
        "minVizHeight": 16,
        "minVizWidth": 8,
    }


def _timeseries(_: Panel) -> Json:
    return {
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def _table(panel: Panel) -> Json:
    made: Json = {"showHeader": True, "cellHeight": "sm"}
    if panel.sort:
        made["sortBy"] = [{"displayName": each.removeprefix("-"), "desc": each.startswith("-")} for each in panel.sort]
    return made


_OPTIONS = {
    PanelKind.STAT: _stat,
    PanelKind.BARGAUGE: _bargauge,
    PanelKind.TIMESERIES: _timeseries,
    PanelKind.TABLE: _table,
}
