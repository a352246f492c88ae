"""A report as a command writes it: as text for people, or whole as JSON or YAML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def written(report: T, output: str, text: Callable[[T], str]) -> str:
    """`output` is json or yaml; any other is the text."""
    if output == "json":
        return json_of(report)
    return yaml_of(report) if output == "yaml" else text(report)


def json_of(report: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def yaml_of(report: Any) -> str:
    return msgspec.yaml.encode(report).decode()
