"""What texts of alerts have in them that Prometheus fills in, in the language of its templates."""

from __future__ import annotations

from collections.abc import Collection

from ..runbook import anchor
from .values import Values

# Where the series have no such label, Prometheus gives it to what it sends.
CLUSTER = "or $labels.cluster $externalLabels.cluster"
IN_CLUSTER = f"{{{{ with {CLUSTER} }}}} (cluster {{{{ . }}}}){{{{ end }}}}"
OF_CLUSTER = f"{{{{ with {CLUSTER} }}}} of cluster {{{{ . }}}}{{{{ end }}}}"
_NAMED = 5  # objects that a text names


def section(reasons: Collection[str], *, says_reason: bool) -> str:
    """The heading of the runbook that is about the alert's reason; empty where its labels do not say which.

    Prometheus reads a template anew for each alert and evaluation: one reason needs none.
    """
    if len(reasons) == 1:
        return anchor(next(iter(reasons)))
    return "{{$labels.reason|toLower}}" if says_reason else ""


def first_objects(query: str, values: Values) -> str:
    """The first objects that a query finds, by name."""
    namespace = f"{{{{ with $each.Labels.{values.namespace_label} }}}}{{{{ . }}}}/{{{{ end }}}}"
    named = f"{{{{ if $i }}}}, {{{{ end }}}}{namespace}{{{{ $each.Labels.name }}}}"
    return (
        f'{{{{ range $i, $each := {query} | sortByLabel "name" }}}}'
        f"{{{{ if lt $i {_NAMED} }}}}{named}{{{{ else if eq $i {_NAMED} }}}}, …{{{{ end }}}}{{{{ end }}}}"
    )


def of_reason(says: dict[str, str], asks: str) -> str:
    """The sentence of the reason that the alert has; where `asks` queries for them, of each that there is now."""
    if len(says) < 2:
        return next(iter(says.values()), "")
    reason = "$each.Labels.reason" if asks else "$labels.reason"
    chain = "{{ else ".join(f'if eq {reason} "{name}" }}}}{text}' for name, text in says.items())
    sentence = "{{ " + chain + "{{ end }}"
    if not asks:
        return sentence
    return f"{{{{ range $i, $each := {asks} }}}}{{{{ if $i }}}} {{{{ end }}}}{sentence}{{{{ end }}}}"


def with_object(text: str, values: Values) -> str:
    """With namespace and name of the alert's object in the place of `{object}`."""
    namespace = f"$labels.{values.namespace_label}"
    named = f"{{{{ with {namespace} }}}}{{{{ . }}}}/{{{{ end }}}}{{{{ $labels.name }}}}"
    return text.replace("{object}", named).replace("$labels.namespace", namespace)
