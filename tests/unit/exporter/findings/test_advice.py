"""What to do about a finding: its next step, its commands and its runbook, which say the same."""

from __future__ import annotations

import re
from functools import cache

import pytest

from exporter.checks import all_checks
from exporter.domain.acts import acts_of
from exporter.findings.advice import filled, values_of
from exporter.findings.check import Check
from exporter.findings.finding import Finding, to_change
from exporter.findings.severity import Severity
from tests.alerting_reasons import alerting
from tests.all_of import all_of, whole
from tests.check_cases import ALL, outcome
from tests.rules import RULES, blocks, plain

REASONS = [pytest.param(check, name, id=f"{check.id}-{name}") for check in all_checks() for name in check.reasons]


@cache
def commands_of(alert: str) -> tuple[str, ...]:
    return tuple(plain(block.text) for block in blocks(RULES / "runbooks" / f"{alert}.md", "sh"))


@all_of(REASONS, whole)
def test_a_reason_has_the_alert_that_fires_for_it(check: Check, name: str) -> None:
    reason = check.reasons[name]
    firing = {alert.name for severity in reason.severities for alert in alerting(check, name, severity)}

    assert firing == ({reason.alert} if reason.alert else set())
    assert bool(reason.alert) is any(severity is not Severity.INFO for severity in reason.severities)


@all_of(REASONS, whole)
def test_the_commands_of_a_reason_stand_in_its_runbook(check: Check, name: str) -> None:
    reason = check.reasons[name]
    if not reason.alert:
        return  # it only informs
    texts = commands_of(reason.alert)

    assert [
        each for each in reason.commands if not _opens(each) and not any(plain(each) in text for text in texts)
    ] == []


@all_of(REASONS, whole)
def test_no_head_of_a_column_is_a_name_that_is_filled_in(check: Check, name: str) -> None:
    filled_in = re.compile(r"[=,](NAME|NAMESPACE|VMNAME|NODE|NETWORK|FEATURE|UID|ADDRESS|REVISION|OBJECT|ROLE|KIND):")
    assert [each for each in check.reasons[name].commands if filled_in.search(each.replace("'", ""))] == []


def _opens(command: str) -> bool:
    """A runbook changes a saved object, tests that by a dry run and replaces it; a finding opens it."""
    return command.startswith("kubectl edit ")


@all_of(ALL, whole)
def test_a_finding_says_what_to_do_next(check: Check, name: str) -> None:
    for finding in outcome(check, name).findings:
        reason, values = check.reasons[finding.reason], values_of(finding)
        written = list(commands_of(reason.alert)) if reason.alert else []
        # kubectl ignores -n where RESOURCE is cluster-wide: a runbook gives it, a finding where there is a namespace.
        written += [text.replace("get RESOURCE -n NAMESPACE", "get RESOURCE") for text in written]
        # Of several that share a value one is to be changed, and each finding has the commands about that one.
        others = [values | {"NAMESPACE": each.namespace, "NAME": each.name} for each in finding.related]
        texts = [filled(text, each) for text in written for each in (values, *others)]

        assert finding.next[:1].isupper()
        assert finding.next.endswith(".")
        assert finding.next not in finding.message
        assert "next" not in finding.evidence
        at = f"/rules/runbooks/{reason.alert}.md#{finding.reason.lower()}"
        assert finding.runbook.endswith(at if reason.alert else "")
        assert finding.commands or not reason.alert, "who is alerted gets a command"
        own = [each for each in finding.commands if not _opens(each)]
        assert not reason.alert or [each for each in own if not any(plain(each) in text for text in texts)] == []
        text = "\n".join((finding.next, *finding.commands))
        unfilled = set(re.findall(r"\b(?:NAMESPACE|NAME|VMNAME|UID|NODE|KIND|RESOURCE)\b", text))
        assert unfilled <= ({"VMNAME"} if not finding.vm else set())  # nobody may know whose claim it is
        assert finding.evidence.get("uuid", "no UUID at all") not in text


@all_of(ALL, whole)
def test_each_of_several_with_one_value_says_what_to_do_with_the_one_that_is_to_be_changed(
    check: Check, name: str
) -> None:
    found = [each for each in outcome(check, name).findings if each.evidence.get("keeper") and each.next]
    for finding in found:
        group = [each for each in found if each.group == finding.group]
        assert len({each.evidence["keeper"] for each in group}) == 1, "they agree"
        changed = [each for each in group if to_change(each)]
        if finding.reason == "DuplicateEnding" or not changed:
            continue
        about = finding if to_change(finding) else next(each for each in changed if place_of(each) in finding.next)
        keeper = re.escape(str(finding.evidence["keeper"]))
        assert place_of(about) in re.split(rf"{keeper}(?![\w-])", finding.next)[0]
        assert all(f" {about.subject.name} " in f"{each} " for each in finding.commands[:1] if " -n " in each)
        if about is not finding:
            assert not finding.does
            assert not [each for each in finding.commands if list(acts_of(each))], "its own object stays as it is"


def place_of(finding: Finding) -> str:
    return f"{finding.subject.namespace}/{finding.vm}"
