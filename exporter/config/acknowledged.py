"""The causes that somebody knows of: an entry of the list `acknowledged`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, Strict, WithJsonSchema, model_serializer

from ..findings.causes import DAY_OR_MOMENT, Acknowledgement, Acknowledgements, moment_of
from ..findings.severity import Severity
from .forms import OptionalText, Text, setting
from .mistakes import listed, quoted
from .section import Section

MOST = 500  # entries
_ID = "[0-9a-f]{16}"
_Severity = Literal["info", "warning", "critical"]


def _cause(text: str) -> str:
    if len(text) != 16 or not set(text) <= set("0123456789abcdef"):
        raise ValueError(
            f"{quoted(text)} is not the ID of a cause: 16 digits and a to f. Run `steward check -o wide` to list IDs"
        )
    return text


def _until(text: str) -> str:
    moment_of(text)
    return text


_Cause = Annotated[str, AfterValidator(_cause), WithJsonSchema({"type": "string", "pattern": f"^{_ID}$"})]
_Until = Annotated[str, AfterValidator(_until), WithJsonSchema({"type": "string", "pattern": f"^{DAY_OR_MOMENT}$"})]


class AcknowledgedSettings(Section):
    """A cause that somebody knows of."""

    cause: _Cause = Field(title="id of a cause", description="Its ID, as shown by the web UI and `-o wide`.")
    until: _Until = Field(
        title="date or time",
        description="When it expires: 2026-12-01, which is the beginning of that day in UTC, or a time such as "
        "2026-12-01T08:00:00Z.",
    )
    because: Text = Field(title="text", description="Reason, shown with the acknowledged cause.")
    by: OptionalText = setting(None, "Name recorded with the acknowledgement.", "text")
    severity: _Severity = setting(
        "warning",
        "Highest severity that is acknowledged. Worse findings are shown as usual.",
        listed(get_args(_Severity)),
    )

    @model_serializer(mode="wrap")
    def _written(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """As a file may have it: without what is not set."""
        return {name: value for name, value in written(self).items() if value is not None}

    @property
    def taken(self) -> Acknowledgement:
        return Acknowledgement(self.cause, moment_of(self.until), self.because, self.by or "", Severity(self.severity))


Acknowledged = Annotated[tuple[AcknowledgedSettings, ...], Strict(False), Field(max_length=MOST)]


def acknowledgements_of(entries: tuple[AcknowledgedSettings, ...]) -> Acknowledgements:
    return Acknowledgements(each.taken for each in entries)
