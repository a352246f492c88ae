"""What a site may set of the rules: `steward rules render --set KEY=VALUE`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..runbook import links

_SEVERITIES = ("critical", "warning", "info")
_OBJECTIVE = r"9[4-9](\.[0-9]{1,2})?"  # below, the fastest burn that is looked for could not be
_BUCKET = r"0\.5|1|2\.5|5|10|30|60"  # bounds of the histogram
_DURATION = r"[1-9][0-9]{0,4}[smhdw]"


@dataclass(frozen=True)
class Values:
    """`clusters` and `presence` are by what clusters without a steward are found; both are empty where nobody says.
    `page_url` is where the steward's page is, with `{cluster}` for the name of the alert's cluster; empty where alerts
    have no link to it. `exported` says that `namespace` of a finding's series is `exported_namespace`: where Prometheus
    enforces its own `namespace`. With `kubevirt` the steward's alerts inhibit those of KubeVirt that they explain.
    Percentages are of a subnet's addresses.
    """

    job: str = ".*steward.*"
    runbook_url: str = field(default_factory=links)
    page_url: str = ""
    namespace: str = "kubevirt-steward"
    hold: str = "1d"
    forget: str = "30d"
    objects: int = 5
    clusters: str = ""
    presence: str = ""
    pool_warning: int = 80
    pool_full: int = 100
    certificate_days: int = 7
    slo_freshness: str = "99"
    slo_delay: float = 5
    slo_coverage: str = "99"
    slo_scrape: str = "99.5"
    cluster: str = "cluster"
    severities: dict[str, str] = field(default_factory=dict)
    exported: bool = False
    kubevirt: bool = False

    @property
    def namespace_label(self) -> str:
        return "exported_namespace" if self.exported else "namespace"

    def severity(self, alert: str, usual: str) -> str:
        return self.severities.get(alert, usual)

    def with_set(self, settings: Iterable[str], alerts: Iterable[str]) -> Values:
        """With each KEY=VALUE taken in; `alerts` are the names that there are. Raises ValueError, one sentence."""
        values, known = self, set(alerts)
        for setting in settings:
            key, given, value = setting.partition("=")
            if not given:
                raise ValueError(f"--set {setting} has no value; write it as KEY=VALUE")
            values = values._with(key, value, known)
        return values

    def _with(self, key: str, value: str, alerts: set[str]) -> Values:
        if key.startswith("severity."):
            name = key.removeprefix("severity.")
            if name not in alerts:
                raise ValueError(f"--set {key}: there is no alert {name}")
            if value not in _SEVERITIES:
                raise ValueError(f"--set {key}={value}: a severity is one of {', '.join(_SEVERITIES)}")
            return replace(self, severities={**self.severities, name: value})
        if key not in KEYS:
            raise ValueError(f"--set {key}: there is no such value; known are {', '.join(KEYS)} and severity.ALERT")
        field_name, form, hint = KEYS[key]
        if not re.fullmatch(form, value):
            raise ValueError(f"--set {key}={value}: it has to be {hint}")
        kind = type(getattr(self, field_name))
        found: dict[str, Any] = {field_name: _MADE[kind](value)}
        return replace(self, **found)


_MADE: dict[type, Callable[[str], Any]] = {
    int: int,
    float: float,
    bool: lambda text: text == "true",
    str: lambda text: text.rstrip("/"),
}

KEYS: dict[str, tuple[str, str, str]] = {
    "job": ("job", r'[^"\\\n]+', "a regular expression that the label job of the steward's targets matches"),
    "runbookUrl": ("runbook_url", r"https?://\S+", "the URL under which NAME.md is the runbook of alert NAME"),
    "pageUrl": (
        "page_url",
        r"https?://\S+",
        "the URL of the steward's page, {cluster} in it for the cluster of an alert",
    ),
    "namespace": ("namespace", r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", "the namespace that the steward runs in"),
    "hold": ("hold", _DURATION, "how long a finding is held while nothing answers, such as 1d"),
    "forget": ("forget", _DURATION, "how long a cluster whose steward is gone is remembered, such as 30d"),
    "objects": ("objects", r"[0-9]{1,4}", "a number: of so many findings of a cause each has its own alert"),
    "clusters": (
        "clusters",
        r"[^\s,{}\"\\\\]+(,[^\s,{}\"\\\\]+)*",
        "the values of the label cluster of all clusters that have a steward, with commas",
    ),
    "presence": (
        "presence",
        r"[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^{}]*\})?",
        "a series that each cluster that should have a steward has, such as kube_node_info",
    ),
    "pool.warning": ("pool_warning", r"[1-9][0-9]?|100", "a percentage from 1 to 100"),
    "pool.full": ("pool_full", r"[1-9][0-9]?|100", "a percentage from 1 to 100"),
    "certificate.days": ("certificate_days", r"[1-9][0-9]?", "a number of days from 1 to 99"),
    "kubevirt": ("kubevirt", "true|false", "whether KubeVirt's alerts that the steward explains are inhibited"),
    "cluster": ("cluster", r"[a-zA-Z_][a-zA-Z0-9_]*", "the name of the label that tells clusters apart"),
    "slo.freshness": (
        "slo_freshness",
        _OBJECTIVE,
        "the percentage of events that reach the findings in time, 94 to 99.99",
    ),
    "slo.delay": ("slo_delay", _BUCKET, "within how many seconds that is: 0.5, 1, 2.5, 5, 10, 30 or 60"),
    "slo.coverage": ("slo_coverage", _OBJECTIVE, "the percentage of checks that have an answer, 94 to 99.99"),
    "slo.scrape": ("slo_scrape", _OBJECTIVE, "the percentage of time that a replica is scraped and ready, 94 to 99.99"),
}
