"""The label that tells clusters apart, where it has another name: in rules, texts, routes and boards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from dashboards.generator import all_boards
from dashboards.generator.cluster_label import with_cluster_label
from docs.generator.site_boards import main
from exporter.rules import Values, rule_files
from exporter.rules.formats import files

OTHER = "k8s_cluster"
VALUES = Values(cluster=OTHER, clusters="cluster,west", presence='kube_node_info{cluster=~".+"}')


def rules(values: Values) -> Iterator[dict[str, Any]]:
    for text in files("prometheus", rule_files(values), values).values():
        yield from (rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"])


def labels(expr: str) -> Iterator[str]:
    """The names of labels in an expression, whatever they are for."""
    yield from re.findall(r"(?<=[({,\s])(\w+)(?=\s*(?:=~|!~|!=|=))", expr)
    for listed in re.findall(r"\b(?:by|on|without|ignoring|group_left|group_right) \(([^)]*)\)", expr):
        yield from (each.strip() for each in listed.split(",") if each.strip())
    yield from re.findall(r'label_replace\([^"]*"(\w+)"', expr)


def test_no_expression_keeps_the_usual_name() -> None:
    found = list(rules(VALUES))
    assert len(found) > 200
    for rule in found:
        promql_parser.parse(rule["expr"])
        assert "cluster" not in set(labels(rule["expr"])), rule["expr"]
    renamed = [rule for rule in found if OTHER in rule["expr"]]
    assert len(renamed) > 0.7 * len(found)


def test_only_the_label_is_renamed() -> None:
    usual = list(rules(Values(clusters="east,west")))
    other = list(rules(Values(cluster=OTHER, clusters="east,west")))
    assert [re.sub(rf"\b{OTHER}\b", "cluster", rule["expr"]) for rule in other] == [rule["expr"] for rule in usual]
    assert [rule.get("record") for rule in other] == [rule.get("record") for rule in usual]


def test_texts_read_the_label_and_keep_the_word() -> None:
    texts = [text for rule in rules(VALUES) for text in rule.get("annotations", {}).values()]
    code = [action for text in texts for action in re.findall(r"\{\{.*?\}\}", text, re.DOTALL)]
    assert any(f"$labels.{OTHER}" in action for action in code)
    assert any(f"{OTHER}=%q" in action for action in code)
    assert not any(re.search(r"\bcluster\b(?!:)", action) for action in code)
    assert any("(cluster {{ . }})" in text for text in texts)


@pytest.mark.parametrize("routing", ["alertmanager", "alertmanagerconfig"])
def test_routes_group_and_inhibit_by_it(routing: str) -> None:
    (text,) = files(routing, (), VALUES).values()
    words = re.findall(r"\w+", text)
    assert words.count(OTHER) > 15
    assert "cluster" not in re.findall(r"- (\w+)$", text, re.MULTILINE)


def test_boards_ask_for_it_and_keep_their_variable() -> None:
    for board in all_boards():
        made = with_cluster_label(board, OTHER)
        for panel in made.panels:
            for query in panel.queries:
                assert "cluster" not in set(labels(query.expr)), query.expr
                assert "{{cluster}}" not in query.legend
            assert all(column.label != "cluster" for column in panel.columns)
        (chosen,) = (variable for variable in made.variables if variable.name == "cluster")
        assert chosen.label == OTHER
        assert any(f'{OTHER}=~"$cluster"' in query.expr for panel in made.panels for query in panel.queries)


def test_boards_of_a_site_are_written_where_it_wants_them(tmp_path: Path) -> None:
    main(["--set", f"cluster={OTHER}", "--output", str(tmp_path)])
    board = json.loads((tmp_path / "grafana/clusters.json").read_text(encoding="utf-8"))
    assert f"by ({OTHER})" in json.dumps(board)


def test_a_name_that_is_no_label_is_refused() -> None:
    with pytest.raises(ValueError, match="cluster=k8s-cluster"):
        Values().with_set(["cluster=k8s-cluster"], ())
