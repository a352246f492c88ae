"""The values in effect and where each comes from, as rows or as a file that would give the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .loading import Loaded
from .reader import scalar

__all__ = ["as_rows", "as_yaml", "in_yaml"]


def as_rows(loaded: Loaded) -> list[tuple[str, str, str]]:
    rows = []
    for key in loaded.keys:
        value = loaded.values[key.name]
        written = "(not set)" if value.value is None else key.form.write(value.value)
        rows.append((key.name, written if isinstance(written, str) else in_yaml(written), value.origin))
    return rows


def as_yaml(loaded: Loaded) -> str:
    return "\n".join(_lines(loaded)) + "\n"


def _lines(loaded: Loaded) -> Iterator[str]:
    before: tuple[str, ...] = ()
    for key in loaded.keys:
        top = key.path[:-1]
        for depth, section in enumerate(top):
            if before[: depth + 1] != top[: depth + 1]:
                yield f"{'  ' * depth}{section}:"
        before = top
        value, indent = loaded.values[key.name], "  " * len(top)
        if value.value is None:
            yield f"{indent}# {key.path[-1]}: not set"
        else:
            yield f"{indent}{key.path[-1]}: {in_yaml(key.form.write(value.value))} # {value.origin}"


def in_yaml(value: Any) -> str:
    """Plain data on one line; text in quotes where it would be read as something else."""
    if isinstance(value, str) and scalar(value) == value and value.replace("/", "").replace("_", "").isalnum():
        return value
    return json.dumps(value, ensure_ascii=False)
