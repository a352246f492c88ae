"""What is written of the configuration: docs/config.md, docs/config.schema.json, and the values in effect.

An entry is put into the list `acknowledged` of a configuration file, too: every other character of it stays.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import yaml

from ..findings.check import Check
from .file import content_of, read, scalar
from .forms import Section
from .keys import Key
from .loading import Loaded
from .names import CONFIG_VARIABLE
from .settings import MOST, model_of

_INTRODUCTION = f"""\
The configuration is one YAML file, set by `--config FILE` or `${CONFIG_VARIABLE}`. Each key can also come from the
environment, and some from a flag. Precedence: flag, environment, file, default. Neither a key nor the file is required.
`steward config check FILE` validates a file. `steward config show` prints the values in effect and their sources. The
configuration contains no secrets.

Durations have units, the larger before the smaller: `250ms`, `90s`, `10m`, `2h30m`, `1d`. Only `true` and `false` are
booleans. Unknown and duplicate keys, anchors, aliases and tags are rejected. All mistakes are reported at once. In the
environment, commas separate the entries of a list, and an empty variable counts as unset.

Editors can validate the file against the schema. The schema covers everything except the ranges of durations and ports:

```yaml
# yaml-language-server: $schema=config.schema.json
```

`steward serve` follows the file. A change takes effect within seconds, or at once on SIGHUP. A file with mistakes
changes nothing, and neither does an empty file (`{{}}` is a configuration without keys). The log, the web UI and
`kubevirt_steward_config_reload_success 0` report such a file. A change that needs a restart is reported, too. Mount a
ConfigMap as a directory: with `subPath`, Kubernetes never updates it.
"""


def pages(keys: Iterable[Key], note: str) -> Iterator[str]:
    yield f"# Configuration\n\n{note}\n\n{_INTRODUCTION}"
    yield "| Key | Type | Default | Meaning | Environment | Flag | A change takes effect |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for key in keys:
        default = f"`{in_yaml(key.default)}`" if key.default is not None else "not set"
        flag, variable = f"`{key.flag}`" if key.flag else "", f"`{key.variable}`"
        when = "at once" if key.live else "at the next start"
        yield f"| `{key.name}` | {key.title} | {default} | {key.meaning} | {variable} | {flag} | {when} |"


def schema(checks: Iterable[Check]) -> dict[str, Any]:
    """JSON schema of the exporter's configuration."""
    return schema_of(model_of(tuple(checks)), "kubevirt-steward")


def schema_of(model: type[Section], title: str) -> dict[str, Any]:
    """JSON schema, draft 2020-12."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **model.model_json_schema()}


def as_rows(loaded: Loaded) -> list[tuple[str, str, str]]:
    rows = []
    for key in loaded.keys:
        value = loaded.values[key.name]
        written = "(not set)" if value.value is None else value.value
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
            yield f"{indent}{key.path[-1]}: {in_yaml(value.value)} # {value.origin}"


def in_yaml(value: Any) -> str:
    """Plain data on one line; text in quotes where it would be read as something else."""
    if isinstance(value, str) and scalar(value) == value and value.replace("/", "").replace("_", "").isalnum():
        return value
    return json.dumps(value, ensure_ascii=False)


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
