"""The tables of docs/alerting.md that follow from the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from .areas import rule_files
from .model import Alerting, RuleFile
from .routing import COMPONENT, STEWARD, LabelMatcher, inhibitions, routes
from .values import KEYS, Values


def alerting(values: Values) -> Iterator[str]:
    yield "### Alerts\n"
    yield "| Area | Alert | Severity | `for` |\n| --- | --- | --- | --- |"
    yield from _alerts(rule_files(values))
    yield "\n### Values\n"
    yield "| `--set` | Default | Value |\n| --- | --- | --- |"
    for key, (field, _, hint) in KEYS.items():
        usual = getattr(values, field)
        yield f"| `{key}` | `{'false' if usual is False else usual}` | {hint} |"
    yield "| `severity.ALERT` | that of the alert | critical, warning or info |"
    yield "\n### Routes\n"
    yield "| Alerts | Receiver | Grouped by | First sent after | Changes sent after | Repeated after |"
    yield "| --- | --- | --- | --- | --- | --- |"
    steward = routes(values)
    for route in (*steward.routes, steward):
        what = route.what if route is steward else f"{route.what}: {_code(route.matchers)}"
        grouped = _code(route.group_by)
        yield f"| {what} | `{route.receiver}` | {grouped} | {route.wait} | {route.interval} | {route.repeat} |"
    yield "\n### Inhibitions\n"
    yield f"Each source matches `{COMPONENT}` too, and each target: `{STEWARD}`, or `kubevirt` where it is KubeVirt's"
    yield "alert (`--set kubevirt=true`). A label of *where equal* is there, but for `cluster`.\n"
    yield "| While this fires | this is not sent | where equal | Why |\n| --- | --- | --- | --- |"
    for rule in inhibitions(replace(values, kubevirt=True)):
        yield f"| {_code(rule.causes)} | {_code(rule.follows)} | {_code(rule.equal)} | {rule.why} |"


def _alerts(pack: Iterable[RuleFile]) -> Iterator[str]:
    for file in pack:
        severities: dict[str, list[Alerting]] = {}
        for rule in file.rules:
            if isinstance(rule, Alerting):
                severities.setdefault(rule.alert, []).append(rule)
        for name, rules in severities.items():
            waits = ", ".join(dict.fromkeys(rule.wait for rule in rules))
            severity = ", ".join(dict.fromkeys(rule.severity for rule in rules))
            yield f"| {file.name} | [{name}](../rules/runbooks/{name}.md) | {severity} | {waits} |"


def _code(parts: Iterable[LabelMatcher | str]) -> str:
    return ", ".join(f"`{part}`".replace("|", "\\|") for part in parts)
