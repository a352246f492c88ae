"""Manifests as YAML that is read and compared by people: mappings and texts in lines of their own, lists in one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from exporter.config.documents import in_yaml
from exporter.config.file import scalar

_NAME = re.compile(r"[a-z][a-z0-9./-]*", re.IGNORECASE)


def in_lines(manifests: Iterable[Mapping[str, Any]]) -> str:
    """One document each."""
    return "---\n".join("".join(f"{line}\n" for line in _mapping(each)) for each in manifests)


def _mapping(found: Mapping[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield f"{name}:"
            yield from (f"  {line}" for line in _mapping(value))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield f"{name}:"
            for each in value:
                first, *rest = _mapping(each)
                yield f"  - {first}"
                yield from (f"    {line}" for line in rest)
        elif isinstance(value, str) and "\n" in value:
            yield f"{name}: |-"
            yield from (f"  {line}" for line in value.splitlines())
        elif isinstance(value, list):
            yield f"{name}: [{', '.join(map(_scalar, value))}]"
        else:
            yield f"{name}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    plain = isinstance(value, str) and _NAME.fullmatch(value) and scalar(value) == value
    return str(value) if plain else in_yaml(value)
