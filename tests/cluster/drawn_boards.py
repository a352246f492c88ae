"""What the panels of a board show, asked of a Prometheus with the variables as they are at first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from dashboards.generator import all_boards
from dashboards.generator.model import Board, Panel, PanelKind
from dashboards.generator.panels import SEVERITIES
from tests.manifests import Object

__all__ = ["BOARDS", "HELD", "Asked", "Drawn", "chosen"]

BOARDS: Mapping[str, Board] = {board.id: board for board in all_boards()}
HELD = "of them held"
Row = dict[str, str]


def chosen(expr: str, **variables: str) -> str:
    """With variables as they are at first, but those that are given."""
    values = {"cluster": ".*", "namespace": ".*", **variables}
    return re.sub(r"\$([a-z]\w*)", lambda match: values[match[1]], expr)


class Asked(Protocol):
    """What answers queries as a Prometheus does."""

    def query(self, expr: str) -> list[Object]: ...


@dataclass(frozen=True)
class Drawn:
    """One board, drawn from a Prometheus. What a number shows without data is None."""

    board: Board
    prometheus: Asked
    variables: Mapping[str, str]

    def panel(self, title: str) -> Panel:
        (found,) = (panel for panel in self.board.panels if panel.title == title)
        return found

    def number(self, title: str) -> float | None:
        rows = self._rows(self.panel(title).queries[0].expr)
        return rows[0][1] if rows else None

    def counts(self, query: int = 0) -> dict[str, float | None]:
        """By severity: how many are open, or with 1 how many of them are held."""
        found = {}
        for severity in SEVERITIES:
            rows = self._rows(self.panel(f"{severity.capitalize()} findings").queries[query].expr)
            found[severity] = rows[0][1] if rows else None
        return found

    def bars(self, title: str = "Findings by reason") -> dict[str, Counter[str]]:
        """By severity, `held` and `none`: how long the bar of each name is."""
        panel = self.panel(title)
        assert panel.kind is PanelKind.BARGAUGE
        found: dict[str, Counter[str]] = {}
        for query in panel.queries:
            severity = re.search(r'finding_severity="(\w+)"', query.expr)
            name = severity[1] if severity else "held" if query.legend.endswith("held") else "none"
            label = re.findall(r"{{(\w+)}}", query.legend)[0]
            rows = self._rows(query.expr)
            found[name] = Counter({row.get(label, ""): int(value) for row, value in rows})
        return found

    def table(self, title: str, query: int) -> list[tuple[Row, float]]:
        return self._rows(self.panel(title).queries[query].expr)

    def findings(self) -> tuple[list[Row], list[Row]]:
        """The rows of its table of findings: all of them, and those that are marked as held."""
        (panel,) = (each for each in self.board.panels if {"rank", "name"} <= {column.label for column in each.columns})
        found, held = (self._rows(panel.queries[i].expr) for i in (1, 2))
        return [row for row, _ in found], [row for row, _ in held]

    def over_time(self) -> Counter[str]:
        """By severity, the last point of each line."""
        queries = self.panel("Findings over time, by severity").queries
        return Counter({query.legend: int(value) for query in queries for _, value in self._rows(query.expr)})

    def numbers(self) -> Iterator[tuple[str, float]]:
        """All that is shown but over time: the title of the panel, and a value."""
        for panel in self.board.panels:
            if panel.kind is not PanelKind.TIMESERIES:
                for query in panel.queries:
                    yield from ((panel.title, value) for _, value in self._rows(query.expr))

    def _rows(self, expr: str) -> list[tuple[Row, float]]:
        answer = self.prometheus.query(chosen(expr, **self.variables))
        return [(row["metric"], float(row["value"][1])) for row in answer]
