"""What findings say, in all cases of all checks: sentences about a noun, in words of KubeVirt and Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from exporter.checks import all_checks
from exporter.facts.rule import FIELDS
from exporter.facts.rules import BY_ID
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.store.kind import ApiKind
from tests.all_of import all_of, named, whole
from tests.check_cases import CHECKS, findings_of

READ = [kind for check in CHECKS for kind in check.reads]
CLUSTER_WIDE = {kind.resource for kind in READ if isinstance(kind, ApiKind) and not kind.namespaced}
PRONOUNS = ("it", "its", "they", "their", "this", "that", "these", "those", "he", "which", "who", "whose")


@cache
def found(check: Check) -> tuple[Finding, ...]:
    """One for each text."""
    return tuple({(each.message, each.next, each.commands): each for each in findings_of(check)}.values())


def sentences(check: Check) -> Iterator[tuple[str, str]]:
    for finding in found(check):
        yield finding.reason, finding.message
        yield finding.reason, finding.next


@all_of(named(CHECKS, lambda check: check.id), whole)
def test_begins_with_a_noun_and_ends_with_a_full_stop(check: Check) -> None:
    pronoun = re.compile(rf"({'|'.join(PRONOUNS)})\b", re.IGNORECASE)
    wrong = {
        f"{reason}: {text}"
        for reason, text in sentences(check)
        if pronoun.match(text) or not re.match(r'[A-Z0-9"]', text) or not text.endswith((".", "?", '.")', "…"))
    }
    assert not wrong


@all_of(named(all_checks(), lambda check: check.id), whole)
def test_the_meaning_of_a_reason_stands_alone(check: Check) -> None:
    """`steward explain` shows it by itself, and so do a tenant's findings in place of the message."""
    leans = re.compile(rf"(the same|{'|'.join(PRONOUNS)})\b", re.IGNORECASE)
    assert not {name: reason.meaning for name, reason in check.reasons.items() if leans.match(reason.meaning)}


@all_of(named(CHECKS, lambda check: check.id), whole)
def test_has_no_words_of_a_decoder(check: Check) -> None:
    said = ("Expected `", "got `", "at `$", "JSON is malformed", "codec can't", "Object missing", "No number of type")
    assert not {text for _, text in sentences(check) if any(each in text for each in said)}


@all_of(named(CHECKS, lambda check: check.id), whole)
def test_no_command_asks_for_a_cluster_wide_object_in_a_namespace(check: Check) -> None:
    commands = {command for finding in found(check) for command in finding.commands}
    named = re.compile(r"kubectl \S+ (\S+) -n ")
    assert not {each for each in commands for resource in named.findall(each) if resource in CLUSTER_WIDE}


def test_every_feature_names_its_field() -> None:
    assert set(BY_ID) == set(FIELDS)
    by_reason = {each.reason: each.message for each in found(next(c for c in CHECKS if c.id == "feature_mismatch"))}
    assert all(" (" in message for reason, message in by_reason.items() if reason != "InvalidVM")
