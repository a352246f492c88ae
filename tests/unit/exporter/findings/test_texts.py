"""What findings say, in all cases of all checks: sentences about a noun, in words of KubeVirt and Kubernetes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from docs.generator.pages import FILE
from exporter.checks import all_checks
from exporter.facts.rule import FIELDS
from exporter.facts.rules import BY_ID
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.findings.pages import NEXT_CHARACTERS
from exporter.findings.severity import Severity
from exporter.store.kind import ApiKind
from tests.all_of import all_of, named, whole
from tests.check_cases import CHECKS, findings_of
from tests.shared import REPO

READ = [kind for check in CHECKS for kind in check.reads]
CLUSTER_WIDE = {kind.resource for kind in READ if isinstance(kind, ApiKind) and not kind.namespaced}
PRONOUNS = ("it", "its", "they", "their", "this", "that", "these", "those", "he", "which", "who", "whose")

PAGES: dict[str, dict[str, dict[str, Any]]] = json.loads((REPO / FILE).read_text(encoding="utf-8"))["reasons"]
SEVERITIES = re.compile(rf"\b({'|'.join(each.value for each in Severity)})\b", re.IGNORECASE)
MOST_WORDS = 30  # of a sentence
ACTS = re.compile(  # with which a next step begins, and conditions before it
    r"(Add|After|Agree|Annotate|Apply|Approve|Ask|Before|Bring|Cancel|Change|Check|Choose|"
    r"Compare|Confirm|Cordon|Correct|Create|Deactivate|Decide|Delete|Detach|Disable|Do|Drain|Edit|"
    r"Enable|End|Find|First|Fix|Follow|Force|Free|Get|Give|Grant|Have|If|In|Increase|"
    r"Inform|Install|Keep|Label|Leave|Let|Look|Make|Migrate|Move|No|On|Once|Plan|Point|"
    r"Prepare|Raise|Read|Recreate|Reduce|Register|Relax|Release|Remove|Rename|Repair|Replace|"
    r"Replan|Request|Resolve|Restart|Restore|Run|See|Set|Shut|Start|Stop|To|Trigger|Uncordon|"
    r"Unpause|Unset|Update|Upgrade|Use|Verify|Wait|When|Where|While|With|Write)\b"
)


def sentences_of(text: str) -> list[str]:
    return [each for each in re.split(r"(?<=[.?!])\s+", text) if each]


@all_of(named(sorted(PAGES), str), whole)
def test_a_page_says_each_thing_in_its_own_field(check: str) -> None:
    wrong = set()
    for reason, section in PAGES[check].items():
        texts = {name: section.get(name, "") for name in ("title", "severity_when", "meaning", "impact")}
        advice = section.get("next", {})
        wrong |= {f"{reason} has no {name}" for name in ("title", "impact") if not texts[name]}
        wrong |= {
            f"{reason}: {name} speaks of a severity" for name in ("title", "meaning") if SEVERITIES.search(texts[name])
        }
        if (len(section["severity"]) > 1) is not bool(texts["severity_when"]):
            wrong.add(f"{reason}: severity_when is for what has several severities, and they need it")
        wrong |= {f"{reason}: {name} has a semicolon" for name, text in texts.items() if ";" in text}
        wrong |= {f"{reason}: next has a semicolon: {text}" for text in advice.values() if ";" in text}
        wrong |= {
            f"{reason}: next begins with no act: {text}"
            for text in advice.values()
            if not ACTS.match(text) and text[0] != "{"
        }
        wrong |= {
            f"{reason}: a sentence of more than {MOST_WORDS} words: {each}"
            for text in (*texts.values(), *advice.values())
            for each in sentences_of(text)
            if len(each.split()) > MOST_WORDS
        }
    assert not wrong


def pattern_of(text: str, *, words: bool) -> re.Pattern[str]:
    """What a text of a page looks like with its fields filled in; `words` are those in capitals."""
    parts = re.split(r"\{\w+\}|\b[A-Z][A-Z0-9]+\b" if words else r"\{\w+\}", text)
    return re.compile(".*?".join(map(re.escape, parts)), re.DOTALL)


@all_of(named(CHECKS, lambda check: check.id), whole)
def test_each_text_of_a_page_is_said_in_a_case(check: Check) -> None:
    said = {reason: [each for each in found(check) if each.reason == reason] for reason in check.reasons}
    dead = set()
    for reason, section in PAGES.get(check.id, {}).items():
        for field in ("message", "next"):
            for variant, text in section.get(field, {}).items():
                if (field, variant) == ("next", "") or text.startswith("{"):
                    continue  # what the alert and `steward explain` say, and what is a field as a whole
                pattern = pattern_of(text, words=field == "next")
                if not any(pattern.search(getattr(each, field)) for each in said[reason]):
                    dead.add(f"{reason}: {field} {variant or 'default'} is said in no case: {text}")
    assert not dead


@cache
def found(check: Check) -> tuple[Finding, ...]:
    """One for each text of a reason."""
    return tuple({(each.reason, each.message, each.next, each.commands): each for each in findings_of(check)}.values())


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


@all_of(named(CHECKS, lambda check: check.id), whole)
def test_a_next_step_is_short(check: Check) -> None:
    """As it is said in each case, with its fields and words in capitals filled in."""
    said = {(each.reason, each.next) for each in found(check)}
    assert {reason: next_ for reason, next_ in said if len(next_) > NEXT_CHARACTERS} == {}


@all_of(named(CHECKS, lambda check: check.id), whole)
def test_what_a_next_step_says_to_run_is_among_the_commands(check: Check) -> None:
    wrong = {
        f"{finding.reason}: {finding.next} {finding.commands}"
        for finding in found(check)
        for program in re.findall(r"`((?:kubectl|steward|virtctl) \w+)", finding.next)
        if not any(each == program or each.startswith(f"{program} ") for each in finding.commands)
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
