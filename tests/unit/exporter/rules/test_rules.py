"""The rule pack against the checks: nothing is missing, and nothing speaks of what does not exist.

Whether the rules do what they should is tried by tests/cluster/test_rules.py, which runs rules/tests.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from exporter.checks import all_checks
from exporter.cli.parsers import all_commands
from exporter.counts import all_states
from exporter.findings.check import PER_FLEET, Check, Family
from exporter.findings.severity import Severity
from exporter.metrics.telemetry import METRICS, PREFIX
from exporter.questions.urgency import paging
from exporter.rules import all_areas
from exporter.rules.alerts.hub import RECORDED as RECORDED_FOR_HUBS
from exporter.rules.routing import urgencies
from reconcile.carry_out.metrics import Measures, ShownRepairs
from reconcile.plan.remediations import all_remediations
from tests.alerting_reasons import ALERTS, EVERY_RULE, RECORDED, alerting, kept, read_by
from tests.all_of import all_of, named, whole
from tests.case_files import read_yaml
from tests.rules import FILES, RULES, TESTS, Rule, alternatives, blocks, plain, selectors, steps

ROOT = RULES.parent
NAMES = sorted({alert.name for alert in ALERTS})
RUNBOOKS = sorted((RULES / "runbooks").glob("*.md"))
HEADINGS = ["Meaning", "Impact", "Diagnosis", "Mitigation", "Remediation", "Verification"]
RUNBOOK_URL = "https://github.com/kubevirt-steward/kubevirt-steward/blob/main/rules/runbooks/"
SUFFIXES = {"gauge": ("",), "counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}
LONGEST_GAP = 5 * 60  # seconds without a scrape that what fires must outlast


def families(check: Check) -> set[Family]:
    return {reason.family for reason in check.reasons.values()}


def exported() -> Iterator[str]:
    """Every metric name that a scrape of the steward can hold, but for those of the process."""
    for family in chain.from_iterable(map(families, all_checks())):
        yield family.name
        if family.aged:
            yield f"{family.name}_since_timestamp_seconds"
    yield from (gauge.name for state in all_states() for gauge in state.gauges)
    for name, described in METRICS.items():
        yield from (PREFIX + name + suffix for suffix in SUFFIXES[described.type])
    for sidecar in Measures(all_remediations(), {}, ShownRepairs()).registry.collect():
        yield from (sidecar.name + suffix for suffix in SUFFIXES[sidecar.type])


KNOWN = {*exported(), "up", "ALERTS", "process_start_time_seconds"}  # the last ones are of every target


def id_of(rule: Rule) -> str:
    return f"{rule.name}-{rule.labels['severity']}" if rule.alerts else rule.name


def seconds(duration: str) -> int:
    found = re.fullmatch(r"(\d+)([smh])", duration)
    assert found, f"{duration!r} is no duration as we write them"
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


@cache
def tried() -> frozenset[str]:
    """The alerts that rules/tests ask for by name."""
    tests = (test for file in TESTS for test in read_yaml(file.read_text(encoding="utf-8"))["tests"])
    asked = json.dumps([(test.get("alert_rule_test"), test.get("promql_expr_test")) for test in tests])
    return frozenset(re.findall(r'alertname=?\W{2,4}([A-Z][A-Za-z]+)[\\"]', asked))


# -- every check has its files


@all_of(named((each for each in all_checks() if each.scope is not PER_FLEET), lambda check: check.id), whole)
def test_a_check_has_cases(check: Check) -> None:
    assert (ROOT / f"tests/checks/{check.id}.yaml").is_file()


def test_rules_are_those_of_the_areas() -> None:
    assert [file.stem for file in FILES] == [area.name for area in all_areas()]


@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_tests_are_of_rules_that_exist(file: Path) -> None:
    tried = read_yaml(file.read_text(encoding="utf-8"))["rule_files"]

    assert set(tried) <= {f"../{each.name}" for each in FILES}
    of = file.stem.removesuffix("_for_hours")
    assert of == "held" or f"../{of}.yaml" in tried


def test_the_steward_s_own_rules_read_the_families_of_the_check_sources() -> None:
    sources = next(check for check in all_checks() if check.id == "sources")
    read = set().union(
        *(read_by(one.metric) for rule in EVERY_RULE if rule.stem == "steward" for one in selectors(rule.expr))
    )

    assert {family.name for family in families(sources)} <= read


# -- every finding that matters is alerted on


REASONS = [
    pytest.param(check, reason, severity, id=f"{reason}-{severity.value}")
    for check in all_checks()
    for reason, declared in check.reasons.items()
    for severity in declared.severities
]


@all_of(REASONS, whole)
def test_a_finding_has_one_alert_and_one_that_only_informs_has_none(
    check: Check, reason: str, severity: Severity
) -> None:
    if severity is not Severity.INFO:
        name = check.reasons[reason].alert
        reported = [(alert.name, _of_cause(alert.expr)) for alert in alerting(check, reason, severity)]
        assert reported in ([(name, False)], [(name, False), (name, True)])
        return
    naming = [each for alert in ALERTS for each in selectors(alert.expr) if each.names("reason", reason)]
    assert not any(each.takes("finding_severity", "info") for each in naming)


def _of_cause(expr: str) -> bool:
    """Whether the alert is about what findings have in common, and not about one of them."""
    return ":together{" in expr


def test_every_critical_finding_pages_or_says_in_one_line_why_not() -> None:
    found = {(each.check, each.reason): each for each in paging()}
    critical = {
        (check.id, name)
        for check in all_checks()
        for name, reason in check.reasons.items()
        if check.scope is not PER_FLEET and Severity.CRITICAL in reason.severities and reason.alert
    }

    assert found.keys() == critical
    assert all(each.pages or re.fullmatch(r"[A-Z][^\n]{10,110}\.", each.why_not) for each in found.values())
    assert not _needlessly_said(), "says why it does not page, and has no critical finding that does not"


def _needlessly_said() -> set[str]:
    """The alerts and reasons that say why they do not page, though they have no critical findings, or page."""
    quiet = {(each.check, each.reason) for each in paging() if not each.pages}
    reasons = [(check.id, name, reason) for check in all_checks() for name, reason in check.reasons.items()]
    needed = {reason.alert for check, name, reason in reasons if (check, name) in quiet and not reason.not_paging}
    alerts = {alert.name for area in all_areas() for alert in area.findings if alert.not_paging}
    named = {
        name
        for check, name, each in reasons
        if each.not_paging and (check, name) not in quiet and Severity.CRITICAL in each.severities
    }
    return (alerts - needed) | named


def _said(alert: Rule, reason: str) -> str:
    """Summary and description, as they are filled in for a reason where the alert says it."""
    text = f"{alert.annotations['summary']} {alert.annotations['description']}"
    branches: list[tuple[str, str]] = re.findall(
        r'(?:if|else if) eq [^}]*reason "(\w+)" }}(.*?)(?={{ else|{{ end)', text
    )
    said: dict[str, str] = dict(branches)
    return said.get(reason, text)


def test_an_alert_says_a_severity_in_words_of_its_own_where_it_has_some() -> None:
    """Those are `mild` of what pages; an alert that is no section of rules/alerts has a rule for each severity."""
    alike = {alert.name: not alert.mild for area in all_areas() for alert in area.findings}
    for check in all_checks():
        for name, reason in check.reasons.items():
            texts = [
                _said(alert, name)
                for severity in reason.severities
                if check.scope is not PER_FLEET and severity is not Severity.INFO
                for alert in alerting(check, name, severity)
                if not _of_cause(alert.expr)
            ]
            same = alike.get(reason.alert) or (reason.alert in alike and not reason.pages)
            assert len(set(texts)) == (len(texts[:1]) if same else len(texts)), name


# -- every rule is whole


@all_of(named(EVERY_RULE, id_of), whole)
def test_a_rule_reads_metrics_that_exist(rule: Rule) -> None:
    read = {each.metric for each in selectors(rule.expr)}

    assert read or rule.expr.startswith("vector(time())")
    assert read <= KNOWN | RECORDED.keys()


@all_of(named(EVERY_RULE, id_of), whole)
def test_a_rule_compares_reasons_that_exist(rule: Rule) -> None:
    for selector in selectors(rule.expr):
        for matcher in selector.matchers:
            if matcher.name == "reason":
                found = [
                    r
                    for check in all_checks()
                    for r, d in check.reasons.items()
                    if d.family.name in read_by(selector.metric)
                ]
                assert any(selector.takes("reason", reason) for reason in found), matcher.value
                assert set(alternatives(matcher)) <= set(found)


@all_of(named((rule for rule in EVERY_RULE if not rule.alerts), id_of), whole)
def test_a_recorded_series_is_named_after_level_metric_and_operation(rule: Rule) -> None:
    level, metric, operation = rule.name.split(":")

    assert level
    assert metric in set().union(*(read_by(each.metric) for each in selectors(rule.expr))) | {
        "kubevirt_steward_findings",
        "kubevirt_ipam_pool",
        "kubevirt_steward_objective",
        "kubevirt_steward_acknowledged",
    }
    assert operation
    asked = any(each.metric == rule.name for other in EVERY_RULE for each in selectors(other.expr))
    said = any(rule.name in alert.annotations["description"] for alert in ALERTS)
    assert asked or said or rule.name in RECORDED_FOR_HUBS, "nobody reads it"


@all_of(named(EVERY_RULE, id_of), whole)
def test_clusters_of_one_ruler_are_told_apart(rule: Rule) -> None:
    for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", rule.expr):
        assert "cluster" in labels.split(", ") or rule.stem == "fleet" or labels == "", labels
    assert not re.search(r"\bwithout \([^)]*\bcluster\b", rule.expr)


@all_of(named(ALERTS, id_of), whole)
def test_a_description_names_labels_that_the_alert_has(alert: Rule) -> None:
    named = set(re.findall(r"\$labels\.(\w+)", alert.annotations["summary"] + alert.annotations["description"]))
    outermost = re.search(r"\bby \(([^)]*)\)", alert.expr)

    assert outermost
    assert named <= {*kept(alert.expr), "uuid_prefix"}


@all_of(named(ALERTS, id_of), whole)
def test_an_alert_says_what_a_user_needs_and_waits(alert: Rule) -> None:
    labels = {"severity", "operator_health_impact", "kubernetes_operator_part_of", "kubernetes_operator_component"}
    assert set(alert.labels) - {"namespace", "per"} in (labels, labels | {"area"})
    assert alert.labels.get("per") == ("cause" if _of_cause(alert.expr) else None)
    assert alert.labels["severity"] in {severity.value for severity in Severity}
    assert alert.labels["operator_health_impact"] in {"none", "warning", "critical"}
    assert alert.labels["kubernetes_operator_part_of"] == "kubevirt"
    assert alert.labels["kubernetes_operator_component"] == "kubevirt-steward"
    assert alert.labels.get("area", alert.stem) == alert.stem
    assert ("namespace" in alert.labels) is not ("namespace" in kept(alert.expr))
    assert set(alert.annotations) == {"summary", "description", "runbook_url"}
    assert alert.annotations["runbook_url"].partition("#")[0] == f"{RUNBOOK_URL}{alert.name}.md"
    assert seconds(alert.waits) >= 60
    assert seconds(alert.keeps_firing) >= LONGEST_GAP


def test_alerts_are_told_apart_by_name_severity_and_whether_of_a_cause() -> None:
    reported = [(alert.name, alert.labels["severity"], _of_cause(alert.expr)) for alert in ALERTS]

    assert len(reported) == len(set(reported))
    assert all(re.fullmatch(r"(VM|KubeVirt|Steward)[A-Za-z]+", name) for name in NAMES)


# -- every alert is tried


@all_of(named(NAMES, str), whole)
def test_an_alert_that_is_no_finding_s_is_tried(name: str) -> None:
    """Those of findings are by test_rules_findings.py."""
    of_findings = {
        reason.alert for check in all_checks() if check.scope is not PER_FLEET for reason in check.reasons.values()
    }

    assert name in tried() | of_findings


def test_what_is_tried_exists() -> None:
    assert tried() - {"VirtualMachineInstance"} <= set(NAMES)


# -- every alert is explained


def test_each_alert_has_a_runbook_and_each_runbook_an_alert() -> None:
    texts = {runbook.stem for runbook in RUNBOOKS}
    named = {each.alert for check in all_checks() for each in check.reasons.values() if each.alert}
    missing = [
        *(f"rules/runbooks/{name}.md: the runbook of alert {name}" for name in sorted({*NAMES} - texts)),
        *(f"exporter/rules/alerts/….py: the alert of runbook {name}" for name in sorted(texts - {*NAMES})),
        *(f"rules/alerts/….yaml: an alert {name}, as its reason says" for name in sorted(named - {*NAMES})),
    ]
    assert missing == [], "write what is missing"
    assert [runbook.stem for runbook in RUNBOOKS] == NAMES


@all_of(named(RUNBOOKS, lambda runbook: runbook.stem), whole)
def test_a_runbook_has_its_headings_in_order_and_text_under_each(runbook: Path) -> None:
    lead, *sections = re.split(r"^## ", runbook.read_text(encoding="utf-8"), flags=re.MULTILINE)
    title, _, urgency = lead.partition("\n")
    headings = {section.partition("\n")[0]: section.partition("\n")[2].strip() for section in sections}

    assert title == f"# {runbook.stem}"
    assert "It can wait until the next working day." in urgency or "Act at once" in urgency
    assert list(headings) == [each for each in HEADINGS if each != "Remediation" or each in headings]
    assert all(headings.values())


@all_of(named(RUNBOOKS, lambda runbook: runbook.stem), whole)
def test_a_runbook_sets_variables_once_and_copies_nothing_by_hand(runbook: Path) -> None:
    first, *others = steps(runbook)

    assert first.section == "Diagnosis"
    assert re.search(r"^[A-Z]+='<", first.text), "the first block sets what the alert says"
    assert {step.section for step in others} >= {"Verification"}
    for step in (first, *others):
        commands = re.sub(r"'<[a-z -]+>'", "", step.text)
        assert not re.search(
            r"(?<![\w${/.-])(?:NAMESPACE|NAME|VMNAME|NODE|UID|RESOURCEVERSION|INDEX|ADDRESS)\b(?![=:])", commands
        )
        assert not re.search(r"\b(?:UID|EUID|PPID|GROUPS)=", commands), "bash keeps it for itself"
        assert "jq" not in re.findall(r"[\w-]+", commands)


@all_of(named(RUNBOOKS, lambda runbook: runbook.stem), whole)
def test_the_verification_says_what_its_commands_print_and_when_the_alert_ends(runbook: Path) -> None:
    asked = [step for step in steps(runbook) if step.section == "Verification"]
    text = runbook.read_text(encoding="utf-8").partition("## Verification")[2]

    assert all(step.prints or step.untried for step in asked)
    assert re.search(r"\balerts?\s+(?:ends?|resolves?)\b", text)


@all_of(named(RUNBOOKS, lambda runbook: runbook.stem), whole)
def test_a_runbook_asks_for_metrics_that_exist(runbook: Path) -> None:
    for query in blocks(runbook, "promql"):
        assert {each.metric for each in selectors(query.text)} <= KNOWN | RECORDED.keys()


@all_of(named(RUNBOOKS, lambda runbook: runbook.stem), whole)
def test_a_runbook_names_the_reasons_that_its_alert_fires_for(runbook: Path) -> None:
    text = runbook.read_text(encoding="utf-8")
    named = {
        reason
        for alert in ALERTS
        if alert.name == runbook.stem and alert.stem != "steward"
        for each in selectors(alert.expr)
        for matcher in each.matchers
        if matcher.name == "reason"
        for reason in alternatives(matcher)
    }

    assert all(f"`{reason}`" in text for reason in named)


@all_of(named(RUNBOOKS, lambda runbook: runbook.stem), whole)
def test_a_runbook_writes_only_what_was_read(runbook: Path) -> None:
    for block in (plain(text) for text, _ in blocks(runbook, "sh")):
        assert "--force" not in block
        assert "--type=merge" not in block
        if "kubectl patch" in block or "ipamclaims/NAME" in block:
            assert "UID" in block
            assert "RESOURCEVERSION" in block
        if "op: remove, path: /metadata/finalizers" in block:
            assert "op: test, path: /metadata/finalizers/INDEX, value: kubevirt.io/persistent-ipam" in block


@all_of(named(RUNBOOKS, lambda runbook: runbook.stem), whole)
def test_a_runbook_sends_nobody_to_an_alert_that_does_not_exist(runbook: Path) -> None:
    reasons = {str(reason) for check in all_checks() for reason in check.reasons}
    text = runbook.read_text(encoding="utf-8")
    sent = set(re.findall(r"\b(?:VM|KubeVirt|Steward)[A-Z]\w*[a-z]\w*", text)) - reasons - {"VMIs"}

    assert sent <= set(NAMES)


@all_of(named(RUNBOOKS, lambda runbook: runbook.stem), whole)
def test_commands_of_the_steward_in_a_runbook_exist(runbook: Path) -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    commands = parser.add_subparsers()
    for add in all_commands():
        add(commands)
    for block, _ in blocks(runbook, "sh"):
        for command in re.findall(r"(?:^|-- |\$\()steward ([^\n|]*)", block, re.MULTILINE):
            assert callable(parser.parse_args(shlex.split(command)).run), command


def test_a_runbook_for_owners_needs_no_permission_in_the_namespace_of_the_steward() -> None:
    owners = [name for name, urgency in urgencies().items() if "tenants" in urgency.receivers]
    texts = {name: (RULES / "runbooks" / f"{name}.md").read_text(encoding="utf-8") for name in owners}

    assert len(texts) > 30
    assert [name for name, text in texts.items() if "STEWARD" in text or "deploy/steward-exporter" in text] == []


@all_of(named(RUNBOOKS, lambda runbook: runbook.stem), whole)
def test_a_runbook_has_what_the_sidecar_can_do_about_its_alert(runbook: Path) -> None:
    reasons = [(check.id, str(name), reason.alert) for check in all_checks() for name, reason in check.reasons.items()]
    about = {(check, name) for check, name, alert in reasons if alert == runbook.stem}
    ids = {
        remediation.id
        for remediation in all_remediations()
        if any((check, name) in about for check, names in remediation.answers.items() for name in names)
    }
    section = runbook.read_text(encoding="utf-8").partition("## Remediation")[2]
    assert set(re.findall(r"\(\.\./\.\./docs/repairs\.md#(\w+)\)", section)) == ids
    assert bool(ids) is ("steward reconcile plan" in section)


@all_of(named(RUNBOOKS, lambda runbook: runbook.stem), whole)
def test_what_no_test_runs_says_why(runbook: Path) -> None:
    for found in re.findall(r"^```sh (.*)$", runbook.read_text(encoding="utf-8"), re.MULTILINE):
        assert re.fullmatch(r"not-in-tests: \w.+", found)
