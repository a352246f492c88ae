"""The kustomize component that sets what the rules say: values in a ConfigMap, and replacements that take them.

A replacement puts a value in place of what is between two delimiters. So the component first gives the expressions that
compute with a value a form in which it has a line of its own, which is the same for PromQL; line ends are the
delimiters. In the text of an annotation they are spaces without width.

The folder `page` in it is a component of its own, which adds the links to the steward's page: kustomize can't leave an
annotation out where nobody says where the page is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml

from exporter.rules import Values

from .rule_values import NUMBERS, PLACEHOLDER, TEXTS, objects

__all__ = ["files"]

_DEFAULTS = "deploy/components/rule-values/defaults/kustomization.yaml"
_NAME = "steward-rule-values"
_RUNBOOKS = "/runbooks/"  # what every runbook_url has before its last part
_PAGE = "https://localhost:9877"  # as the boards have it: that of `kubectl port-forward`
_KEYS = {
    "hold": "hold",
    "forget": "forget",
    "objects": "objects",
    "pool.warning": "poolWarning",
    "pool.full": "poolFull",
    "certificate.days": "certificateDays",
}
_LINE, _UNSEEN = "\n", "\u200b"
_LOCAL = {"config.kubernetes.io/local-config": "true"}  # no object of the cluster
_SCOPE = "openshift.io/prometheus-rule-evaluation-scope"
Target = dict[str, Any]
Found = tuple[str, str, dict[str, Any]]  # the name of an object, the path of a rule in it, the rule
Operation = tuple[str, Target]  # the name of an object, and what a patch does to it


@cache
def files(note: str) -> dict[str, str]:
    """The text of each file by its path, which all callers share."""
    plain = list(_found(objects("prometheusrule", exported=False)))
    literals = [f"{key}={value}" for key, value in {**_defaults(), **_severities(plain)}.items()]
    generator = {"name": _NAME, "literals": literals, "options": {"disableNameSuffixHash": True, "annotations": _LOCAL}}
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "configMapGenerator": [generator]}
    steward = {"kind": "PrometheusRule", "name": "kubevirt-steward-steward"}
    first = next(
        path for name, path, rule in plain if name == steward["name"] and "namespace" in rule.get("labels", {})
    )
    own = {"path": f"/{first.replace('.', '/')}/labels/namespace", "value": Values().namespace}
    users = {"path": f"/metadata/labels/{_SCOPE.replace('/', '~1')}", "value": "leaf-prometheus"}
    made = {
        _DEFAULTS: head,
        **_component("deploy/components/rule-values", plain, (steward, own)),
        **_component(
            "deploy/components/openshift-user/rule-values",
            list(_found(objects("openshift-user", exported=True))),
            (steward, users),
        ),
    }
    return {path: f"# {note}\n{_yaml(each)}" for path, each in made.items()}


def _component(folder: str, found: list[Found], only: tuple[Target, Target]) -> dict[str, Any]:
    """`only` is an object and what has to be in it: the rules of the other sort of Prometheus are refused."""
    target, there = only
    refusal = {"target": target, "patch": _yaml([{"op": "test", **there}])}
    head = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
    by_file = {"replacements": [{"path": "replacements.yaml"}]}
    return {
        f"{folder}/kustomization.yaml": {**head, "patches": [refusal, *_patches(_forms(found))], **by_file},
        f"{folder}/replacements.yaml": list(_replacements(found, _severities(found))),
        f"{folder}/page/kustomization.yaml": {**head, "patches": [refusal, *_patches(_links(found))], **by_file},
        f"{folder}/page/replacements.yaml": [_page_replacement(found)],
    }


class _Dumper(yaml.CSafeDumper):
    """Keeps the lines of expressions."""


def _text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _yaml(tree: Any) -> str:
    text: str = yaml.dump(tree, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    return text.removesuffix("...\n")  # with which libyaml ends a block that keeps its last line


def _found(every: list[Any]) -> Iterator[Found]:
    """Each rule, with the name of its object and its path there."""
    for each in every:
        for group_index, group in enumerate(each["spec"]["groups"]):
            for index, rule in enumerate(group["rules"]):
                yield each["metadata"]["name"], f"spec.groups.{group_index}.rules.{index}", rule


def _defaults() -> dict[str, str]:
    values = Values()
    found = {_KEYS[key]: str(getattr(values, field)) for key, field in (TEXTS | NUMBERS).items() if key in _KEYS}
    return {
        **found,
        "runbooks": values.runbook_url.rpartition("/")[0],
        "pageUrl": _PAGE,
        "namespace": values.namespace,
        "never": "vector(0) > 1",
    }


def _severities(found: list[Found]) -> dict[str, str]:
    """Of the alerts that have one; those with two have no key."""
    every: dict[str, set[str]] = {}
    for _, _, rule in found:
        if "alert" in rule:
            every.setdefault(rule["alert"], set()).add(rule["labels"]["severity"])
    return {alert: min(has) for alert, has in sorted(every.items()) if len(has) == 1}


def _apart(text: str, by: str) -> tuple[str, dict[str, list[int]]]:
    """A text with each value that can be set between two delimiters, and the numbers of these parts by key."""
    values, places = Values(), dict[str, list[int]]()
    made, end = "", 0
    for found in PLACEHOLDER.finditer(text):
        key, times, plus = found[1], found[2], found[3]
        value = str(getattr(values, (TEXTS | NUMBERS)[key]))
        made += text[end : found.start()]
        end = found.end()
        if key not in _KEYS:
            made += value
            continue
        made += by if times is None else f"({by}"
        places.setdefault(_KEYS[key], []).append(made.count(by))
        made += f"{value}{by}" if times is None else f"{value}{by}* {times} {plus})"
    return made + text[end:], places


def _texts(rule: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, list[int]]]]:
    """What of a rule has such values: where, by which delimiter, the text, and which parts of it they are."""
    text, places = _apart(rule["expr"], _LINE)
    if places:
        yield "expr", _LINE, text, places
    for key, annotation in rule.get("annotations", {}).items():
        text, places = _apart(annotation, _UNSEEN)
        if places:
            yield f"annotations.{key}", _UNSEEN, text, places


def _forms(found: list[Found]) -> Iterator[Operation]:
    for name, path, rule in found:
        for field, _, text, _ in _texts(rule):
            yield name, {"op": "replace", "path": f"/{path}.{field}".replace(".", "/"), "value": text}


def _links(found: list[Found]) -> Iterator[Operation]:
    for name, path, rule in found:
        if "alert" in rule:
            link = PLACEHOLDER.sub(_PAGE, rule["annotations"]["page_url"])
            yield name, {"op": "add", "path": f"/{path}.annotations.page_url".replace(".", "/"), "value": link}


def _patches(operations: Iterator[Operation]) -> Iterator[Target]:
    by_name: dict[str, list[Target]] = {}
    for name, operation in operations:
        by_name.setdefault(name, []).append(operation)
    for name, each in by_name.items():
        yield {"target": {"kind": "PrometheusRule", "name": name}, "patch": _yaml(each)}


def _page_replacement(found: list[Found]) -> Target:
    """A link begins with the page, up to the path of what it leads to."""
    targets = []
    for name, path, rule in found:
        if "alert" in rule:
            leads_to = PLACEHOLDER.sub("", rule["annotations"]["page_url"]).partition("?")[0]
            options = {"delimiter": leads_to, "index": 0}
            select = {"kind": "PrometheusRule", "name": name}
            targets.append({"select": select, "fieldPaths": [f"{path}.annotations.page_url"], "options": options})
    return {"source": {"kind": "ConfigMap", "name": _NAME, "fieldPath": "data.pageUrl"}, "targets": targets}


def _replacements(found: list[Found], severities: dict[str, str]) -> Iterator[Target]:
    targets: dict[str, list[Target]] = {}

    def add(key: str, name: str, field: str, **options: Any) -> None:
        target = {"select": {"kind": "PrometheusRule", "name": name}, "fieldPaths": [field]}
        targets.setdefault(key, []).append({**target, **({"options": options} if options else {})})

    for name, path, rule in found:
        for field, by, _, places in _texts(rule):
            for key, parts in places.items():
                for part in parts:
                    add(key, name, f"{path}.{field}", delimiter=by, index=part)
        if "alert" in rule:
            add("runbooks", name, f"{path}.annotations.runbook_url", delimiter=_RUNBOOKS, index=0)
            if "namespace" in rule["labels"]:
                add("namespace", name, f"{path}.labels.namespace")
            if rule["alert"] in severities:
                add(rule["alert"], name, f"{path}.labels.severity")
    for key, each in targets.items():
        yield {"source": {"kind": "ConfigMap", "name": _NAME, "fieldPath": f"data.{key}"}, "targets": each}
