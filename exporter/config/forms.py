"""The forms that a configuration file has, the exporter's or the sidecar's: a mapping (`Section`) and its values.

Values are pydantic's own types, and those that say themselves how they are written.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from ..facts.versions import FORM, parse
from ..findings.check import Setting
from .mistakes import listed, quoted

# Each part once, the larger before the smaller; editors get the same.
_DURATION = r"(?=[0-9])(?:([0-9]{1,6})d)?(?:([0-9]{1,6})h)?(?:([0-9]{1,6})m(?!s))?(?:([0-9]{1,6})s)?(?:([0-9]{1,6})ms)?"
_UNITS = ("days", "hours", "minutes", "seconds", "milliseconds")
_URL = r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?/?"
_HOST_NAME = (
    r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*"
)
_HEADER = "[Xx]-[A-Za-z0-9-]{1,60}"
_ADDRESS = r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:\s]*)):([0-9]{1,5})"


def parse_duration(value: Any) -> timedelta:
    """Raises ValueError for what is no duration."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f'{quoted(value)} has no unit. Write it as "{str(value)[:12]}s" if seconds are meant')
    found = re.fullmatch(_DURATION, value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f'{quoted(value)} is not a duration. Write it as "90s", "10m", "2h30m" or "1d"')
    return timedelta(**{unit: int(count) for unit, count in zip(_UNITS, found.groups(), strict=True) if count})


def write_duration(value: timedelta) -> str:
    """As short as it can be read back: "4m30s"."""
    rest, text = value // timedelta(milliseconds=1), ""
    for size, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")):
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def address(value: Any) -> tuple[str, int]:
    """Host and port. Raises ValueError."""
    found = re.fullmatch(_ADDRESS, value) if isinstance(value, str) else None
    if found is None or int(found[3]) > 65535:
        raise ValueError(f"{quoted(value)} is not HOST:PORT. Write it as 127.0.0.1:9877 or [::1]:9877")
    return found[1] or found[2] or "127.0.0.1", int(found[3])


def _text(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError(f"{quoted(text)} is {'not a single line of text' if text else 'empty'}")
    return text


def _url(text: str) -> str:
    if not re.fullmatch(_URL, text):
        raise ValueError(f"{quoted(text)} is not the URL of a server. Write it as https://HOST:PORT, without a path")
    return text


def host_name(text: str) -> str:
    """Raises ValueError."""
    if not re.fullmatch(_HOST_NAME, text):
        raise ValueError(f"{quoted(text)} is not a host name. Write it as steward.example.org, without a port")
    return text


def _header(text: str) -> str:
    if not re.fullmatch(_HEADER, text):
        raise ValueError(f"{quoted(text)} is not a header of a proxy. Write it as X-Forwarded-Access-Token")
    return text


def _version(text: str) -> str:
    found = parse(text)
    if found is None:
        raise ValueError(f'{quoted(text)} is not a release of KubeVirt. Write it as "v1.8.4"')
    if found.commits:
        raise ValueError(f'{quoted(text)} is between two releases. Write the earlier release, "{found.tag}"')
    return found.tag


def _which(value: object) -> object:
    if isinstance(value, bool) or value == "copied":
        return value
    raise ValueError(f"{quoted(value)} is not true, false or copied")


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(write_duration),
    WithJsonSchema({"type": "string", "pattern": f"^{_DURATION}$"}),
]
OptionalDuration = Annotated[Duration | None, WithJsonSchema({"type": "string", "pattern": f"^{_DURATION}$"})]
Address = Annotated[
    str,
    BeforeValidator(lambda value: address(value) and value),
    WithJsonSchema({"type": "string", "pattern": f"^{_ADDRESS}$"}),
]
Text = Annotated[str, AfterValidator(_text), WithJsonSchema({"type": "string", "minLength": 1})]
OptionalText = Annotated[Text | None, WithJsonSchema({"type": "string", "minLength": 1})]  # None: not in the file
OptionalServer = Annotated[
    Annotated[Text, AfterValidator(_url)] | None, WithJsonSchema({"type": "string", "pattern": f"^{_URL}$"})
]
_HostName = Annotated[Text, AfterValidator(host_name), WithJsonSchema({"type": "string", "pattern": f"^{_HOST_NAME}$"})]
HostNames = Annotated[tuple[_HostName, ...], Strict(False)]
OptionalHostName = Annotated[_HostName | None, WithJsonSchema({"type": "string", "pattern": f"^{_HOST_NAME}$"})]
OptionalHeader = Annotated[
    Annotated[Text, AfterValidator(_header)] | None, WithJsonSchema({"type": "string", "pattern": f"^{_HEADER}$"})
]
OptionalVersion = Annotated[
    Annotated[Text, AfterValidator(_version)] | None, WithJsonSchema({"type": "string", "pattern": f"^{FORM}$"})
]
WhichVMs = Annotated[
    bool | Literal["copied"], BeforeValidator(_which), WithJsonSchema({"enum": [True, False, "copied"]})
]

# What a setting may be: its type for pydantic, and what it is called.
_TYPES: dict[Any, tuple[Any, str]] = {
    timedelta: (Duration, "duration"),
    bool: (bool, "true or false"),
    int: (int, "whole number"),
    float: (float, "number"),
    str: (Text, "text"),
    tuple[str, ...]: (Annotated[tuple[Text, ...], Strict(False)], "list of texts"),  # a file has lists, no tuples
}


def setting(default: Any, meaning: str, noun: str = "", low: Any = None, high: Any = None, **more: Any) -> Any:
    """A field of a section, with its range; its title says what may be written: `duration, 0s to 1m`."""
    if isinstance(low, str) or isinstance(high, str):
        default = parse_duration(default) if default is not None else None
    title = noun or _TYPES[type(default)][1]
    if (low, high) != (None, None):
        title += f", at most {high}" if low is None else f", at least {low}" if high is None else f", {low} to {high}"
    low, high = (parse_duration(end) if isinstance(end, str) else end for end in (low, high))

    def for_editors(schema: dict[str, Any]) -> None:
        if default is None:
            del schema["default"]
        elif isinstance(default, timedelta):
            schema["default"] = write_duration(default)

    return Field(default, title=title, description=meaning, ge=low, le=high, json_schema_extra=for_editors, **more)


def field_of(annotation: Any, name: str, default: Any) -> tuple[Any, Any]:
    """A field of a check's struct as one of a section. Raises TypeError for a type that no file can hold."""
    kind, *notes = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    noted = next((note for note in notes if isinstance(note, Setting)), Setting(""))
    if get_origin(kind) is Literal:
        return kind, setting(default, noted.meaning, listed(get_args(kind)), alias=name)
    if kind not in _TYPES:
        raise TypeError(f"a setting can't be of type {kind}")
    kind, noun = _TYPES[kind]
    noun += f" of {noted.unit}" if noted.unit else ""
    return kind, setting(default, noted.meaning, noun, noted.low, noted.high, alias=name)


class Section(BaseModel):
    """A mapping of the file. Its keys are in camel case there."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
        json_schema_extra={"type": ["object", "null"]},  # a section may be empty: all of it may be comments
    )

    @field_validator("*", mode="before")
    @classmethod
    def _prepare(cls, value: Any, info: ValidationInfo) -> Any:
        kind: Any = cls.model_fields[info.field_name or ""].annotation
        if value is None:
            if isinstance(kind, type) and issubclass(kind, Section):
                return kind()
            raise PydanticCustomError("no_value", "it has no value")
        # For JSON schemas, too, 5.0 is a whole number.
        return int(value) if kind is int and isinstance(value, float) and value.is_integer() else value
