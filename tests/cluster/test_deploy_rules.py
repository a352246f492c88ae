"""What a site sets of the rules through the chart and through kustomize is what `steward rules render` makes of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.rules import Alerting, Values, rule_files
from exporter.rules.formats import document, files
from exporter.rules.values import KEYS
from tests.case_files import read_yaml
from tests.cluster.conftest import Tools
from tests.cluster.deployed import CHART, NAMESPACE, charted, kustomized
from tests.manifests import Loader, Object
from tests.shared import REPO
from tests.tools.build import every

SETTINGS = (
    *("hold=3d", "forget=12w", "objects=9", "pool.warning=67", "pool.full=93", "certificate.days=13"),
    *("runbookUrl=https://steward.example/runbooks", "severity.VMSerialDuplicate=info"),
)
LINKED = "pageUrl=https://{cluster}.example"
CHART_VALUES: dict[str, Any] = {
    "job": "mine-.*",
    "hold": "3d",
    "forget": "12w",
    "objects": 9,
    "pool": {"warning": 67, "full": 93},
    "certificateDays": 13,
    "runbookUrl": "https://steward.example/runbooks/",
    "pageUrl": "https://{cluster}.example",
    "severities": {"VMSerialDuplicate": "info"},
}
LITERALS = (
    *("hold=3d", "forget=12w", "objects=9", "poolWarning=67", "poolFull=93", "certificateDays=13"),
    *("runbooks=https://steward.example", "VMSerialDuplicate=info"),
)
LINKED_LITERAL = "pageUrl=https://{{ or $labels.cluster $externalLabels.cluster }}.example"
# What changes which rules there are, or each of their expressions.
ONLY_RENDERED = {"clusters", "presence", "cluster", "kubevirt"} | {key for key in KEYS if key.startswith("slo.")}
FORMATS = {"prometheusrule": "prometheus-operator", "openshift-user": "openshift-user"}
COMPUTED = re.compile(r"\(\s*(\d+)\s*\*\s*([\d.]+)\s*([+-])\s*([\d.]+)\)")


def values(format_name: str, *settings: str) -> Values:
    alerts = [rule.alert for rule in rules_of(Values()) if isinstance(rule, Alerting)]
    return replace(Values().with_set(settings, alerts), exported=format_name == "openshift-user")


def rules_of(given: Values) -> Iterator[Any]:
    for file in rule_files(given):
        for group in file.groups:
            yield from group.rules


def rendered(format_name: str, *settings: str) -> dict[str, Object]:
    given = values(format_name, *settings)
    every_object = yaml.load_all(document(format_name, rule_files(given), given), Loader=Loader)
    return {each["metadata"]["name"]: each["spec"] for each in every_object}


def specs(objects: list[Object]) -> dict[str, Object]:
    return {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "PrometheusRule"}


def alerts_of(found: dict[str, Object]) -> list[Object]:
    return [rule for spec in found.values() for group in spec["groups"] for rule in group["rules"] if "alert" in rule]


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_chart_takes_every_value(format_name: str, binary: Tools, tmp_path: Path) -> None:
    users = format_name == "openshift-user"
    form = {"openshift": users, "monitoring": {"kind": "openshiftUser" if users else "prometheusOperator"}}
    made = specs(charted(binary("helm"), {**form, "rules": CHART_VALUES}, tmp_path))
    assert made == rendered(format_name, *SETTINGS, LINKED, "job=mine-.*")
    assert made != rendered(format_name)


def test_the_chart_takes_every_value_for_a_prometheus_without_its_operator(binary: Tools, tmp_path: Path) -> None:
    objects = charted(binary("helm"), {"monitoring": {"kind": "prometheus"}, "rules": CHART_VALUES}, tmp_path)
    (data,) = (each["data"] for each in objects if each["metadata"]["name"] == "kubevirt-steward-rules")
    given = values("prometheus", *SETTINGS, LINKED, "job=mine-.*")
    wanted = files("prometheus", rule_files(given), given)
    assert {name: read_yaml(text) for name, text in data.items()} == {
        name: read_yaml(text) for name, text in wanted.items()
    }


def test_the_chart_leaves_alerts_out_and_labels_and_annotates_the_others(binary: Tools, tmp_path: Path) -> None:
    more = {"labels": {"team": "platform", "severity": "x"}, "annotations": {"page_url": "https://steward.example/"}}
    given = {"disabled": ["VMIPAddressDuplicate"], **more}
    monitoring = {"kind": "prometheusOperator"}
    made = specs(charted(binary("helm"), {"monitoring": monitoring, "rules": given}, tmp_path))
    wanted = rendered("prometheusrule")
    for spec in wanted.values():
        for group in spec["groups"]:
            group["rules"] = [each for each in group["rules"] if each.get("alert") != "VMIPAddressDuplicate"]
    for alert in alerts_of(wanted):
        alert["labels"]["team"] = "platform"  # and what an alert has itself stays
        alert["annotations"]["page_url"] = "https://steward.example/"
    assert made == wanted


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"disabled": ["VMNope"]}, "there is no alert VMNope"),
        ({"severities": {"VMNope": "info"}}, "there is no alert VMNope"),
        ({"severities": {"VMSerialDuplicate": "none"}}, "value must be one of"),
        ({"hold": "1 day"}, "does not match pattern"),
        ({"pool": {"warning": 101}}, "maximum"),
        ({"job": 'a"b'}, "does not match pattern"),
        ({"nope": 1}, "additional properties 'nope' not allowed"),
    ],
)
def test_the_chart_refuses_what_is_no_value(given: Object, said: str, binary: Tools, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps({"monitoring": {"kind": "prometheusOperator"}, "rules": given}))
    command = [str(binary("helm")), "template", "steward", str(CHART), "--values", str(tmp_path / "v.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stderr


def folder(tmp_path: Path, parts: Object) -> Path:
    shutil.copytree(REPO / "deploy", tmp_path / "deploy", ignore=shutil.ignore_patterns("helm", "olm"))
    (tmp_path / "kustomization.yaml").write_text(json.dumps(parts), encoding="utf-8")
    return tmp_path


def parts_of(format_name: str, *literals: str) -> Object:
    """Alerts have links to the page only where a literal says where that is."""
    users = format_name == "openshift-user"
    given = "openshift-user/rule-values" if users else "rule-values"
    page = [f"{given}/page"] if any(each.startswith("pageUrl=") for each in literals) else []
    parts = (FORMATS[format_name], *(() if users else ("certificate",)), *page, given)
    used = [f"deploy/components/{each}" for each in parts]
    generator = {"name": "steward-rule-values", "behavior": "merge", "literals": list(literals)}
    return {
        "namespace": NAMESPACE,
        "resources": ["deploy/base", "deploy/components/rule-values/defaults"],
        "components": used,
        **({"configMapGenerator": [generator]} if literals else {}),
    }


def plain(found: dict[str, Object]) -> dict[str, Object]:
    """With expressions without white space and with what is computed in them computed; texts as they are seen."""

    def number(match: re.Match[str]) -> str:
        by = float(match[1]) * float(match[2]) + float(f"{match[3]}{match[4]}")
        return f"{round(by, 9):.9g}"

    for spec in found.values():
        for group in spec["groups"]:
            for rule in group["rules"]:
                for key, text in rule.get("annotations", {}).items():
                    rule["annotations"][key] = text.replace("\u200b", "")
                rule["expr"] = re.sub(r"\s+", "", COMPUTED.sub(number, rule["expr"]))
    return found


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize(
    ("literals", "settings"),
    [((), ()), (LITERALS, SETTINGS), ((*LITERALS, LINKED_LITERAL), (*SETTINGS, LINKED))],
    ids=["defaults", "others", "links"],
)
def test_a_component_takes_every_value(
    format_name: str, literals: tuple[str, ...], settings: tuple[str, ...], binary: Tools, tmp_path: Path
) -> None:
    objects = kustomized(binary("kubectl"), folder(tmp_path, parts_of(format_name, *literals)))
    assert "steward-rule-values" not in {each["metadata"]["name"] for each in objects}
    made = specs(objects)
    texts = "".join(rule["expr"] for spec in made.values() for group in spec["groups"] for rule in group["rules"])
    assert len(COMPUTED.findall(texts)) == 5  # or nothing was compared
    groups = [group for spec in made.values() for group in spec["groups"]]
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": groups}), encoding="utf-8")  # which is YAML too
    for promtool in every("promtool"):
        command = [str(promtool), "check", "rules", str(tmp_path / "rules.yaml")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert plain(made) == plain(rendered(format_name, *settings))


@pytest.mark.parametrize(
    ("rules", "given"),
    [
        ("prometheusrule", "openshift-user/rule-values"),
        ("openshift-user", "rule-values"),
        ("prometheusrule", "openshift-user/rule-values/page"),
        ("openshift-user", "rule-values/page"),
    ],
)
def test_the_component_of_another_prometheus_is_refused(rules: str, given: str, binary: Tools, tmp_path: Path) -> None:
    """It brings the expressions and the links: those of the other sort find nothing there."""
    parts = parts_of(rules)
    parts["components"][-1] = f"deploy/components/{given}"
    command = [str(binary("kubectl")), "kustomize", str(folder(tmp_path, parts))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "test" in done.stderr


def examples() -> list[Object]:
    """Those of the manual: values of the chart, and kustomizations."""
    text = (REPO / "docs/alerting.md").read_text(encoding="utf-8").split("\n## Values of the chart")[1]
    return [read_yaml(each) for each in re.findall(r"^```yaml\n(.*?)^```$", text.split("\n## ")[0], re.M | re.S)]


def test_the_example_of_the_manual_is_as_it_says(binary: Tools, tmp_path: Path) -> None:
    chart, kustomization, *_ = examples()
    made = [
        specs(charted(binary("helm"), {"monitoring": {"kind": "prometheusOperator"}, **chart}, tmp_path)),
        specs(kustomized(binary("kubectl"), folder(tmp_path, kustomization))),
    ]
    for found in made:
        alerts: dict[str, list[Object]] = {}
        for each in alerts_of(found):
            alerts.setdefault(each["alert"], []).append(each)
        assert {each["labels"]["severity"] for each in alerts["VMSerialDuplicate"]} == {"info"}
        assert {each["expr"] for each in alerts.get("VMIPAddressDuplicate", [])} <= {"vector(0) > 1"}
        for each in alerts_of(found):
            assert each["labels"]["team"] == "platform"
            runbook = each["annotations"]["runbook_url"].partition("#")[0]
            assert runbook == f"https://steward.example/runbooks/{each['alert']}.md"
            assert each["annotations"]["page_url"].startswith(
                "https://{{ or $labels.cluster $externalLabels.cluster }}.steward.example/"
            )
    assert plain(made[0])["kubevirt-steward-networks"]["groups"][0] != rendered("prometheusrule")


ALL = ("clusters=east,west", "presence=kube_node_info", "cluster=site", "slo.freshness=99.9", "pool.warning=67", LINKED)


def overlaid(tmp_path: Path, kustomization: Object) -> Path:
    shutil.copytree(REPO / "dashboards/grafana", tmp_path / "dashboards/grafana")
    return folder(tmp_path, kustomization)


def test_what_is_rendered_takes_the_place_of_the_rules_of_an_overlay(binary: Tools, tmp_path: Path) -> None:
    given = values("prometheusrule", *ALL)
    (tmp_path / "rules.yaml").write_text(document("prometheusrule", rule_files(given), given), encoding="utf-8")
    made = specs(kustomized(binary("kubectl"), overlaid(tmp_path, examples()[2])))
    assert made == rendered("prometheusrule", *ALL)


def test_what_is_rendered_takes_the_place_of_the_files_of_a_prometheus_without_its_operator(
    binary: Tools, tmp_path: Path
) -> None:
    given = values("prometheus", *ALL)
    wanted = files("prometheus", rule_files(given), given)
    (tmp_path / "rules").mkdir()
    for name, text in wanted.items():
        (tmp_path / "rules" / name).write_text(text, encoding="utf-8")
    made = kustomized(binary("kubectl"), overlaid(tmp_path, examples()[3]))
    (data,) = (each["data"] for each in made if each["metadata"]["name"] == "kubevirt-steward-rules")
    assert data == wanted


def test_every_value_of_the_rules_can_be_set_everywhere() -> None:
    in_chart = read_yaml((CHART / "values.yaml").read_text(encoding="utf-8"))["rules"]
    defaults = read_yaml(
        (REPO / "deploy/components/rule-values/defaults/kustomization.yaml").read_text(encoding="utf-8")
    )
    in_component = {each.partition("=")[0] for each in defaults["configMapGenerator"][0]["literals"]}
    assert len(KEYS) > 8
    for key in KEYS.keys() - ONLY_RENDERED - {"namespace"}:  # the release's, and `namespace:` of a kustomization
        first, _, rest = key.partition(".")
        camel = first + rest[:1].upper() + rest[1:]
        assert camel in in_chart or (rest and rest in in_chart[first]), key
        assert camel in in_component or key in ("job", "runbookUrl"), key
    assert {"runbooks", "namespace"} <= in_component
    usual = Values()
    assert in_chart["runbookUrl"] == usual.runbook_url
    assert (in_chart["hold"], in_chart["forget"], in_chart["objects"]) == (usual.hold, usual.forget, usual.objects)
