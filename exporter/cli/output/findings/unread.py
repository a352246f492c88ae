"""What of a dump could not be read at all."""

from __future__ import annotations

from ....store.source import FILE
from ....views.findings import Report


def unread(report: Report) -> list[tuple[str, str]]:
    """The files of dumps that could not be read, and why."""
    return [
        (f"{undecodable.cluster}: {undecodable.name}" if undecodable.cluster else undecodable.name, undecodable.why)
        for undecodable in report.undecodable
        if undecodable.kind == FILE
    ]
