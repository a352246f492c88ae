"""The boards: what is said of every panel, and what no format loses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import promql_parser as promql
import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.generator import all_boards, generated
from dashboards.generator.console import expression
from dashboards.generator.model import COLUMNS, Board, Link, Panel, PanelKind, PanelQuery, placed
from dashboards.generator.panels import SEVERITIES
from tests.all_of import all_of
from tests.case_files import read_yaml
from tests.rules import RULES, rules_of, selectors
from tests.shared import REPO

BOARDS = {board.id: board for board in all_boards()}
PANELS = [
    pytest.param(board, panel, id=f"{board.id}: {panel.title}") for board in BOARDS.values() for panel in board.panels
]
FILES = generated()
GRAFANA, CONSOLE, PERSES = (
    sorted(path for path in FILES if re.fullmatch(rf"dashboards/{folder}/(?!kustomization)\w+\.{ending}", path))
    for folder, ending in (("grafana", "json"), ("console", "json"), ("perses", "yaml"))
)
# What KubeVirt's own components, not the steward, serve.
KUBEVIRTS = {"kubevirt_vmi_info", "kubevirt_vmi_migration_succeeded", "kubevirt_vmi_migration_failed"}
PROCESSES = {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"}
# Boards read what rules record only where nothing else has it.
RECORDED_BY_RULES = {rule.name for rule in rules_of(RULES / "slo.yaml") if not rule.alerts}
TRUST = {"Can this be trusted?", "Does it work?"}
VARIABLE = re.compile(r"\$\{?([a-z]\w*)")
Json = dict[str, Any]


@cache
def served() -> set[str]:
    """The families of the manuals, which are generated from the code."""
    named = "".join((REPO / f"docs/{page}.md").read_text(encoding="utf-8") for page in ("metrics", "repairs"))
    families = set(re.findall(r"^\| `(kubevirt_\w+)` \|", named, re.MULTILINE))
    histograms = set(re.findall(r"^\| `(kubevirt_\w+)` \| histogram", named, re.MULTILINE))
    return (families - histograms) | {f"{each}_bucket" for each in histograms} | KUBEVIRTS | PROCESSES


def queries() -> Iterator[tuple[Board, Panel, PanelQuery]]:
    for board in BOARDS.values():
        for panel in board.panels:
            yield from ((board, panel, query) for query in panel.queries)


def links(panel: Panel) -> Iterator[Link]:
    yield from panel.links
    yield from (column.link for column in panel.columns if column.link)


def aggregations(expr: promql.Expr, inner: str = "") -> Iterator[tuple[str, str]]:
    """The innermost aggregation of each selector whose samples count, and the selector. Not of what only filters."""
    if isinstance(expr, promql.AggregateExpr):
        yield from aggregations(expr.expr, str(expr.op))
    elif isinstance(expr, promql.BinaryExpr):
        yield from aggregations(expr.lhs, inner)
        if str(expr.op) not in ("and", "unless"):
            yield from aggregations(expr.rhs, inner)
    elif isinstance(expr, promql.Call):
        for argument in expr.args:
            yield from aggregations(argument, inner)
    elif isinstance(expr, (promql.ParenExpr, promql.UnaryExpr, promql.SubqueryExpr)):
        yield from aggregations(expr.expr, inner)
    elif isinstance(expr, promql.MatrixSelector):
        yield inner, str(expr.vector_selector)
    elif isinstance(expr, promql.VectorSelector):
        yield inner, str(expr)


def test_every_module_of_definitions_that_is_a_board_is_one_of_all() -> None:
    modules = (REPO / "dashboards/generator/definitions").glob("*.py")
    boards = {path.stem for path in modules if "\nBOARD = " in path.read_text(encoding="utf-8")}
    assert boards == set(BOARDS)


@pytest.mark.parametrize("board", BOARDS.values(), ids=list(BOARDS))
def test_a_board_begins_with_whether_it_can_be_trusted(board: Board) -> None:
    assert board.rows[0].title in TRUST
    assert board.audience
    assert board.shows.endswith(".")


@pytest.mark.parametrize("board", BOARDS.values(), ids=list(BOARDS))
def test_titles_of_panels_are_told_apart_within_a_row_and_fill_its_lines(board: Board) -> None:
    for row in board.rows:
        titles = [panel.title for panel in row.panels]
        assert len(titles) == len(set(titles))
        widths: dict[int, int] = {}
        for panel, _, y in placed(row)[0]:
            widths[y] = widths.get(y, 0) + panel.width
        assert set(widths.values()) == {COLUMNS}, row.title


@all_of(PANELS, lambda name: name.partition(":")[0])
def test_a_panel_says_what_it_shows_in_variables_that_there_are(board: Board, panel: Panel) -> None:
    assert panel.description.endswith(".")
    assert panel.unit.grafana
    assert panel.queries
    known = {variable.name for variable in board.variables}
    named = [query.expr for query in panel.queries] + [link.url for link in links(panel)]
    assert {name for text in named for name in VARIABLE.findall(text)} <= known
    assert (panel.kind is PanelKind.TABLE) == bool(panel.columns)
    assert all(column.value is None or column.value < len(panel.queries) for column in panel.columns)
    assert panel.sort.removeprefix("-") in {"", *(column.title for column in panel.columns)}


@all_of(PANELS, lambda name: name.partition(":")[0])
def test_replicas_never_add_up_and_nothing_stands_in_for_what_is_not_scraped(board: Board, panel: Panel) -> None:
    for query in panel.queries:
        assert "vector(" not in query.expr
        assert "absent" not in query.expr
        for aggregation, selector in aggregations(promql.parse(query.expr)):
            assert aggregation in ("max", "min", "count"), f"{aggregation or 'nothing'} of {selector}"


@all_of(PANELS, lambda name: name.partition(":")[0])
def test_a_query_names_only_series_that_there_are(board: Board, panel: Panel) -> None:
    for query in panel.queries:
        for selector in selectors(query.expr):
            by_pattern = any(matcher.name == "__name__" for matcher in selector.matchers)
            assert by_pattern or selector.metric in served() | RECORDED_BY_RULES, selector.metric


@all_of(PANELS, lambda name: name.partition(":")[0])
def test_a_severity_has_its_colour_wherever_it_is_drawn(board: Board, panel: Panel) -> None:
    for query in panel.queries:
        asked = re.search(r'severity="(\w+)"', query.expr)
        if asked and query.colour:
            assert query.colour == SEVERITIES[asked[1]]
    for column in panel.columns:
        assert column.label != "severity" or column.colours == SEVERITIES
    if panel.title.lower() in SEVERITIES:
        assert [step.colour for step in panel.thresholds] == [SEVERITIES[panel.title.lower()]]


@all_of(PANELS, lambda name: name.partition(":")[0])
def test_links_lead_to_the_page_to_a_runbook_or_to_a_board(board: Board, panel: Panel) -> None:
    for link in links(panel):
        target, _, rest = link.url.partition("}") if link.url.startswith("${") else link.url.partition("?")
        if target == "${runbooks":
            assert rest == "{runbook}.md" or (RULES / "runbooks" / rest).is_file(), rest
        elif target != "${steward":
            assert target.removeprefix("/d/") in {each.uid for each in BOARDS.values()}


def test_tables_of_findings_lead_to_the_page_and_to_the_runbook() -> None:
    tables = [panel for _, panel, _ in queries() if {"reason", "name"} <= {column.label for column in panel.columns}]
    assert len(tables) >= 8
    for panel in tables:
        found = {link.url for link in links(panel)}
        assert "${steward}/?namespace={namespace}&name={name}" in found
        assert "${runbooks}{runbook}.md" in found
        (alerts,) = (column.texts for column in panel.columns if column.label == "runbook")
        assert all((RULES / f"runbooks/{alert}.md").is_file() for alert in alerts.values() if alert)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{path}/{key}")
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from leaves(each, f"{path}/{i}")
    elif value is not None:
        yield path, value


@pytest.mark.parametrize("path", GRAFANA)
def test_grafanas_own_model_reads_a_board_and_loses_no_leaf(path: str) -> None:
    register_default_plugins()
    given = json.loads(FILES[path])
    again = json.loads(json.dumps(Dashboard.from_json(given), cls=JSONEncoder))
    lost = dict(leaves(given)).items() - dict(leaves(again)).items()
    assert not lost


@pytest.mark.parametrize("path", GRAFANA)
def test_a_board_of_grafana_is_one_that_every_grafana_from_10_on_migrates(path: str) -> None:
    board = json.loads(FILES[path])
    assert board["schemaVersion"] == 38
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    assert {panel["type"] for panel in board["panels"]} <= {"row", *PanelKind}
    assert "green" not in FILES[path]
    for panel in board["panels"]:
        if panel["type"] == "row":
            continue
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        assert steps[0] == {"color": "text", "value": None}
        assert ("noValue" in panel["fieldConfig"]["defaults"]) == (panel["type"] != "table")
        # a single value of the past would stand where nothing is seen now
        assert all(target["instant"] != (panel["type"] == "timeseries") for target in panel["targets"])


@pytest.mark.parametrize("path", CONSOLE)
def test_a_board_of_the_console_has_only_what_it_draws(path: str) -> None:
    board = json.loads(FILES[path])
    known = {variable["name"] for variable in board["templating"]["list"]}
    assert {variable["type"] for variable in board["templating"]["list"]} <= {"query"}
    assert "cluster" not in known
    for panel in (panel for row in board["rows"] for panel in row["panels"]):
        assert panel["type"] in ("graph", "singlestat", "table")
        assert 1 <= panel["span"] <= 12
        for target in panel["targets"]:
            assert set(VARIABLE.findall(target["expr"])) <= known
            promql.parse(target["expr"])
        if panel["type"] == "table":
            shown = [style for style in panel["styles"] if style["type"] != "hidden"]
            assert shown
            refs = {f"Value #{target['refId']}" for target in panel["targets"]} | {"Value"}
            assert {style["pattern"] for style in shown if style["type"] == "number"} <= refs


@all_of(PANELS, lambda name: name.partition(":")[0])
def test_the_console_filters_by_namespace_only_what_always_has_one(board: Board, panel: Panel) -> None:
    """All is `.+` there, which an empty label does not match."""
    for query in panel.queries:
        expr = expression(panel, query)
        assert "$cluster" not in expr
        assert "$namespace" not in expr or panel.by_namespace


def test_the_console_has_every_board_but_that_of_several_clusters() -> None:
    assert {path.split("/")[-1] for path in CONSOLE} == {f"{each}.json" for each in BOARDS if each != "clusters"}


@pytest.mark.parametrize("path", PERSES)
def test_a_board_of_perses_lays_out_each_of_its_panels_once(path: str) -> None:
    config = read_yaml(FILES[path])["spec"]["config"]
    shown = [item["content"]["$ref"] for layout in config["layouts"] for item in layout["spec"]["items"]]
    assert sorted(shown) == sorted(f"#/spec/panels/{key}" for key in config["panels"])
    kinds = {panel["spec"]["plugin"]["kind"] for panel in config["panels"].values()}
    assert kinds <= {"StatChart", "TimeSeriesChart", "BarChart", "Table"}


def test_every_query_is_in_every_format() -> None:
    """But the filters that the console can't have."""
    drawn = {board: set(_drawn_by_perses(board)) for board in BOARDS}
    for board, _, query in queries():
        assert json.dumps(query.expr, ensure_ascii=False) in FILES[f"dashboards/grafana/{board.id}.json"]
        assert query.expr in drawn[board.id]


def _drawn_by_perses(board: str) -> Iterator[str]:
    config = read_yaml(FILES[f"dashboards/perses/{board}.yaml"])["spec"]["config"]
    for panel in config["panels"].values():
        yield from (asked["spec"]["plugin"]["spec"]["query"] for asked in panel["spec"]["queries"])


def test_the_files_of_dashboards_are_those_that_are_generated() -> None:
    there = {
        str(path.relative_to(REPO)) for path in (REPO / "dashboards").glob("*/*") if path.suffix in (".json", ".yaml")
    }
    assert there == set(FILES)
