"""Dashboards of the OpenShift console: ConfigMaps with JSON of an early Grafana, of which it knows a part.

It draws `graph`, `singlestat` and `table`, and leaves out other panels without a word. A table needs `styles`; it shows
no links and no colours. A variable has one value, and All is `.+`, which no empty label matches: hence there is no
variable `cluster`, since the Prometheus is the cluster's own, and only queries for what has a namespace keep the
filter by `namespace`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .model import COLUMNS, Board, Panel, PanelKind, PanelQuery, Threshold, Unit, Variable

__all__ = ["dashboard", "expression", "fits"]

Json = dict[str, Any]

_CLUSTER = re.compile(r'cluster=~"\$cluster"(, )?')
_NAMESPACE = re.compile(r'(, )?namespace=~"\$namespace"')
_SPAN = 12  # columns of its grid
_BELOW = 1e-6  # a colour holds for what is more than its threshold, and a count of 1 should have that of 1


def fits(board: Board) -> bool:
    """Not for what compares clusters."""
    return board.id not in ("clusters", "hub")


def dashboard(board: Board) -> Json:
    return {
        "uid": board.uid,
        "title": f"KubeVirt steward / {board.title}",
        "tags": ["kubevirt-steward"],
        "schemaVersion": 14,
        "refresh": "1m",
        "time": {"from": f"now-{board.hours}h", "to": "now"},
        "templating": {"list": [_variable(variable) for variable in board.variables if _kept(board, variable)]},
        "rows": [
            {
                "title": row.title,
                "showTitle": True,
                "collapse": False,
                "panels": [_panel(panel) for panel in row.panels],
            }
            for row in board.rows
        ],
    }


def expression(panel: Panel, query: PanelQuery) -> str:
    """The query with the variables that there are."""
    expr = query.expr if panel.by_namespace else _NAMESPACE.sub("", query.expr)
    return _CLUSTER.sub("", expr).replace("{, ", "{").replace("{}", "")


def _kept(board: Board, variable: Variable) -> bool:
    if not variable.label or variable.name == "cluster":
        return False  # no text can be typed in
    return variable.name != "namespace" or any(panel.by_namespace for panel in board.panels)


def _variable(variable: Variable) -> Json:
    query = f"label_values({_CLUSTER.sub('', variable.selector).replace(', }', '}')}, {variable.label})"
    every: Json = {"includeAll": True, "allValue": ".+", "current": {"text": "All", "value": "$__all"}}
    return {
        "name": variable.name,
        "label": variable.title,
        "type": "query",
        "datasource": "prometheus",
        "query": query,
        "refresh": 2,
        "sort": 1,
        "hide": 0,
        "multi": False,
        **(every if variable.several else {"includeAll": False}),
    }


def _panel(panel: Panel) -> Json:
    made: Json = {
        "title": panel.title,
        "description": panel.description,
        "datasource": "prometheus",
        "span": max(1, panel.width * _SPAN // COLUMNS),
        "targets": [
            {"refId": chr(ord("A") + i), "expr": expression(panel, query), "legendFormat": query.legend}
            for i, query in enumerate(panel.queries)
        ],
    }
    return made | _SHAPES[panel.kind](panel)


def _singlestat(panel: Panel) -> Json:
    texts = {"null": panel.empty, **panel.texts}
    return {
        "type": "singlestat",
        "format": panel.unit.console,
        "decimals": panel.decimals if panel.decimals is not None else 0 if panel.unit is Unit.COUNT else 2,
        "valueFontSize": "80%",
        "valueMaps": [{"op": "=", "value": value, "text": text} for value, text in texts.items()],
        "options": {"fieldOptions": {"thresholds": [_step(step) for step in panel.thresholds]}},
    }


def _step(step: Threshold) -> Json:
    return {"value": step.value - _BELOW, "color": step.colour}


def _graph(panel: Panel) -> Json:
    return {
        "type": "graph",
        "stack": panel.stacked,
        "legend": {"show": True},
        "yaxes": [{"format": panel.unit.console}],
    }


def _table(panel: Panel) -> Json:
    return {"type": "table", "transform": "table", "styles": list(_styles(panel))}


def _styles(panel: Panel) -> Iterator[Json]:
    values = (
        ["Value"] if len(panel.queries) == 1 else [f"Value #{chr(ord('A') + i)}" for i in range(len(panel.queries))]
    )
    yield {"pattern": "Time", "type": "hidden"}
    for column in panel.columns:
        if column.value is None:
            if not column.texts or column.plain:  # it can't show one text for another
                yield {"alias": column.title, "pattern": column.plain or column.label, "type": "string"}
            continue
        unit = column.unit or panel.unit
        decimals = column.decimals if column.decimals is not None else 0 if unit is Unit.COUNT else 1
        yield {
            "alias": column.title,
            "pattern": values[column.value],
            "type": "number",
            "unit": unit.console,
            "decimals": decimals,
        }


def _bars(panel: Panel) -> Json:
    """A table of what the bars stand for: by their legend's labels, and one column of values for each query."""
    labels = dict.fromkeys(label for query in panel.queries for label in re.findall(r"{{(\w+)}}", query.legend))
    styles: list[Json] = [{"pattern": "Time", "type": "hidden"}]
    styles += [{"alias": label, "pattern": label, "type": "string"} for label in labels]
    names = _names(panel)
    for i, name in enumerate(names):
        pattern = "Value" if len(names) == 1 else f"Value #{chr(ord('A') + i)}"
        decimals = 0 if panel.unit is Unit.COUNT else 2
        styles.append(
            {"alias": name, "pattern": pattern, "type": "number", "unit": panel.unit.console, "decimals": decimals}
        )
    return {"type": "table", "transform": "table", "styles": styles}


def _names(panel: Panel) -> list[str]:
    """Of the queries; those of one severity each by that."""
    found = [re.search(r'severity="(\w+)"', query.expr) for query in panel.queries]
    texts = [re.sub(r"{{\w+}}", "", query.legend).strip(" ,") for query in panel.queries]
    return [match[1] if match and len(found) > 1 else text or "value" for match, text in zip(found, texts, strict=True)]


_SHAPES = {
    PanelKind.STAT: _singlestat,
    PanelKind.TIMESERIES: _graph,
    PanelKind.TABLE: _table,
    PanelKind.BARGAUGE: _bars,
}
