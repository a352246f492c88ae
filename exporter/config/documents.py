"""What is written of the configuration: docs/config.md, docs/config.schema.json, and the values in effect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ..findings.check import Check
from .file import scalar
from .keys import Key
from .loading import Loaded
from .names import CONFIG_VARIABLE
from .section import Section
from .settings import model_of

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
