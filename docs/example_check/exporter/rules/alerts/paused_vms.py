"""Guests that are paused."""

from __future__ import annotations

from ..model import Area, FindingAlert

__all__ = ["AREA"]

AREA = Area(
    name="paused_vms",
    note="Guests that are paused.",
    findings=(
        FindingAlert(
            name="VMPaused",
            by=("kind", "namespace", "name", "node", "reason"),
            summary="The guest of VMI {object} is paused",
            description="The guest of VMI {object} on node {{ $labels.node }} holds its memory and does nothing."
            " Resume it, unless it was paused on purpose.",
            wait="5m",  # the finding itself opens after 10 minutes
        ),
    ),
)
