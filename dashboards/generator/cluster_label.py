"""Boards for a site whose label that tells clusters apart is not `cluster`. The variable keeps its name."""

from __future__ import annotations

from dataclasses import replace

from exporter.rules.alertmanager import USUAL, in_promql

from .model import Board, BoardRow, Column, Link, Panel, PanelQuery, Variable

__all__ = ["with_cluster_label"]


def with_cluster_label(board: Board, label: str) -> Board:
    rows = tuple(BoardRow(row.title, tuple(_panel(panel, label) for panel in row.panels)) for row in board.rows)
    return replace(board, rows=rows, variables=tuple(_variable(each, label) for each in board.variables))


def _panel(panel: Panel, label: str) -> Panel:
    return replace(
        panel,
        queries=tuple(_query(query, label) for query in panel.queries),
        columns=tuple(_column(column, label) for column in panel.columns),
        links=tuple(_link(link, label) for link in panel.links),
    )


def _query(query: PanelQuery, label: str) -> PanelQuery:
    legend = query.legend.replace(f"{{{{{USUAL}}}}}", f"{{{{{label}}}}}")
    return replace(query, expr=in_promql(query.expr, label), legend=legend)


def _column(column: Column, label: str) -> Column:
    named = label if column.label == USUAL else column.label
    return replace(column, label=named, links=tuple(_link(link, label) for link in column.links))


def _link(link: Link, label: str) -> Link:
    return replace(link, url=link.url.replace(f"{{{USUAL}}}", f"{{{label}}}"))


def _variable(variable: Variable, label: str) -> Variable:
    named = label if variable.label == USUAL else variable.label
    return replace(variable, label=named, selector=in_promql(variable.selector, label))
