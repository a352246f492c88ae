"""The forms of values that only the sidecar's configuration has: namespaces, windows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, Strict, WithJsonSchema, model_validator

from exporter.config.forms import Duration, OptionalHostName, OptionalText, Section, Text, setting
from exporter.config.mistakes import nearest, quoted
from exporter.config.outside import URL, OptionalURL
from exporter.facts.selector import Requirement, Selector

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
        raise ValueError(f'{quoted(text)} isn\'t a time of day. Write it as "22:00"')
    return text


def _end(text: str) -> str:
    return text if text == "24:00" else _time(text)


def _zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError) as error:
        near = nearest(text, available_timezones())
        hint = f'. Did you mean "{near}"?' if near else '. Write it as "Europe/Berlin" or "UTC"'
        raise ValueError(f"{quoted(text)} isn't a known time zone{hint}") from error
    return text


def _moment(text: str) -> str:
    """A day, or a time of one."""
    found = re.fullmatch(_MOMENT, text)
    try:
        if found is None:
            raise ValueError
        date.fromisoformat(found[1])
    except ValueError as error:
        raise ValueError(f'{quoted(text)} isn\'t a date. Write it as "2026-12-20", or as "2026-12-20T18:00"') from error
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


# What can be set of the servers that the sidecar asks.


class SourceSettings(Section):
    """The exporter whose findings are taken as hints."""

    url: URL = setting("http://127.0.0.1:9877", "Where its API is.", "URL")
    token_file: OptionalText = setting(None, "File with the bearer token to send; read anew each time.", "text")
    ca_file: OptionalText = setting(None, "File with the CA certificates to trust instead of the system's.", "text")
    server_name: OptionalHostName = setting(
        None, "The name that its certificate has to be for. Without it: the URL's host.", "host name"
    )
    oldest: Duration = setting("2m", "Findings that are older are not repaired.", low="5s", high="1h")


class AlertmanagerSettings(Section):
    """The Alertmanager whose silences pause what they silence."""

    url: OptionalURL = setting(None, "Where its API is. Without it silences are not asked for.", "URL")
    token_file: OptionalText = setting(None, "File with the bearer token to send; read anew each time.", "text")
    ca_file: OptionalText = setting(None, "File with the CA certificates to trust instead of the system's.", "text")
    labels: dict[Text, str] = setting(
        {},
        "Labels that Prometheus adds to every alert (`external_labels`). A silence that names any other label counts "
        "as one of ours.",
        "mapping of labels to values",
    )


# Namespaces by their labels, each with the mode of a remediation there.

MODES = "off, plan, shadow, approve or auto"
ConfiguredMode = Literal["off", "plan", "shadow", "approve", "auto"]
Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]


class LabelRequirement(Section):
    """One expression over labels, as Kubernetes has them."""

    key: Text | None = setting(None, "A label.", "text")
    operator: Operator | None = setting(None, "What must hold of it.", "In, NotIn, Exists or DoesNotExist")
    values: Annotated[tuple[str, ...], Strict(False)] = setting((), "Of `In` and `NotIn`.", "list of texts")


class NamespaceSelector(Section):
    """Namespaces that all of it holds for."""

    match_labels: dict[Text, str] = setting({}, "Labels that a namespace has.", "mapping of labels to values")
    match_expressions: Annotated[tuple[LabelRequirement, ...], Strict(False)] = setting(
        (), "Expressions that hold of its labels.", "list of expressions"
    )
    mode: ConfiguredMode | None = setting(None, "The mode there.", MODES)

    @model_validator(mode="after")
    def _whole(self) -> Any:
        if self.mode is None:
            raise ValueError(f"it has no `mode`; write {MODES}")
        if not self.match_labels and not self.match_expressions:
            raise ValueError("it selects every namespace; set `mode` of the remediation instead")
        for each in self.match_expressions:
            if not each.key or not each.operator or not _requirement(each).valid:
                raise ValueError("an expression needs a key, an operator, and values with In and NotIn alone")
        return self

    @property
    def selector(self) -> Selector:
        return _selector(
            tuple(sorted(self.match_labels.items())),
            tuple((each.key or "", each.operator or "", each.values) for each in self.match_expressions),
        )

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.selector.matches(labels)


def _requirement(given: LabelRequirement) -> Requirement:
    return Requirement(given.key or "", given.operator or "", given.values)


@lru_cache(maxsize=256)
def _selector(
    labels: tuple[tuple[str, str], ...], expressions: tuple[tuple[str, str, tuple[str, ...]], ...]
) -> Selector:
    own = tuple(Requirement(key, "In", (value,)) for key, value in labels)
    return Selector(own + tuple(Requirement(*each) for each in expressions))
