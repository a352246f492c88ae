"""What a single look knows of times: what an object says. It is no witness of anything before."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...store.text.since import Since
from ...views.findings import Report

_SEEN = (Since.FIRST_SEEN.value, Since.SOURCE.value)
T = TypeVar("T")


def undated(report: Report) -> Report:
    """Without the moment of the look where that would be taken for the beginning of what it found."""
    findings = [replace(each, since="") if each.since_source in _SEEN else each for each in report.findings]
    causes = report.causes
    if isinstance(causes, list):
        causes = [replace(each, since="") if each.since_source in _SEEN else each for each in causes]
    return replace(report, findings=findings, causes=causes)


def all_undated(report: T) -> T:
    """The same of any report, however deep in it a time is."""
    made: Any = _undated(report)
    return made  # type: ignore[no-any-return]


def _undated(value: Any) -> Any:
    if isinstance(value, Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        changed = {name: new for name, of in fields.items() if (new := _undated(of)) is not of}
        if fields.get("since") and fields.get("since_source") in _SEEN:
            changed["since"] = ""
        return replace(value, **changed) if changed else value
    if isinstance(value, tuple | list):
        new = [_undated(each) for each in value]
        same = all(one is other for one, other in zip(new, value, strict=True))
        return value if same else type(value)(new)
    return value
