"""A mapping of a configuration file, the exporter's or the sidecar's."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError


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
