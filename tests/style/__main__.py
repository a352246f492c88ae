"""`make texts`: holds what users read to the style of CONTRIBUTING.md, by Vale and the rules in rules/Steward.

Each document and each runbook is a page; so are all of the help, the alerts as they are rendered, what reasons say, and
the other strings of the code. baseline.json has how many hits of each rule a page may have. A number only falls: more
than that is an error with the lines; fewer is written there by `make texts WRITE=1`. A new page begins at none.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docs.generator.pages import FILE
from exporter.checks import all_checks
from exporter.cli.options import subcommands
from exporter.cli.parsing import steward
from exporter.rules import Alerting, Values, rule_files
from tests.tools import tally
from tests.tools.build import tool

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BASELINE = HERE / "baseline.json"
_DOCUMENTS = ("README.md", "CHANGELOG.md", "docs/*.md", "rules/runbooks/*.md")
_BRANCH = re.compile(r"\{\{ (?:if|else|end|with|range)\b.*?\}\}")  # what follows it is a text of its own
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\{\w*\}")
_SENTENCE = re.compile(r"[a-z]{3} [a-z]")
_LEAST_WORDS = 4  # of a string of the code that is a text

Counts = dict[str, dict[str, int]]  # by page, then by rule


def pages() -> Iterator[tuple[str, str]]:
    """Each page by its name, a path that ends with .md, and its text."""
    for pattern in _DOCUMENTS:
        for path in sorted(ROOT.glob(pattern)):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    yield "of/help.md", _paragraphs(_help(steward()))
    yield "of/alerts.md", _paragraphs(_alerts())
    yield "of/reasons.md", _paragraphs(_reasons())
    yield "of/strings.md", _paragraphs(_strings())


def _paragraphs(texts: Iterator[str]) -> str:
    return "".join(f"{_PLACEHOLDER.sub('NAME', ' '.join(text.split()))}\n\n" for text in texts if text)


def _help(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield parser.description or ""
    yield parser.epilog or ""
    for action in parser._actions:
        named = action._get_subactions() if isinstance(action, argparse._SubParsersAction) else ()
        yield from (each.help or "" for each in (action, *named))
    for each in subcommands(parser).values():
        yield from _help(each)


def _alerts() -> Iterator[str]:
    for group in rule_files(Values()):
        for rule in group.rules:
            if isinstance(rule, Alerting):
                yield from (_BRANCH.sub(" ", each) for each in (rule.summary, rule.description))


def _reasons() -> Iterator[str]:
    yield from (check.title for check in all_checks())
    for sections in json.loads((ROOT / FILE).read_text(encoding="utf-8"))["reasons"].values():
        for section in sections.values():
            yield from (section.get(name, "") for name in ("title", "severity_when", "meaning", "impact"))
            yield from (text for name in ("message", "next") for text in section.get(name, {}).values())


def _strings() -> Iterator[str]:
    """Of all modules, docstrings and what stands on the pages above left out."""
    shown = {" ".join(text.split()) for texts in (_help(steward()), _reasons()) for text in texts}
    for path in sorted(path for package in ("exporter", "reconcile") for path in (ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        parts = {id(each) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for each in node.values}
        parts |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = _text_of(node) if id(node) not in parts else ""
            if len(text.split()) >= _LEAST_WORDS and _SENTENCE.search(text) and text not in shown:
                yield text


def _text_of(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        pieces = (each.value if isinstance(each, ast.Constant) else "NAME" for each in node.values)
        return " ".join("".join(map(str, pieces)).split())
    return " ".join(node.value.split()) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def hits(texts: Mapping[str, str]) -> dict[str, list[Any]]:
    """What Vale says of each page. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        command = (tool("vale"), "--config", HERE / "vale.ini", "--output=JSON", "--no-exit", ".")
        said = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE)
    found: dict[str, list[Any]] = json.loads(said.stdout)
    return {Path(name).as_posix(): each for name, each in found.items()}


def counted(found: Mapping[str, list[Any]]) -> Counts:
    """How many hits of each rule, by page; pages without any are left out."""
    rules = {name: Counter(each["Check"].removeprefix("Steward.") for each in rows) for name, rows in found.items()}
    return {name: dict(sorted(each.items())) for name, each in sorted(rules.items()) if each}


def worse(now: Counts, allowed: Counts) -> Iterator[tuple[str, str, int, int]]:
    """Page, rule, and how many hits there are and may be, where there are more."""
    for name, rules in now.items():
        for rule, count in rules.items():
            most = allowed.get(name, {}).get(rule, 0)
            if count > most:
                yield name, rule, count, most


def fallen(now: Counts, allowed: Counts) -> Counts:
    """The baseline after `now`: no number is larger than it was."""
    least = {
        name: {rule: min(count, now.get(name, {}).get(rule, 0)) for rule, count in rules.items()}
        for name, rules in allowed.items()
    }
    return {name: kept for name, rules in least.items() if (kept := {rule: n for rule, n in rules.items() if n})}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="Lower the numbers of the baseline to what there is")
    arguments = parser.parse_args()
    texts = dict(pages())
    found = hits(texts)
    now = counted(found)
    allowed: Counts = json.loads(BASELINE.read_text(encoding="utf-8"))
    over = list(worse(now, allowed))
    for name, rule, count, most in over:
        print(f"{name}: {count} hits of {rule}, at most {most}")
        for each in found[name]:
            if each["Check"] == f"Steward.{rule}":
                print(
                    f"  {each['Line']}: {each['Message']}  {texts[name].splitlines()[each['Line'] - 1].strip()[:120]}"
                )
    lower = fallen(now, allowed)
    if lower != allowed:
        if arguments.write:
            BASELINE.write_text(json.dumps(lower, indent=1) + "\n", encoding="utf-8")
        else:
            print("there are fewer hits than the baseline allows; `make texts WRITE=1` lowers it")
    if file := os.environ.get(tally.VARIABLE):
        failed = len({name for name, *_ in over})
        tally.add(Path(file), {"passed": len(texts) - failed} | ({"failed": failed} if failed else {}))
    total = sum(sum(rules.values()) for rules in now.values())
    print(f"{total} hits on {len(texts)} pages")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
