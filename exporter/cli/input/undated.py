"""What a single look knows of times: what an object says. It is no witness of anything before."""

from __future__ import annotations

from msgspec.structs import replace

from ...store.text.since import Since
from ...views.findings import Report

__all__ = ["undated"]

_SEEN = (Since.FIRST_SEEN.value, Since.SOURCE.value)


def undated(report: Report) -> Report:
    """Without the moment of the look where that would be taken for the beginning of what it found."""
    findings = [replace(each, since="") if each.since_source in _SEEN else each for each in report.findings]
    causes = report.causes
    if isinstance(causes, list):
        causes = [replace(each, since="") if each.since_source in _SEEN else each for each in causes]
    return replace(report, findings=findings, causes=causes)
