"""Puts an entry into the list `acknowledged` of a configuration file; every other character of it stays."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import yaml

from .acknowledged import MOST
from .documents import in_yaml
from .file import content_of, read

_LIST = "acknowledged"


def entry_lines(entry: dict[str, str], comment: str = "") -> list[str]:
    """As it stands in the list. Ids are in quotes: some look like numbers."""
    comment = " ".join("".join(each if each.isprintable() else " " for each in comment).split())  # names may be in it
    lines = [f"{key}: {json.dumps(value) if key == 'cause' else in_yaml(value)}" for key, value in entry.items()]
    lines[0] += f" # {comment}" if comment else ""
    return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]


def add_to_file(file: Path, entry: dict[str, str], comment: str = "") -> None:
    """The file is replaced in one step. Raises ValueError where it is not sure what it would say then, and OSError."""
    file = file.resolve()
    content = content_of(file)
    changed = with_entry(content.decode("utf-8"), entry, comment).encode()
    with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as made:
        try:
            made.write(changed)
            made.flush()
            os.fsync(made.fileno())
            shutil.copymode(file, made.name)
            Path(made.name).replace(file)
        except BaseException:
            Path(made.name).unlink(missing_ok=True)
            raise


def with_entry(text: str, entry: dict[str, str], comment: str = "") -> str:
    """The text of the file with the entry behind the others. Raises ValueError."""
    before, mistakes = read(text.encode())
    if mistakes or not (before is None or isinstance(before, dict)):
        raise ValueError("it has mistakes. Run `steward config check` to list them")
    there = (before or {}).get(_LIST)
    entries = list(there) if isinstance(there, list) else []
    _refuse_more(entries, entry["cause"])
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += "\n"
    at, margin, head = _place(text, len(lines))
    made = [*head, *(f"{margin}{line}\n" for line in entry_lines(entry, comment))]
    changed = "".join([*lines[:at], *made, *lines[at:]])
    after, mistakes = read(changed.encode())
    whole = {**(before or {}), _LIST: [*entries, entry]}
    if mistakes or after != whole:
        raise ValueError(f"it is written in a form in which `{_LIST}` can't be extended. Add the entry by hand")
    return changed


def _refuse_more(entries: list[Any], cause: str) -> None:
    """A steward refuses a file with two entries of a cause, or with too many. Raises ValueError."""
    if any(isinstance(each, dict) and each.get("cause") == cause for each in entries):
        raise ValueError(f"it has an entry of cause {cause} already. Change that entry")
    if len(entries) >= MOST:
        raise ValueError(f"`{_LIST}` has {len(entries)} entries, and the limit is {MOST}. Remove expired entries")


def _place(text: str, end: int) -> tuple[int, str, list[str]]:
    """The line before which the entry stands, its margin, and what comes before it."""
    document = yaml.compose(text, yaml.SafeLoader)
    items = document.value if isinstance(document, yaml.MappingNode) else ()
    found = next((value for key, value in items if key.value == _LIST), None)
    if found is None:
        return end, "", [f"{_LIST}:\n"]
    if not isinstance(found, yaml.SequenceNode) or found.flow_style or not found.value:
        raise ValueError(f"`{_LIST}` has no list below it. Add the entry by hand")
    mark = _last(found).end_mark
    return int(mark.line + (mark.column > 0)), " " * found.start_mark.column, []


def _last(node: Any) -> Any:
    """What stands last in it: where that ends is known to the character."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return node
    last = node.value[-1]
    return _last(last[1] if isinstance(last, tuple) else last)
