"""The table of what KubeVirt's webhooks say is made of the rows that are put to KubeVirt."""

from __future__ import annotations

from tests.kubevirt.features import table
from tests.shared import REPO

PAGE = REPO / "docs/features.md"


def test_the_page_shows_the_rows() -> None:
    _, heading, section = PAGE.read_text(encoding="utf-8").partition("## What KubeVirt's webhooks say")
    assert heading
    shown = [line for line in section.splitlines() if line.startswith("| ")]
    assert shown == table().splitlines(), f"paste this into {PAGE}:\n{table()}"
