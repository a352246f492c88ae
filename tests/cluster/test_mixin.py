"""The mixin in the eyes of jsonnet: what it gives is what is rendered."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dashboards.generator import generated
from exporter.rules import Values, rule_files
from exporter.rules.formats import groups_of
from tests.artifacts import artifact
from tests.cluster.conftest import Tools
from tests.cluster.test_rules import promtool

SITE = Values(cluster="k8s_cluster", job="steward-prod", namespace="ops", runbook_url="https://x.example/r", hold="2h")
CONFIG = (
    "{ _config+:: { clusterLabel: 'k8s_cluster', job: 'steward-prod', namespace: 'ops',"
    " runbookUrl: 'https://x.example/r', hold: '2h' } }"
)


def evaluated(binary: Tools, expr: str) -> Any:
    command: list[str | Path] = [
        binary("jsonnet"),
        "-J",
        artifact("mixin"),
        "-e",
        f"local mixin = import 'mixin.libsonnet'; {expr}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("config", "values"), [("{}", Values()), (CONFIG, SITE)], ids=["usual", "of a site"])
def test_its_rules_are_those_that_are_rendered(config: str, values: Values, binary: Tools, tmp_path: Path) -> None:
    made = evaluated(binary, f"local m = mixin + {config}; [m.prometheusRules, m.prometheusAlerts]")
    groups = sorted((group for each in made for group in each["groups"]), key=lambda group: group["name"])
    rendered = (group for file in rule_files(values) for group in groups_of(file, values))
    assert groups == sorted(rendered, key=lambda group: group["name"])

    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"groups": groups}), encoding="utf-8")
    promtool(binary, "check", "rules", file)


def test_its_boards_are_those_of_grafana(binary: Tools) -> None:
    made = evaluated(binary, f"(mixin + {CONFIG}).grafanaDashboards")
    rendered = {
        path.rpartition("/")[2]: json.loads(text)
        for path, text in generated("k8s_cluster").items()
        if path.startswith("dashboards/grafana/") and path.endswith(".json")
    }
    assert made == rendered
