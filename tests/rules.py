"""What rules/ holds, read for tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import yaml

from tests.case_files import read_yaml

__all__ = [
    "FILES",
    "RULES",
    "TESTS",
    "Block",
    "Rule",
    "Selector",
    "Step",
    "alternatives",
    "blocks",
    "pages",
    "plain",
    "recorded_first",
    "rules_of",
    "selectors",
    "steps",
]

RULES = Path(__file__).parents[1] / "rules"
FILES = sorted(RULES.glob("*.yaml"))
TESTS = sorted((RULES / "tests").glob("*.yaml"))
PAGES = sorted((Path(__file__).parent / "pages").glob("*.yaml"))

_BLOCK = re.compile(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMES = re.compile(r"\w+(\|\w+)*")


@dataclass(frozen=True)
class Rule:
    """An alerting or a recording rule; what the one has and the other has not is empty."""

    stem: str
    name: str
    alerts: bool
    expr: str
    waits: str = ""
    keeps_firing: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Selector:
    """One `metric{label="value"}` of an expression."""

    metric: str
    matchers: tuple[promql_parser.Matcher, ...]

    def names(self, label: str, value: str) -> bool:
        return any(m.name == label and value in alternatives(m) for m in self.matchers)

    def takes(self, label: str, value: str) -> bool:
        """Whether a series with this value of the label, of which nothing else is known, is selected."""
        return all(_takes(matcher, value) for matcher in self.matchers if matcher.name == label)


class Block(NamedTuple):
    """A code block of a runbook. `untried` says why no test can run it: ```sh not-in-tests: why."""

    text: str
    untried: str


class Step(NamedTuple):
    """A sh block of a runbook, and the section it stands in; `prints` is the text block right behind it, if one is."""

    section: str
    text: str
    untried: str
    prints: str


def alternatives(matcher: promql_parser.Matcher) -> list[str]:
    """The values that a matcher asks for by name: `="a"`, or `=~"a|b"`."""
    if matcher.op == promql_parser.MatchOp.Equal:
        return [matcher.value]
    named = matcher.op == promql_parser.MatchOp.Re and _NAMES.fullmatch(matcher.value)
    return matcher.value.split("|") if named else []


def _takes(matcher: promql_parser.Matcher, value: str) -> bool:
    op = promql_parser.MatchOp
    if matcher.op in (op.Equal, op.NotEqual):
        return (matcher.value == value) is (matcher.op == op.Equal)
    return bool(re.fullmatch(matcher.value, value)) is (matcher.op == op.Re)


@cache
def selectors(expr: str) -> tuple[Selector, ...]:
    """All selectors of an expression. Raises ValueError where it is no PromQL."""
    found: list[Selector] = []

    def visit(part: promql_parser.Expr) -> None:
        if isinstance(part, promql_parser.VectorSelector):
            found.append(Selector(part.name or "", tuple(part.matchers.matchers)))

    promql_parser.walk(promql_parser.parse(expr), visit)
    return tuple(found)


@cache
def rules_of(file: Path) -> tuple[Rule, ...]:
    content: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)  # a tenth of the time
    return tuple(
        Rule(
            file.stem,
            rule.get("alert") or rule["record"],
            "alert" in rule,
            rule["expr"],
            rule.get("for", ""),
            rule.get("keep_firing_for", ""),
            rule.get("labels", {}),
            rule.get("annotations", {}),
        )
        for group in content["groups"]
        for rule in group["rules"]
    )


def recorded_first(stems: Iterable[str]) -> list[str]:
    """The groups of some files of rules, what records before what alerts: else promtool takes them in any order."""
    files = (yaml.load((RULES / f"{stem}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader) for stem in stems)
    names = [group["name"] for content in files for group in content["groups"]]
    return sorted(names, key=lambda name: "-alerts" in name)


def blocks(runbook: Path, language: str) -> list[Block]:
    """The code blocks of a runbook in one language."""
    found = _BLOCK.findall(runbook.read_text(encoding="utf-8"))
    return [Block(text, note.removeprefix("not-in-tests: ")) for kind, note, text in found if kind == language]


def steps(runbook: Path) -> list[Step]:
    """The sh blocks of a runbook, in order."""
    found = []
    for part in re.split(r"^## ", runbook.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        section, _, text = part.partition("\n")
        matches = list(_BLOCK.finditer(text))
        for block, behind in zip_longest(matches, matches[1:]):
            if block[1] == "sh":
                prints = behind[3] if behind is not None and behind[1] == "text" else ""
                found.append(Step(section, block[3], (block[2] or "").removeprefix("not-in-tests: "), prints))
    return found


def plain(text: str) -> str:
    """A command without what a shell takes away: quotes, backslashes, continued lines. Variables are words in capitals,
    as in the commands of a reason; that of an object's uid is UID there, which bash keeps for itself.
    """
    text = re.sub(r"\\\n\s*", "", text)
    text = re.sub(r"\$\{?([A-Z][A-Z0-9_]*)\}?", r"\1", text)
    text = re.sub(r"\b[A-Z]+_UID\b", "UID", text)
    return re.sub(r"[\"'\\]", "", text)


def pages() -> set[tuple[str, str]]:
    """Alert and reason of each finding that pages where it is critical, by tests/pages, a file for each area.

    A decision, and so it is written down a second time: traffic or a control plane is lost there, and nowhere else.
    """
    areas = (read_yaml(file.read_text(encoding="utf-8")) for file in PAGES)
    return {(alert, reason) for area in areas for alert, reasons in area.items() for reason in reasons}
