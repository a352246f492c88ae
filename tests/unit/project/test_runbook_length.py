"""A runbook is read in a hurry: its prose, code blocks left out, has a number of words that it may have."""

from __future__ import annotations

import re

from exporter.runbook import headed, texts

MOST = 400
MANY, A_REASON, BESIDE = 6, 60, 250  # of an alert with that many reasons: words of each, and of all else
# Those that are longer, with how many words they have: a number only falls.
LONGER = {
    "VMEvictionMigrationStuck": 673,
    "VMEvictionNotMigratable": 534,
    "VMEvictionPDBBlocks": 515,
    "VMFeatureBlocked": 516,
    "VMFeatureMismatch": 732,
    "VMInstancetypeRevisionUnfit": 570,
}
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def words(text: str) -> int:
    return len(CODE.sub("", text).split())


def most(alert: str) -> int:
    reasons = len(headed(alert))
    return A_REASON * reasons + BESIDE if reasons >= MANY else MOST


def test_a_runbook_is_short() -> None:
    longer = {alert: count for alert, text in texts().items() if (count := words(text)) > most(alert)}
    assert longer == LONGER
