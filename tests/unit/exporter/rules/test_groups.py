"""Groups of rules in all that is rendered, generated and deployed: what a ruler service takes, each by its own name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.generator.rule_values import with_placeholders
from exporter.rules import Values, rule_files
from exporter.rules.formats import document, groups_of
from exporter.rules.mixin import files as mixin_files
from tests.amounts import drawn, part
from tests.case_files import read_yaml
from tests.manifests import Loader
from tests.shared import REPO

MOST = 20  # rules of a group: the default limit of Mimir and Cortex, and of services that are made of them
VARIANTS = {
    "usual": Values(),
    "listed": Values(clusters="east,west,north", page_url="https://{cluster}.example"),
    "presence": Values(presence="kube_node_info", cluster="k8s_cluster"),
    "exported": Values(exported=True, objects=0, hold="1h"),
}
RULE_FORMATS = ("prometheus", "prometheusrule", "openshift-user", "mimir")
DEPLOYED = sorted(
    path
    for folder in ("rules", "deploy")
    for path in (REPO / folder).rglob("*")
    if path.suffix in (".yaml", ".json") and re.search(r"groups\"?:", path.read_text("utf-8"))
)
# Those with a file for each area, of which a cluster gets them all.
WHOLE = [REPO / each for each in ("rules",)]


def groups(tree: Any) -> Iterator[dict[str, Any]]:
    """Every group of rules in a document, also in the texts of a ConfigMap."""
    if isinstance(tree, str) and tree.lstrip().startswith(("#", "groups:")) and "\ngroups:" in f"\n{tree}":
        yield from groups(read_yaml(tree))
    elif isinstance(tree, list):
        for each in tree:
            yield from groups(each)
    elif isinstance(tree, dict):
        found = tree.get("groups")
        if isinstance(found, list) and all(isinstance(each, dict) and "rules" in each for each in found):
            yield from found
            return
        for each in tree.values():
            yield from groups(each)


def fit(found: list[dict[str, Any]]) -> None:
    """All rules of the pack are there, no group has more than it may, and none replaces another one."""
    sizes = {group["name"]: len(group["rules"]) for group in found}
    assert sum(len(group["rules"]) for group in found) > 200, "or nothing was looked at"
    assert {name: size for name, size in sizes.items() if not 0 < size <= MOST} == {}
    assert [name for name, times in Counter(group["name"] for group in found).items() if times > 1] == []


@drawn
@pytest.mark.parametrize(("format_name", "variant"), part(list(product(RULE_FORMATS, VARIANTS)), len(VARIANTS) + 1))
def test_no_group_of_what_is_rendered_is_too_large(format_name: str, variant: str) -> None:
    values = VARIANTS[variant]
    made = document(format_name, rule_files(values), values)
    fit(list(groups(list(yaml.load_all(made, Loader=Loader)))))


def test_no_group_of_the_mixin_is_too_large() -> None:
    made = mixin_files({})
    fit([each for name in ("rules.json", "alerts.json") for each in groups(read_yaml(made[name]))])


@pytest.mark.parametrize("exported", [False, True])
def test_no_group_of_the_chart_is_too_large(exported: bool) -> None:
    fit(list(groups(read_yaml(with_placeholders("prometheusrule", "", exported=exported)))))


def test_no_group_that_is_deployed_is_too_large() -> None:
    packs: dict[Path, list[dict[str, Any]]] = {}
    for path in DEPLOYED:
        with path.open(encoding="utf-8") as file:
            found = list(groups(list(yaml.load_all(file, Loader=Loader))))
        packs.setdefault(path.parent if path.parent in WHOLE else path, []).extend(found)
    packs = {path: found for path, found in packs.items() if found}
    assert {path.relative_to(REPO).as_posix() for path in packs} == {
        "rules",
        "deploy/components/prometheus-operator/rules.yaml",
        "deploy/components/openshift-user/rules.yaml",
        "deploy/components/vanilla-prometheus/rules.yaml",
        "deploy/helm/kubevirt-steward/files/rules/prometheusrule.json",
        "deploy/helm/kubevirt-steward/files/rules/openshift-user.json",
    }
    for found in packs.values():
        fit(found)


def test_a_cluster_more_or_a_value_changes_no_group_s_name() -> None:
    """What somebody has named by its group, in a silence of a ruler or in a replacement, stays there."""
    usual = [group["name"] for file in rule_files(Values()) for group in groups_of(file, Values())]
    for values in VARIANTS.values():
        plain = replace(values, exported=False)
        assert [group["name"] for file in rule_files(plain) for group in groups_of(file, plain)] == usual
