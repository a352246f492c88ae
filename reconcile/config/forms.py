"""The forms of values that only the sidecar's configuration has: namespaces, windows."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, Strict, WithJsonSchema, model_validator

from exporter.config.forms import Text, setting
from exporter.config.mistakes import nearest, quoted
from exporter.config.section import Section

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
Day = Literal["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

_NAMESPACE = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_MOMENT = r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:T(?:[01][0-9]|2[0-3]):[0-5][0-9])?"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]"


def minutes(text: str) -> int:
    """Minutes since midnight of "HH:MM", up to 24:00."""
    hour, _, minute = text.partition(":")
    return int(hour) * 60 + int(minute)


def _namespace(text: str) -> str:
    if not re.fullmatch(_NAMESPACE, text):
        raise ValueError(f"{quoted(text)} can't be the name of a namespace")
    return text


def _time(text: str) -> str:
    if not re.fullmatch(_TIME, text):
        raise ValueError(f'{quoted(text)} is no time of day; write it as "22:00"')
    return text


def _end(text: str) -> str:
    return text if text == "24:00" else _time(text)


def _zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError) as error:
        near = nearest(text, available_timezones())
        hint = f'; did you mean "{near}"?' if near else '; write one as "Europe/Berlin" or "UTC"'
        raise ValueError(f"{quoted(text)} is no time zone that is known here{hint}") from error
    return text


def _moment(text: str) -> str:
    """A day, or a time of one."""
    found = re.fullmatch(_MOMENT, text)
    try:
        if found is None:
            raise ValueError
        date.fromisoformat(found[1])
    except ValueError as error:
        raise ValueError(f'{quoted(text)} is no day; write it as "2026-12-20", or as "2026-12-20T18:00"') from error
    return text


NamespaceName = Annotated[str, AfterValidator(_namespace)]
_From = Annotated[str, AfterValidator(_time), WithJsonSchema({"type": "string", "pattern": f"^{_TIME}$"})]
_To = Annotated[str, AfterValidator(_end), WithJsonSchema({"type": "string", "pattern": f"^({_TIME}|24:00)$"})]

_Moment = Annotated[str, AfterValidator(_moment), WithJsonSchema({"type": "string", "pattern": f"^{_MOMENT}$"})]
_Zone = Annotated[Text, AfterValidator(_zone)]


class Window(Section):
    """From a time of day to the next time that the clock shows another, beginning on these days."""

    days: Annotated[tuple[Day, ...], Strict(False)] = setting(DAYS, "Days on which it begins.", "list of days")
    from_: _From = setting("00:00", "When it begins.", "time of day", alias="from")
    to: _To = setting("24:00", "When it ends; the next day where that is not after the beginning.", "time of day")
    time_zone: _Zone = setting("UTC", "The time zone of both.", "time zone")

    @model_validator(mode="after")
    def _some_time(self) -> Any:
        if not self.days:
            raise ValueError("it has no days; leave `days` out for all of them")
        if self.from_ == self.to:
            raise ValueError("it ends when it begins; leave `from` and `to` out for the whole day")
        return self


class Blackout(Section):
    """From a day or time on until the end of another day, or until a time."""

    from_: _Moment = setting("", "Its first day, or a time of that: `2026-12-20T18:00`.", "day or time", alias="from")
    to: _Moment = setting("", "Its last day, which is within it, or a time of that at which it ends.", "day or time")
    time_zone: _Zone = setting("UTC", "The time zone of both.", "time zone")
    reason: Text = setting("", "Why: it is shown with whatever waits.", "text")

    @model_validator(mode="after")
    def _whole(self) -> Any:
        for name, value in (("from", self.from_), ("to", self.to), ("reason", self.reason)):
            if not value:
                raise ValueError(f"it has no `{name}`")
        if self.from_[:10] > self.to[:10] or ("T" in self.to and self.to <= self.from_):
            raise ValueError(f"it ends ({self.to}) before it begins ({self.from_})")
        return self
