"""Files of cases: YAML by name, held to a form. What is wrong is said in one sentence, with file and line."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

__all__ = ["CaseError", "load", "read_yaml"]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str | bytes) -> Any:
    """One document, by the parser that is ten times as fast. Raises yaml.YAMLError."""
    return yaml.load(text, Loader=_LOADER)


class CaseError(ValueError):
    """The text is one sentence that begins with the file and the line."""


def load(
    path: Path,
    needs: Mapping[str, type | tuple[type, ...]],
    may: Mapping[str, type | tuple[type, ...]],
    finds: Collection[str] = (),
) -> Any:
    """The cases of a file. Each has the fields of `needs`, and no others than those and `may`, of these types; its
    `given` is a list of rows, each with a `kind` and a `name`, and a row of its `finds` has no other fields than those:
    nobody would compare them. What begins with `_` is for all cases. Raises CaseError.
    """
    if not path.exists():
        raise CaseError(f"{path} is missing: it has the cases, such as `name: {{given: […], finds: […]}}`")
    text = path.read_text(encoding="utf-8")
    try:
        loaded = read_yaml(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise CaseError(f"{path}:{line}: this is not YAML: {error.problem}") from error
    if not isinstance(loaded, dict):
        raise CaseError(f"{path}:1: cases by their names are expected, such as `name: {{given: […], finds: […]}}`")
    for name, case in loaded.items():
        if not str(name).startswith("_") and (why := _wrong(case, needs, {**needs, **may}) or _surplus(case, finds)):
            raise CaseError(f"{path}:{_line(text, str(name))}: case {name} {why}")
    return loaded


def _wrong(case: Any, needs: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    if not isinstance(case, dict):
        return f"is no mapping; it has {', '.join(needs)}"
    for field in needs:
        if field not in case:
            return f"lacks `{field}`"
    for field, value in case.items():
        if field not in known:
            return f"has `{field}`, which is none of {', '.join(known)}"
        if not isinstance(value, known[field]):
            return f"has a `{field}` of another form: {value!r:.60}"
    for at, row in enumerate(case["given"]):
        if not isinstance(row, dict) or not isinstance(row.get("kind"), str) or "name" not in row:
            return f"has in `given`, row {at + 1}, something else than an object with `kind` and `name`: {row!r:.80}"
    return ""


def _surplus(case: Mapping[str, Any], known: Collection[str]) -> str:
    rows = case.get("finds", ())
    for at, row in enumerate(rows if known and isinstance(rows, list) else ()):
        if not isinstance(row, dict) or row.keys() - set(known):
            surplus = ", ".join(sorted(row.keys() - set(known))) if isinstance(row, dict) else repr(row)
            return (
                f"has in `finds`, row {at + 1}, what is compared with nothing: {surplus}; known is {', '.join(known)}"
            )
    return ""


def _line(text: str, name: str) -> int:
    top = yaml.compose(text, Loader=_LOADER)
    assert isinstance(top, yaml.MappingNode)
    line: int = next(key.start_mark.line for key, _ in top.value if key.value == name)
    return line + 1
