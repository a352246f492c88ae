"""Grafana's classic JSON, `schemaVersion` 38: every Grafana from 10 on reads it and migrates it upwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .grafana_panels import SOURCE, panel_of
from .model import Board, Variable, placed

__all__ = ["dashboard"]

Json = dict[str, Any]

SCHEMA = 38
TAG = "kubevirt-steward"


def dashboard(board: Board) -> Json:
    return {
        "id": None,
        "uid": board.uid,
        "title": f"KubeVirt steward / {board.title}",
        "description": f"{board.shows} For {board.audience}.",
        "tags": [TAG],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,  # one crosshair for all
        "refresh": "1m",
        "time": {"from": f"now-{board.hours}h", "to": "now"},
        "timepicker": {},
        "timezone": "",
        "annotations": {"list": []},
        "links": list(_links()),
        "templating": {"list": [_SOURCES, *map(_variable, board.variables)]},
        "panels": list(_panels(board)),
    }


def _links() -> Iterator[Json]:
    yield {
        "type": "dashboards",
        "title": "Boards",
        "tags": [TAG],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
    }


_SOURCES: Json = {
    "type": "datasource",
    "name": "datasource",
    "label": "Prometheus",
    "query": "prometheus",
    "current": {},
    "hide": 0,
    "includeAll": False,
    "multi": False,
    "refresh": 1,
}


def _variable(variable: Variable) -> Json:
    common: Json = {"name": variable.name, "label": variable.title, "hide": 2 if variable.hidden else 0}
    if not variable.label:
        chosen = {"text": variable.default, "value": variable.default}
        return {**common, "type": "textbox", "query": variable.default, "current": chosen}
    every: Json = {"includeAll": True, "allValue": ".*", "current": {"text": ["All"], "value": ["$__all"]}}
    query = f"label_values({variable.selector}, {variable.label})"
    return {
        **common,
        "type": "query",
        "datasource": SOURCE,
        "definition": query,
        "query": {"qryType": 1, "query": query, "refId": "values"},
        "refresh": 2,
        "sort": 1,
        "regex": "",
        "multi": variable.several,
        **(every if variable.several else {"includeAll": False, "current": {}}),
    }


def _panels(board: Board) -> Iterator[Json]:
    number, top = 0, 0
    for row in board.rows:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": top, "w": 24, "h": 1},
            "panels": [],
        }
        places, height = placed(row)
        for panel, x, y in places:
            number += 1
            position = {"x": x, "y": top + 1 + y, "w": panel.width, "h": panel.height}
            yield {"id": number, "gridPos": position, **panel_of(panel)}
        top += 1 + height
