"""What docs/config.md and docs/config.schema.json say: every key, from the declarations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .keys import CONFIG_VARIABLE, Key
from .showing import in_yaml

__all__ = ["pages", "schema"]

_INTRODUCTION = f"""\
One YAML file, `--config FILE` or `${CONFIG_VARIABLE}`; each key may also come from the environment, some from a flag.
A flag goes before the environment, that before the file, that before the default. No key is required, and so is no
file. `steward config check FILE` says whether a file is right, `steward config show` what is in effect and where it
comes from. Nothing in it is secret.

Durations are written with their units, the larger before the smaller: `250ms`, `90s`, `10m`, `2h30m`, `1d`. Of YAML,
only `true` and `false` are booleans; a key that is written twice, anchors, aliases and tags are refused. An unknown key
is a mistake; all mistakes are reported at once. Lists are written with commas in the environment, and an empty
variable is
taken for none.

Editors that know JSON schemas check the file while it is written; the schema knows all but the ranges of durations
and ports:

```yaml
# yaml-language-server: $schema=config.schema.json
```

`steward serve` follows the file: a change of its content is taken some seconds later, at once on SIGHUP. A file with
mistakes changes nothing: it is reported in the log, on the page, and by `kubevirt_steward_config_reload_success 0`.
What
takes effect at the next start is reported when it changes. A ConfigMap must be mounted as a folder: with `subPath` its
changes never arrive.
"""


def pages(keys: Iterable[Key], note: str) -> Iterator[str]:
    yield f"# Configuration\n\n{note}\n\n{_INTRODUCTION}"
    yield "| Key | Type | Default | Meaning | Environment | Flag | A change takes effect |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for key in keys:
        default = f"`{in_yaml(key.written)}`" if key.written is not None else "not set"
        flag = f"`{key.flag}`" if key.flag else ""
        when = "at once" if key.live else "at the next start"
        yield f"| `{key.name}` | {key.form.title} | {default} | {key.meaning} | `{key.variable}` | {flag} | {when} |"


def schema(keys: Iterable[Key]) -> dict[str, Any]:
    """JSON schema, draft 2020-12."""
    top = _section()
    for key in keys:
        place = top
        for part in key.path[:-1]:
            place = place["properties"].setdefault(part, _section())
        default = {} if key.written is None else {"default": key.written}
        place["properties"][key.path[-1]] = {
            "description": f"{key.meaning} ({key.form.title})",
            **key.form.schema,
            **default,
        }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "kubevirt-steward", **top}


def _section() -> dict[str, Any]:
    return {"type": ["object", "null"], "properties": {}, "additionalProperties": False}
