"""The rules for the chart, with a placeholder wherever a value of `Values` is: the chart puts in its own.

A placeholder is `<<key>>`, or `<<key*a+b>>` where a rule computes with the value. Where they are is found by rendering
the rules with different values, so that nothing here knows what a rule looks like.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

from exporter.rules import Values, rule_files
from exporter.rules.formats import trees

__all__ = ["NUMBERS", "PLACEHOLDER", "TEXTS", "objects", "with_placeholders"]

TEXTS = {
    "hold": "hold",
    "forget": "forget",
    "job": "job",
    "runbookUrl": "runbook_url",
    "pageUrl": "page_url",
    "namespace": "namespace",
}
NUMBERS = {
    "objects": "objects",
    "pool.warning": "pool_warning",
    "pool.full": "pool_full",
    "certificate.days": "certificate_days",
}
PLACEHOLDER = re.compile(r"<<([a-zA-Z.]+)(?:\*([0-9.e-]+)([+-][0-9.e-]+))?>>")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ONE, _OTHER = 37, 61  # two that no rule has by itself


@cache
def with_placeholders(format_name: str, note: str, *, exported: bool) -> str:
    """The objects of a format as JSON, one text. Raises ValueError for what follows from a value in another way."""
    found = objects(format_name, exported=exported)
    return json.dumps({"note": note, "objects": found}, indent=1, ensure_ascii=False) + "\n"


@cache
def objects(format_name: str, *, exported: bool = False) -> list[Any]:
    """The objects with their placeholders, which all callers share. Raises ValueError, as above."""
    placed: dict[str, Any] = {field: f"<<{key}>>" for key, field in TEXTS.items()}
    values = replace(Values(exported=exported), **placed)
    found = _objects(format_name, values)
    for key, field in NUMBERS.items():
        numbers: list[dict[str, Any]] = [{field: _ONE}, {field: _OTHER}]
        one, other = (_objects(format_name, replace(values, **each)) for each in numbers)
        found = _merged((found, one, other), partial(_replaced, key))
    return found


def _objects(format_name: str, values: Values) -> list[Any]:
    return trees(format_name, rule_files(values), values)


def _merged(trees: tuple[Any, Any, Any], texts: Callable[..., str]) -> Any:
    """The first tree, with its texts as `texts` has them of all three."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: _merged((first[key], trees[1][key], trees[2][key]), texts) for key in first}
    if isinstance(first, list):
        return [_merged(each, texts) for each in zip(*trees, strict=True)]
    return texts(*trees) if isinstance(first, str) else first


def _replaced(key: str, text: str, one: str, other: str) -> str:
    if one == other:
        return text
    numbers = [list(_NUMBER.finditer(each)) for each in (_without(text), one, other)]
    if len({len(each) for each in numbers}) > 1:
        raise ValueError(f"what follows from {key} is no number: {one}")
    for here, first, second in reversed(list(zip(*numbers, strict=True))):
        if first[0] != second[0]:
            text = text[: here.start()] + _placeholder(key, float(first[0]), float(second[0])) + text[here.end() :]
    return text


def _without(text: str) -> str:
    """Without the numbers of placeholders, and as long."""
    return re.sub(r"<<[^>]*>>", lambda found: "<" * len(found[0]), text)


def _placeholder(key: str, one: float, other: float) -> str:
    by = round((other - one) / (_OTHER - _ONE), 9)
    plus = round(one - by * _ONE, 9)
    return f"<<{key}>>" if (by, plus) == (1, 0) else f"<<{key}*{by:.9g}{plus:+.9g}>>"
