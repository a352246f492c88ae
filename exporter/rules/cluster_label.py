"""The label that tells clusters apart, where a site has another name for it than `cluster`.

All rules, routes and boards are written with `cluster`; this renames the label in what is made of them. In PromQL the
word is that label, but in the names of recorded series, where a colon follows. In a text only what is between braces is
code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

USUAL = "cluster"
_WORD = re.compile(r"(?<![\w$:])cluster(?![\w:])")
_FIELD = re.compile(r"(?<=\$labels\.)cluster\b|(?<=\$externalLabels\.)cluster\b|(?<=\.Labels\.)cluster\b")


def in_promql(expr: str, label: str) -> str:
    return expr if label == USUAL else _WORD.sub(label, expr)


def in_text(text: str, label: str) -> str:
    """Of a summary or description, with its templates."""
    if label == USUAL:
        return text
    first, *actions = text.split("{{")
    parts = [first]
    for each in actions:
        code, end, prose = each.partition("}}")
        parts.append(f"{_WORD.sub(label, _FIELD.sub(label, code))}{end}{prose}")
    return "{{".join(parts)


def in_labels(labels: Iterable[str], label: str) -> list[str]:
    return [label if each == USUAL else each for each in labels]
