"""A runbook is read in a hurry: its prose, code blocks left out, has a number of words that it may have."""

from __future__ import annotations

import re

from exporter.runbook import headed, texts

MOST = 400
MANY, A_REASON, BESIDE = 6, 60, 250  # of an alert with that many reasons: words of each, and of all else
# Those that are longer, with how many words they have: a number only falls.
LONGER = {
    "VMEvictionMigrationStuck": 697,
    "VMEvictionNotMigratable": 576,
    "VMEvictionPDBBlocks": 538,
    "VMFeatureBlocked": 519,
    "VMFeatureMismatch": 736,
    "VMFirmwareUUIDDuplicate": 628,
    "VMFirmwareUUIDDuplicateAcrossClusters": 456,
    "VMFirmwareUUIDUnstable": 788,
    "VMIPAMClaimAddressInvalid": 889,
    "VMIPAMClaimDuplicateIP": 401,
    "VMIPAMClaimLeftBehind": 772,
    "VMIPAMClaimNetworkMismatch": 640,
    "VMIPAMClaimStuckTerminating": 643,
    "VMIPAMClaimUnprotected": 749,
    "VMIPAddressDuplicate": 446,
    "VMInstancetypeMissing": 1057,
    "VMInstancetypeRevisionUnfit": 1166,
    "VMInstancetypeUnversioned": 637,
    "VMMACAddressDuplicate": 538,
    "VMNetworkDeletionStuck": 424,
    "VMNetworkPoolPressure": 401,
    "VMPersistentIPBroken": 1017,
    "VMSnapshotInstancetypeMissing": 458,
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
