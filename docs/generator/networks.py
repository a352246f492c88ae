"""The tables of docs/networks.md: what the networks' controllers cause, of each reason, and the test that shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from exporter.checks import all_checks

from .files import NOTE, TOP, between

__all__ = ["generated"]

_PAGE, _TESTS = TOP / "docs/networks.md", TOP / "tests/networks"
_BEGIN = f"<!-- {NOTE} What stands here is in tests/networks. -->"


class _Cause(NamedTuple):
    what: str
    test: str


def generated() -> dict[str, str]:
    return {"docs/networks.md": between(_PAGE, _BEGIN, _tables(dict(_causes())))}


def _causes() -> Iterator[tuple[str, _Cause]]:
    """By reason, as the tests say it of themselves (`@causes`)."""
    for path in sorted(_TESTS.glob("test_*.py")):
        for test in ast.parse(path.read_text(encoding="utf-8")).body:
            for said in test.decorator_list if isinstance(test, ast.FunctionDef) else ():
                if isinstance(said, ast.Call) and ast.unparse(said.func) == "causes":
                    for each in said.keywords:
                        yield str(each.arg), _Cause(ast.literal_eval(each.value), str(getattr(test, "name", "")))


def _tables(causes: dict[str, _Cause]) -> Iterator[str]:
    """Raises LookupError for a reason that no test shows, and for what is none."""
    checks = [each for each in all_checks() if each.id.startswith("ipam_")]
    reasons = {reason for check in checks for reason in check.reasons}
    if lacking := sorted(reasons - causes.keys()):
        raise LookupError(f"no test of tests/networks says what causes {lacking[0]}: @causes({lacking[0]}=…)")
    if unknown := sorted(causes.keys() - reasons):
        raise LookupError(f"{causes[unknown[0]].test} says what causes {unknown[0]}, which no check finds")
    for at, check in enumerate(checks):
        yield from ("", f"### {check.id}", "") if at else (f"### {check.id}", "")
        yield from ("| reason | caused by | seen by |", "| --- | --- | --- |")
        for reason in check.reasons:
            yield f"| `{reason}` | {causes[reason].what} | `{causes[reason].test}` |"
