"""`steward rules render` of routes: what a site sets is in them, and they fit what its Prometheus does to labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main
from tests.case_files import read_yaml


def rendered(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["rules", "render", *options]) == 0
    document: dict[str, Any] = read_yaml(capsys.readouterr().out)
    return document


def tenants(spec: dict[str, Any]) -> tuple[list[str], list[dict[str, str]]]:
    """What the route of tenants groups by, and its matchers."""
    (route,) = (each for each in spec["route"]["routes"] if each["receiver"] == "tenants")
    return route["groupBy"], route["matchers"]


def test_the_namespace_of_the_steward_is_no_tenant(capsys: pytest.CaptureFixture[str]) -> None:
    config = rendered(capsys, "--format", "alertmanagerconfig", "--set", "namespace=virt-ops")
    grouped, matchers = tenants(config["spec"])
    assert config["metadata"]["namespace"] == "virt-ops"
    assert grouped == ["cluster", "namespace"]
    assert {"name": "namespace", "matchType": "!~", "value": "virt-ops|"} in matchers


def test_where_prometheus_enforces_its_namespace_tenants_have_another_label(capsys: pytest.CaptureFixture[str]) -> None:
    grouped, matchers = tenants(rendered(capsys, "--format", "openshift-user-alertmanagerconfig")["spec"])
    assert grouped == ["cluster", "exported_namespace"]
    assert {"name": "exported_namespace", "matchType": "!=", "value": ""} in matchers


def test_an_example_for_alertmanager_is_one_file(tmp_path: Path) -> None:
    assert main(["rules", "render", "--format", "alertmanager", "--output", str(tmp_path)]) == 0
    (file,) = tmp_path.iterdir()
    assert read_yaml(file.read_text(encoding="utf-8")).keys() == {"route", "inhibit_rules", "receivers"}


def test_every_alert_groups_by_cluster_and_no_inhibition_reaches_another(capsys: pytest.CaptureFixture[str]) -> None:
    spec = rendered(capsys, "--format", "alertmanagerconfig")["spec"]
    assert all("cluster" in route["groupBy"] for route in (spec["route"], *spec["route"]["routes"]))
    assert spec["inhibitRules"]
    assert all("cluster" in rule["equal"] for rule in spec["inhibitRules"])


def test_what_is_no_value_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "render", "--format", "alertmanagerconfig", "--set", "receiver=x"]) == 2
    assert "there is no such value" in capsys.readouterr().err
