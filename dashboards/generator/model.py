"""What a board is, whoever draws it: rows of panels, each with queries, a unit and a sentence of explanation.

The writers beside this module turn it into the files of Grafana, of the OpenShift console and of Perses.
Expressions hold the variables as `$cluster` and `$namespace`; links hold them as `${runbooks}`, and the cells of
their row as `{label}`. `{page}` is the URL of the steward's page of the row's cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import NamedTuple

__all__ = [
    "COLUMNS",
    "Board",
    "BoardRow",
    "Column",
    "Link",
    "Panel",
    "PanelKind",
    "PanelQuery",
    "Placed",
    "Threshold",
    "Unit",
    "Variable",
    "placed",
]

COLUMNS = 24  # of the grid


class PanelKind(StrEnum):
    STAT = "stat"
    TIMESERIES = "timeseries"
    TABLE = "table"
    BARGAUGE = "bargauge"


class Unit(Enum):
    """How values are written: the names of the unit in Grafana, in the OpenShift console and in Perses."""

    COUNT = ("none", "none", "decimal")
    SHORT = ("short", "short", "decimal")
    RATIO = ("percentunit", "percentunit", "percent-decimal")
    SECONDS = ("s", "s", "seconds")
    AGE = ("dtdurations", "s", "seconds")
    DAYS = ("d", "none", "days")
    BYTES = ("bytes", "bytes", "bytes")
    PER_SECOND = ("cps", "short", "counts/sec")

    def __init__(self, grafana: str, console: str, perses: str) -> None:
        self.grafana, self.console, self.perses = grafana, console, perses


@dataclass(frozen=True)
class PanelQuery:
    """PromQL, and the name of its series, a text with `{{label}}` in it. `colour` is that of all of its series; `step`
    the least time between two points of a line, such as 5m.
    """

    expr: str
    legend: str = ""
    colour: str = ""
    step: str = ""


class Threshold(NamedTuple):
    """From this value on the colour holds. Below the first one no colour does."""

    value: float
    colour: str


@dataclass(frozen=True)
class Link:
    """`url` begins with a variable, `{page}` or a slash; `{label}` in it is the row's value of that label."""

    title: str
    url: str


@dataclass(frozen=True)
class Column:
    """Of a table: a label, or with `value` the values of one query, by its number.

    `texts` are shown in place of values, `colours` are theirs; `plain` is the label that stands in where a program
    knows no such texts. `width` is in pixels; without it the rest is shared. Grafana offers all `links`, others the
    first.
    """

    title: str
    label: str = ""
    value: int | None = None
    unit: Unit | None = None
    decimals: int | None = None
    width: int | None = None
    links: tuple[Link, ...] = ()
    plain: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    colours: Mapping[str, str] = field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()


@dataclass(frozen=True)
class Panel:
    """`texts` are shown in place of numbers. `empty` stands where there
    is no data, and no row. `by_namespace`: whatever it shows has a namespace, so that it can be filtered by one
    everywhere. `sort` are titles of a table's columns, the largest value first where one begins with "-". Of a `loud`
    number the whole panel has its colour.
    """

    kind: PanelKind
    title: str
    description: str
    unit: Unit
    queries: tuple[PanelQuery, ...]
    width: int = 6
    height: int = 8
    thresholds: tuple[Threshold, ...] = ()
    decimals: int | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    sort: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    empty: str = "not seen"
    stacked: bool = False
    by_namespace: bool = False
    maximum: float | None = None
    loud: bool = False


@dataclass(frozen=True)
class BoardRow:
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Variable:
    """Chosen from the values that a label has in a selector, or with no label typed in, `default` at first.

    `several`: more than one value can be chosen, and All, which is what is chosen at first.
    """

    name: str
    title: str
    selector: str = ""
    label: str = ""
    default: str = ""
    several: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class Board:
    """`id` is its file's name, and with a prefix its UID; `audience` says whom it is for, `shows` what it shows."""

    id: str
    title: str
    audience: str
    shows: str
    rows: tuple[BoardRow, ...]
    variables: tuple[Variable, ...]
    hours: int = 24  # the time range
    place: int = field(kw_only=True)  # among the boards as they are looked at, the lowest first

    @property
    def uid(self) -> str:
        return f"kubevirt-steward-{self.id}"

    @property
    def panels(self) -> Iterator[Panel]:
        for row in self.rows:
            yield from row.panels


class Placed(NamedTuple):
    panel: Panel
    x: int
    y: int


def placed(row: BoardRow) -> tuple[list[Placed], int]:
    """Where each panel of the row stands, from its top left, line by line; and the height of it all."""
    places, x, y, height = [], 0, 0, 0
    for panel in row.panels:
        if x + panel.width > COLUMNS:
            x, y, height = 0, y + height, 0
        places.append(Placed(panel, x, y))
        x, height = x + panel.width, max(height, panel.height)
    return places, y + height
