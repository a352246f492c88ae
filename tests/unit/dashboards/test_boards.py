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
from dashboards.generator.links import page_link
from dashboards.generator.model import COLUMNS, Board, Column, Link, Panel, PanelKind, PanelQuery, placed
from dashboards.generator.panels import HELD, SEVERITIES
from exporter.questions.findings import Filter
from tests.all_of import each_of
from tests.case_files import read_yaml
from tests.rules import FILES as RULE_FILES
from tests.rules import RULES, rules_of, selectors
from tests.shared import REPO

BOARDS = {board.id: board for board in all_boards()}
PANELS = [
    pytest.param(board, panel, id=f"{board.id}: {panel.title}") for board in BOARDS.values() for panel in board.panels
]
FILES = generated()
GRAFANA, CONSOLE, PERSES = (
    sorted(path for path in FILES if re.fullmatch(rf"\w+/{folder}/(?!kustomization)\w+\.{ending}", path))
    for folder, ending in (("grafana", "json"), ("console", "json"), ("perses", "yaml"))
)
# What KubeVirt's own components, not the steward, serve.
KUBEVIRTS = {"kubevirt_vmi_info", "kubevirt_vmi_migration_succeeded", "kubevirt_vmi_migration_failed"}
PROCESSES = {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"}
TRUST = {"Completeness of the data", "State of the sidecar"}
VARIABLE = re.compile(r"\$\{?([a-z]\w*)")
Json = dict[str, Any]


@cache
def served() -> set[str]:
    """The families of the manuals, which are generated from the code."""
    named = "".join((REPO / f"docs/{page}.md").read_text(encoding="utf-8") for page in ("metrics", "repairs"))
    families = set(re.findall(r"^\| `(kubevirt_\w+)` \|", named, re.MULTILINE))
    histograms = set(re.findall(r"^\| `(kubevirt_\w+)` \| histogram", named, re.MULTILINE))
    return (families - histograms) | {f"{each}_bucket" for each in histograms} | KUBEVIRTS | PROCESSES | {"ALERTS"}


@cache
def recorded() -> set[str]:
    """What the rules of the alerts record."""
    return {rule.name for path in RULE_FILES for rule in rules_of(path) if not rule.alerts}


def queries() -> Iterator[tuple[Board, Panel, PanelQuery]]:
    for board in BOARDS.values():
        for panel in board.panels:
            yield from ((board, panel, query) for query in panel.queries)


def links(panel: Panel) -> Iterator[Link]:
    yield from panel.links
    yield from (link for column in panel.columns for link in column.links)


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


@each_of("board", BOARDS.values(), ids=list(BOARDS))
def test_a_board_begins_with_whether_it_can_be_trusted(board: Board) -> None:
    assert board.rows[0].title in TRUST
    assert board.audience
    assert board.shows.endswith(".")


@each_of("board", BOARDS.values(), ids=list(BOARDS))
def test_titles_of_panels_are_told_apart_within_a_row_and_fill_its_lines(board: Board) -> None:
    for row in board.rows:
        titles = [panel.title for panel in row.panels]
        assert len(titles) == len(set(titles))
        widths: dict[int, int] = {}
        for panel, _, y in placed(row)[0]:
            widths[y] = widths.get(y, 0) + panel.width
        assert set(widths.values()) == {COLUMNS}, (
            f"the widths of the panels of each line of row {row.title!r} add up to {COLUMNS}, and here to"
            f" {sorted(widths.values())}: change them in dashboards/generator/definitions"
        )


@each_of(("board", "panel"), PANELS)
def test_a_panel_says_what_it_shows_in_variables_that_there_are(board: Board, panel: Panel) -> None:
    assert panel.description.endswith(".")
    assert panel.unit.grafana
    assert panel.queries
    known = {variable.name for variable in board.variables}
    named = [query.expr for query in panel.queries] + [link.url for link in links(panel)]
    assert {name for text in named for name in VARIABLE.findall(text)} <= known
    assert (panel.kind is PanelKind.TABLE) == bool(panel.columns)
    assert all(column.value is None or column.value < len(panel.queries) for column in panel.columns)
    assert {each.removeprefix("-") for each in panel.sort} <= {column.title for column in panel.columns}


@each_of(("board", "panel"), PANELS)
def test_replicas_never_add_up_and_nothing_stands_in_for_what_is_not_scraped(board: Board, panel: Panel) -> None:
    for query in panel.queries:
        assert "vector(" not in query.expr
        assert "absent" not in query.expr
        for aggregation, selector in aggregations(promql.parse(query.expr)):
            one_of_each = aggregation == "topk" and "topk by (cluster, cause) (1, " in query.expr
            assert one_of_each or aggregation in ("max", "min", "count", "group"), (
                f"{aggregation or 'nothing'} of {selector}"
            )


@each_of(("board", "panel"), PANELS)
def test_a_query_names_only_series_that_there_are(board: Board, panel: Panel) -> None:
    for query in panel.queries:
        for selector in selectors(query.expr):
            by_pattern = any(matcher.name == "__name__" for matcher in selector.matchers)
            assert by_pattern or selector.metric in served() | recorded(), selector.metric


def colours_of(column: Column) -> dict[str, str]:
    """By the texts that are shown."""
    return {column.texts.get(value, value): colour for value, colour in column.colours.items()}


@each_of(("board", "panel"), PANELS)
def test_a_severity_has_its_colour_wherever_it_is_drawn(board: Board, panel: Panel) -> None:
    for query in panel.queries:
        asked = re.search(r'severity="(\w+)"', query.expr)
        if asked and query.colour:
            assert query.colour == (HELD if "held" in query.legend else SEVERITIES[asked[1]])
    for column in panel.columns:
        assert column.title != "severity" or colours_of(column) == SEVERITIES
    if (severity := panel.title.lower().removesuffix(" findings")) in SEVERITIES:
        assert [step.colour for step in panel.thresholds] == [SEVERITIES[severity]]


@each_of(("board", "panel"), PANELS)
def test_links_lead_to_the_page_to_a_runbook_or_to_a_board(board: Board, panel: Panel) -> None:
    for link in links(panel):
        if link.url.startswith("${runbooks}"):
            rest = link.url.removeprefix("${runbooks}")
            assert rest == "{runbook}.md" or (RULES / "runbooks" / rest).is_file(), rest
        elif not link.url.startswith("{page}/"):
            target, _, values = link.url.partition("?")
            other = next(each for each in BOARDS.values() if f"/d/{each.uid}" == target)
            given = re.findall(r"var-(\w+)=", values)
            assert given[0] == "cluster"  # a link stays in the cluster of its row
            assert set(given) <= {variable.name for variable in other.variables}


@each_of(("board", "panel"), PANELS)
def test_a_row_with_links_of_its_cluster_has_its_cluster(board: Board, panel: Panel) -> None:
    if any("{page}" in link.url or "{cluster}" in link.url for link in links(panel)):
        assert "cluster" in {column.label for column in panel.columns}


def test_every_board_leads_to_the_page_and_those_of_findings_to_the_board_vm() -> None:
    for board in BOARDS.values():
        found = [link.url for panel in board.panels for link in links(panel)]
        assert any(url.startswith("{page}/") for url in found), board.id
        if any({"reason", "vm"} <= {column.label for column in panel.columns} for panel in board.panels):
            assert "/d/kubevirt-steward-vm?var-cluster={cluster}&var-namespace={namespace}&var-name={vm}" in found


def test_a_link_to_the_page_asks_for_what_the_page_can_filter_by() -> None:
    for what in ("steward", "finding", "cause", "vm"):
        url = page_link(what).url
        assert url.startswith("{page}/")
        assert set(re.findall(r"[?&](\w+)=", url)) <= {*Filter.__struct_fields__, "cause"}


def test_a_table_of_findings_begins_with_the_worst_and_of_these_with_the_oldest() -> None:
    for board in BOARDS.values():
        for panel in board.panels:
            if {"rank", "name"} <= {column.label for column in panel.columns}:
                drawn = next(
                    each
                    for each in json.loads(FILES[f"dashboards/grafana/{board.id}.json"])["panels"]
                    if each["title"] == panel.title
                )
                assert drawn["options"]["sortBy"] == [
                    {"displayName": "severity", "desc": False},
                    {"displayName": "for", "desc": True},
                ]


def test_lines_of_one_query_are_told_apart() -> None:
    """Shades of one colour are not: only the palette has a colour for each."""
    several = 0
    for path in GRAFANA:
        for panel in json.loads(FILES[path])["panels"]:
            if panel["type"] == "timeseries":
                assert panel["fieldConfig"]["defaults"]["color"] == {"mode": "palette-classic"}
                several += "{{" in panel["targets"][0]["legendFormat"]
    assert several > 5


def test_tables_of_findings_lead_to_the_page_and_to_the_runbook() -> None:
    tables = [panel for _, panel, _ in queries() if {"rank", "name"} <= {column.label for column in panel.columns}]
    assert len(tables) >= 8
    for panel in tables:
        found = {link.url for link in links(panel)}
        assert page_link("finding").url in found
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


@each_of("path", GRAFANA)
def test_grafanas_own_model_reads_a_board_and_loses_no_leaf(path: str) -> None:
    register_default_plugins()
    given = json.loads(FILES[path])
    again = json.loads(json.dumps(Dashboard.from_json(given), cls=JSONEncoder))
    lost = dict(leaves(given)).items() - dict(leaves(again)).items()
    assert not lost


@each_of("path", GRAFANA)
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
        assert panel["fieldConfig"]["defaults"]["noValue"] not in ("", "No data")
        cells = {"matcher": {"id": "byRegexp", "options": "/.*/"}, "properties": [{"id": "noValue", "value": ""}]}
        assert (cells in panel["fieldConfig"]["overrides"]) == (panel["type"] == "table")  # or empty cells had it, too
        # a single value of the past would stand where nothing is seen now
        assert all(target["instant"] != (panel["type"] == "timeseries") for target in panel["targets"])


@each_of("path", CONSOLE)
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


@each_of(("board", "panel"), PANELS)
def test_the_console_filters_by_namespace_only_what_always_has_one(board: Board, panel: Panel) -> None:
    """All is `.+` there, which an empty label does not match."""
    for query in panel.queries:
        expr = expression(panel, query)
        assert "$cluster" not in expr
        assert "$namespace" not in expr or panel.by_namespace


def test_the_console_has_every_board_but_those_of_several_clusters() -> None:
    assert {path.split("/")[-1] for path in CONSOLE} == {
        f"{each}.json" for each in BOARDS if each not in ("clusters", "hub")
    }


@each_of("path", PERSES)
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
        assert json.dumps(query.expr, ensure_ascii=False)[1:-1] in FILES[f"dashboards/grafana/{board.id}.json"]
        assert query.expr in drawn[board.id]


def _drawn_by_perses(board: str) -> Iterator[str]:
    config = read_yaml(FILES[f"artifacts/perses/{board}.yaml"])["spec"]["config"]
    for panel in config["panels"].values():
        yield from (asked["spec"]["plugin"]["spec"]["query"] for asked in panel["spec"]["queries"])


def test_the_files_of_dashboards_are_those_that_are_generated() -> None:
    there = {
        str(path.relative_to(REPO)) for path in (REPO / "dashboards").glob("*/*") if path.suffix in (".json", ".yaml")
    }
    assert there == {path for path in FILES if path.startswith("dashboards/grafana")}
