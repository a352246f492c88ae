"""The chart against the kustomizations: the same objects, one by one; and what its values refuse."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.case_files import read_yaml
from tests.cluster.conftest import Tools
from tests.cluster.deployed import CHART, NAMESPACE, VARIANTS, charted, kustomized
from tests.manifests import Loader, Object
from tests.shared import REPO

HASHED = re.compile(r"^(steward-reconcile)-[0-9a-z]{10}$")
ONE_POD = {"enabled": True, "onePod": True}
DIGEST = "sha256:" + "0" * 64


def by_name(objects: list[Object]) -> dict[tuple[str, ...], Object]:
    """By kind, namespace and name; in an order of its own where order means nothing, and files parsed."""
    found: dict[tuple[str, ...], Object] = {}
    for each in objects:
        if each["kind"] == "Namespace":
            continue  # Helm's user makes it: a chart can't be installed into what it brings itself
        made = plain(each)
        metadata = made["metadata"]
        found[made["kind"], metadata.get("namespace", ""), metadata["name"]] = made
    return found


def plain(node: Any, name: str = "") -> Any:
    if isinstance(node, dict):
        return {key: plain(value, key) for key, value in node.items()}
    if isinstance(node, list):
        items = [plain(value) for value in node]
        named = all(isinstance(each, dict) and "name" in each for each in items)
        return sorted(items, key=lambda each: str(each["name"])) if named and name in ("env", "volumes") else items
    if isinstance(node, str) and name.endswith(".json"):
        return json.loads(node)
    if isinstance(node, str) and name.endswith(".yaml"):
        return yaml.load(node, Loader=Loader) or {}
    return HASHED.sub(r"\1-HASH", node) if isinstance(node, str) else node


@pytest.mark.parametrize("variant", VARIANTS)
def test_chart_and_kustomization_make_the_same_objects(variant: str, binary: Tools, tmp_path: Path) -> None:
    wanted = by_name(kustomized(binary("kubectl"), REPO / "deploy" / variant))
    made = by_name(charted(binary("helm"), VARIANTS[variant], tmp_path))
    assert made.keys() == wanted.keys()
    for key, each in wanted.items():
        if each.get("spec", {}).get("template", {}).get("spec", {}).get("initContainers") == []:
            del each["spec"]["template"]["spec"]["initContainers"]  # what kustomize leaves of a list
        assert made[key] == each, key


def test_another_namespace_is_that_of_everything(binary: Tools, tmp_path: Path) -> None:
    for values in VARIANTS.values():
        text = json.dumps(charted(binary("helm"), values, tmp_path, namespace="elsewhere"))
        left = set(re.findall(rf'[^" ]*{NAMESPACE}\.svc|"namespace": "{NAMESPACE}"|namespace: {NAMESPACE}', text))
        assert not left
        assert "elsewhere" in text


def test_image_sidecar_and_pods_are_as_the_values_say(binary: Tools, tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "image": {"repository": "registry.example/steward", "digest": DIGEST, "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "config": {"logFormat": "json"},
        "reconcile": {
            "enabled": True,
            "onePod": True,
            "config": {"mode": "approve"},
            "ledger": {"size": "2Gi", "storageClassName": "fast"},
        },
    }
    objects = charted(binary("helm"), values, tmp_path)
    (spec,) = (each["spec"]["template"]["spec"] for each in objects if each["kind"] == "Deployment")
    images = {(each["image"], each["imagePullPolicy"]) for each in (*spec["initContainers"], *spec["containers"])}
    assert images == {(f"registry.example/steward@{DIGEST}", "Always")}
    assert (spec["imagePullSecrets"], spec["nodeSelector"]) == (values["imagePullSecrets"], values["nodeSelector"])
    maps = {each["metadata"]["name"]: each["data"] for each in objects if each["kind"] == "ConfigMap"}
    assert read_yaml(maps["steward-exporter"]["config.yaml"]) == {"logFormat": "json"}
    (config,) = (read_yaml(data["reconcile.yaml"]) for data in maps.values() if "reconcile.yaml" in data)
    assert (config["mode"], config["source"]["url"]) == ("approve", "https://127.0.0.1:9877")
    (claim,) = (each["spec"] for each in objects if each["kind"] == "PersistentVolumeClaim")
    assert (claim["resources"]["requests"]["storage"], claim["storageClassName"]) == ("2Gi", "fast")


def test_each_pod_is_where_the_values_say_and_takes_the_sidecars_from_them(binary: Tools, tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "imagePullSecrets": [{"name": "registry"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "replicas": 2,
        "certificates": "certManager",
        "reconcile": {"enabled": True, "resources": {"limits": {"memory": "1Gi"}}},
    }
    objects = charted(binary("helm"), values, tmp_path)
    made = {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "Deployment"}
    assert {name: spec["replicas"] for name, spec in made.items()} == {"steward-exporter": 2, "steward-reconcile": 1}
    for spec in (each["template"]["spec"] for each in made.values()):
        assert (spec["imagePullSecrets"], spec["nodeSelector"]) == (values["imagePullSecrets"], values["nodeSelector"])
    (sidecar,) = made["steward-reconcile"]["template"]["spec"]["containers"]
    assert sidecar["resources"]["limits"] == {"memory": "1Gi"}


@pytest.mark.parametrize("form", [{"certificates": "certManager"}, {"openshift": True}, {}])
def test_another_configuration_of_the_sidecar_starts_its_pod_anew(
    form: Mapping[str, Any], binary: Tools, tmp_path: Path
) -> None:
    pod, volume = ("steward-reconcile", "config") if form else ("steward-exporter", "reconcile-config")

    def mounted(mode: str) -> str:
        settings = {"enabled": True, "onePod": not form, "config": {"mode": mode}}
        objects = charted(binary("helm"), {**form, "reconcile": settings}, tmp_path)
        made = {each["metadata"]["name"]: each for each in objects if each["kind"] == "Deployment"}
        volumes = {each["name"]: each for each in made[pod]["spec"]["template"]["spec"]["volumes"]}
        name: str = volumes[volume]["configMap"]["name"]
        assert name in {each["metadata"]["name"] for each in objects if each["kind"] == "ConfigMap"}
        return name

    assert mounted("plan") != mounted("approve")


def test_dashboards_link_to_the_page_that_the_values_name(binary: Tools, tmp_path: Path) -> None:
    page = "https://steward.{cluster}.example.org"
    objects = charted(binary("helm"), {"monitoring": {"dashboards": "grafana", "page": page}}, tmp_path)
    boards = [json.loads(text) for each in objects for name, text in each.get("data", {}).items() if "json" in name]
    assert boards
    for board in boards:
        (variable,) = (each for each in board["templating"]["list"] if each["name"] == "page")
        assert variable["query"] == variable["current"]["value"] == page


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"nope": 1}, "additional properties 'nope' not allowed"),
        ({"reconcile": {"mode": "auto"}}, "additional properties 'mode' not allowed"),
        ({"monitoring": {"kind": "thanos"}}, "value must be one of"),
        ({"image": {"digest": "latest"}}, "does not match pattern"),
        ({"monitoring": {"page": "steward.example.org"}}, "does not match pattern"),
        (
            {"reconcile": {"enabled": True}},
            "set certificates: certManager, or openshift: true; without cert-manager set",
        ),
        ({"replicas": 2, "reconcile": ONE_POD}, "replicas has to be 1 with reconcile.onePod"),
        ({"certificates": "certManager", "reconcile": ONE_POD}, "onePod is for clusters without cert-manager"),
        ({"openshift": True, "reconcile": ONE_POD}, "onePod is for clusters without cert-manager"),
        ({"openshift": True, "certificates": "certManager"}, "certManager has no effect with openshift: true"),
    ],
)
def test_values_that_mean_nothing_are_refused(
    values: Mapping[str, Any], said: str, binary: Tools, tmp_path: Path
) -> None:
    file = tmp_path / "values.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    command = [str(binary("helm")), "template", "steward", str(CHART), "--values", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stderr


def test_every_value_has_its_place_in_the_schema_and_the_other_way_round() -> None:
    values = read_yaml((CHART / "values.yaml").read_text(encoding="utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert set(described(schema, "")) - {"global"} == set(given(values, ""))


def described(schema: Mapping[str, Any], path: str) -> list[str]:
    if "properties" not in schema:
        return [path]
    assert schema["additionalProperties"] is False, path
    return [
        found for key, part in schema["properties"].items() for found in described(part, f"{path}.{key}".lstrip("."))
    ]


def given(values: Any, path: str) -> list[str]:
    if path.endswith(("config", "resources")) or not isinstance(values, dict) or not values:
        return [path]
    return [found for key, part in values.items() for found in given(part, f"{path}.{key}".lstrip("."))]
