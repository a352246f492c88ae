"""The routes and inhibitions as Alertmanager, and as Prometheus Operator, want them, and the texts of notifications."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from .routing import LabelMatcher, Route, inhibitions, routes
from .values import Values

# The label that tells clusters apart, where a site has another name for it than `cluster`.
#
# All rules, routes and boards are written with `cluster`; this renames the label in what is made of them. In PromQL the
# word is that label, but in the names of recorded series, where a colon follows. In a text only what is between braces
# is code.

USUAL = "cluster"
_WORD = re.compile(r"(?<![\w$:])cluster(?![\w:])")
_FIELD = re.compile(r"(?<=\$labels\.)cluster\b|(?<=\$externalLabels\.)cluster\b|(?<=\.Labels\.)cluster\b")


def in_promql(expr: str, label: str) -> str:
    return expr if label == USUAL else _WORD.sub(label, expr)


def in_text(text: str, label: str) -> str:
    """Of a summary or description, with its templates."""
    if label == USUAL:
        return text
    first, *actions = text.split("{{")
    parts = [first]
    for each in actions:
        code, end, prose = each.partition("}}")
        parts.append(f"{_WORD.sub(label, _FIELD.sub(label, code))}{end}{prose}")
    return "{{".join(parts)


def in_labels(labels: Iterable[str], label: str) -> list[str]:
    return [label if each == USUAL else each for each in labels]


_SECRET = "kubevirt-steward-receivers"  # noqa: S105 - the name of one


# Of an alert its object, or else what it is about; of several alerts the first, with the number of all.
_TEMPLATES = """\
{{ define "steward.object" -}}
{{ $of := .Labels -}}
{{ if $of.name }}{{ with $of.kind }} {{ . }}{{ end }} <namespace>{{ . }}/{{ end }}{{ $of.name }}
{{- else }}{{ range $label := stringSlice "reason" "kind" "node" "network" "feature" "check" "family" "objective" \
"remediation" "pod" }}{{ with index $of $label }} {{ . }}{{ end }}{{ end }}<namespace> in {{ . }}{{ end }}
{{- end }}
{{- end }}

{{ define "steward.title" -}}
{{ $sent := .Alerts.Firing -}}
{{ if not $sent }}{{ $sent = .Alerts }}{{ end -}}
{{ $first := index $sent 0 -}}
[{{ .Status | toUpper }}:{{ len $sent }}] {{ $first.Labels.alertname }}
{{- if and (eq (len $sent) 1) (eq $first.Labels.per "cause") }}: {{ $first.Annotations.summary }}
{{- else }}{{ template "steward.object" $first }}{{ if gt (len $sent) 1 }}, …{{ end }}
{{- with .CommonLabels.cluster }} (cluster {{ . }}){{ end }}
{{- end }}
{{- end }}

{{ define "steward.text" -}}
{{ range $i, $alert := .Alerts }}{{ if lt $i 10 -}}
{{ if eq .Status "resolved" }}Resolved: {{ end }}{{ .Annotations.summary }}

{{ .Annotations.description }}

{{ .Annotations.runbook_url }}
{{ with .Annotations.page_url }}{{ . }}
{{ end }}
{{ else if eq $i 10 }}…
{{ end }}{{ end }}
{{- end }}
"""


def templates(values: Values) -> str:
    """What notifications say: `steward.title` and `steward.text`, for the `templates` of Alertmanager."""
    # The alerts of what has no namespace have the steward's.
    there = f'{{{{ with or $of.exported_namespace $of.namespace }}}}{{{{ if ne . "{values.namespace}" }}}}'
    text = re.sub(r"<namespace>(.*?){{ end }}", rf"{there}\1{{{{ end }}}}{{{{ end }}}}", _TEMPLATES)
    return text.replace(".cluster }}", f".{values.cluster} }}}}")


def receivers(values: Values) -> tuple[str, ...]:
    """Their names, sorted."""
    return tuple(sorted({route.receiver for route in _all(routes(values))}))


def _all(route: Route) -> Iterator[Route]:
    yield route
    for child in route.routes:
        yield from _all(child)


def alertmanager(values: Values) -> dict[str, Any]:
    """A whole configuration. What is not the steward's goes to the receiver of its route too."""
    steward = routes(values)
    return {
        "route": {
            "receiver": steward.receiver,
            "group_by": [values.cluster, "alertname"],
            "routes": [_route(steward, values)],
        },
        "inhibit_rules": [
            {
                "source_matchers": [str(each) for each in rule.source],
                "target_matchers": [str(each) for each in rule.target],
                "equal": in_labels(rule.equal, values.cluster),
            }
            for rule in inhibitions(values)
        ],
        "receivers": [
            {"name": name, "webhook_configs": [{"url_file": f"/etc/alertmanager/receivers/{name}"}]}
            for name in receivers(values)
        ],
    }


def _route(route: Route, values: Values) -> dict[str, Any]:
    return {
        "receiver": route.receiver,
        "matchers": [str(each) for each in route.matchers],
        "group_by": in_labels(route.group_by, values.cluster),
        "group_wait": route.wait,
        "group_interval": route.interval,
        "repeat_interval": route.repeat,
        **({"continue": True} if route.goes_on else {}),
        **({"routes": [_route(child, values) for child in route.routes]} if route.routes else {}),
    }


def alertmanager_config(values: Values) -> dict[str, Any]:
    """An AlertmanagerConfig in the namespace of the steward."""
    return {
        "apiVersion": "monitoring.coreos.com/v1alpha1",
        "kind": "AlertmanagerConfig",
        "metadata": {
            "name": "kubevirt-steward",
            "namespace": values.namespace,
            "labels": {"app.kubernetes.io/name": "kubevirt-steward", "app.kubernetes.io/component": "rules"},
        },
        "spec": {
            "route": _operator_route(routes(values), values),
            "inhibitRules": [
                {
                    "sourceMatch": [_operator_matcher(each) for each in rule.source],
                    "targetMatch": [_operator_matcher(each) for each in rule.target],
                    "equal": in_labels(rule.equal, values.cluster),
                }
                for rule in inhibitions(values)
            ],
            "receivers": [
                {"name": name, "webhookConfigs": [{"urlSecret": {"name": _SECRET, "key": name}}]}
                for name in receivers(values)
            ],
        },
    }


def _operator_route(route: Route, values: Values) -> dict[str, Any]:
    return {
        "receiver": route.receiver,
        "matchers": [_operator_matcher(each) for each in route.matchers],
        "groupBy": in_labels(route.group_by, values.cluster),
        "groupWait": route.wait,
        "groupInterval": route.interval,
        "repeatInterval": route.repeat,
        **({"continue": True} if route.goes_on else {}),
        **({"routes": [_operator_route(child, values) for child in route.routes]} if route.routes else {}),
    }


def _operator_matcher(matcher: LabelMatcher) -> dict[str, str]:
    return {"name": matcher.label, "value": matcher.value, "matchType": matcher.how}
