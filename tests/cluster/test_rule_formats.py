"""What `steward rules render` prints, in the eyes of what reads it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from exporter.__main__ import main
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.custom_resources import install
from tests.cluster.test_rules import promtool
from tests.rules import FILES, rules_of
from tests.tools.crds import published

COUNT = sum(1 for file in FILES for _ in rules_of(file))


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["rules", "render", *options]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("format_name", ["prometheus", "mimir"])
def test_one_document_has_all_rules(
    format_name: str, binary: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (document,) = yaml.safe_load_all(printed(capsys, "--format", format_name))
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": document["groups"]}), encoding="utf-8")

    assert sum(len(group["rules"]) for group in document["groups"]) == COUNT
    assert document.get("namespace") == ("kubevirt-steward" if format_name == "mimir" else None)
    promtool(binary, "check", "rules", "--lint=all", "--lint-fatal", file)


@pytest.mark.parametrize("format_name", ["prometheusrule", "openshift-user"])
def test_the_api_server_takes_the_objects_of_the_operator(
    format_name: str,
    module_api_server: MakeApiServer,
    binary: Tools,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = module_api_server()
    admin = server.client()
    install(admin, published("prometheus-operator"))
    file = tmp_path / "rules.yaml"
    file.write_text(printed(capsys, "--format", format_name, "--set", "namespace=default"), encoding="utf-8")

    kubectl = (binary("kubectl"), "--kubeconfig", server.kubeconfig("admin"))
    apply = (*kubectl, "apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", file)
    done = subprocess.run(apply, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("serverside-applied") == len(FILES)


def test_where_prometheus_enforces_its_namespace_the_object_s_is_kept(
    binary: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on OpenShift: what is scraped has the namespace of the target, and so has every alert."""
    objects = yaml.safe_load_all(printed(capsys, "--format", "openshift-user"))
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [g for each in objects for g in each["spec"]["groups"]]}), "utf-8")
    steward = 'namespace="steward", job="s", instance="a"'
    about = 'check="evictions", reason="NotMigratable", severity="warning", kind="VirtualMachineInstance", name="db"'
    family = "kubevirt_vmi_eviction_blocked_since_timestamp_seconds"
    series = [
        (f"kubevirt_steward_ready{{{steward}}}", "1x30"),
        (f'kubevirt_steward_check_up{{check="evictions", {steward}}}', "1x30"),
        *((f'{family}{{{about}, exported_namespace="{each}", {steward}}}', "60x30") for each in ("shop", "lab")),
    ]
    alerts = 'ALERTS{alertname="VMEvictionNotMigratable", alertstate="firing"}'
    test = {
        "interval": "1m",
        "input_series": [{"series": each, "values": values} for each, values in series],
        "promql_expr_test": [
            {
                "expr": f"count by (exported_namespace, namespace) ({alerts})",
                "eval_time": "20m",
                "exp_samples": [{"labels": f'{{exported_namespace="{each}"}}', "value": 1} for each in ("lab", "shop")],
            }
        ],
    }
    tried = tmp_path / "test.yaml"
    tried.write_text(json.dumps({"rule_files": [str(file)], "evaluation_interval": "1m", "tests": [test]}), "utf-8")

    promtool(binary, "test", "rules", tried)
