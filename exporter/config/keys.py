"""Every key of the configuration, flat: what the file, the environment, flags, documentation and editors share.

Derived from the structs of `settings.py` and of the checks, so that a new field is a new key everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

import msgspec

from ..checks.base import Check, Setting
from .forms import Form, form_of
from .settings import Config

__all__ = ["CONFIG_VARIABLE", "PREFIX", "Key", "keys_of"]

PREFIX = "STEWARD_"
CONFIG_VARIABLE = "STEWARD_CONFIG"

_FLAGS = {"listen": "--listen", "kubeconfig": "--kubeconfig", "context": "--context", "logLevel": "--log-level"}
_LIVE = ("logLevel", "logFormat", "settle", "seriesLimit", "checks")  # what follows the file without a restart


@dataclass(frozen=True)
class Key:
    """One value that can be set. `default` is the value itself; `written` is it as a file has it."""

    path: tuple[str, ...]
    form: Form
    default: Any
    meaning: str

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def written(self) -> Any:
        return None if self.default is None else self.form.write(self.default)

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + "__".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", part).upper() for part in self.path)

    @property
    def flag(self) -> str:
        """The flag that sets it; empty where there is none."""
        return _FLAGS.get(self.name, "")

    @property
    def live(self) -> bool:
        """Whether a change takes effect while the steward runs."""
        return self.path[0] in _LIVE and (len(self.path) < 3 or self.path[2:] != ("enabled",))


def keys_of(checks: Iterable[Check]) -> tuple[Key, ...]:
    """All keys, in the order of their declaration. Raises TypeError for settings that can't be written in a file."""
    keys = [key for key in _within(Config, ()) if key.path[0] != "checks"]
    for check in checks:
        top = ("checks", check.id)
        enabled = "false leaves the check out: it finds nothing, counts nothing, and is silent by choice."
        keys.append(Key((*top, "enabled"), form_of(bool), True, enabled))
        keys += _within(check.settings, top) if check.settings else ()
    names = [key.variable for key in keys]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TypeError(f"two settings have one name: {', '.join(sorted(twice))}")
    return tuple(keys)


def _within(struct: type[msgspec.Struct], top: tuple[str, ...]) -> Iterator[Key]:
    for field in msgspec.structs.fields(struct):
        path = (*top, field.encode_name)
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _within(field.type, path)
        elif path != ("checks",):
            yield Key(path, form_of(field.type), _default(struct, field), _meaning(field.type))


def _default(struct: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> Any:
    if field.default is msgspec.NODEFAULT:
        raise TypeError(f"{struct.__name__}.{field.name} needs a default: no setting is required")
    return field.default


def _meaning(annotation: Any) -> str:
    notes = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((note.meaning for note in notes if isinstance(note, Setting)), "")
