"""Silences against a real Alertmanager: what it silences holds us back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reconcile.carry_out.alertmanager import Silences, read, silenced_by
from reconcile.decide.gates import Labels
from tests.cluster.alertmanager import Alertmanager
from tests.cluster.conftest import Tools
from tests.repairs import ask, config
from tests.waiting import wait_until

LABELS = {
    "alertname": "VMIPAMClaimLeftBehind",
    "namespace": "shop",
    "name": "db.blue",
    "severity": "warning",
    "odd": "a\nb",
}
NAMES = ("alertname", "namespace", "name", "severity", "lines", "word", "missing")
VALUES = (
    *("", "shop", "db.blue", "db_blue", "db.*", ".*", ".+", "shop|bank", "Shop", "(?i)Shop", "(?i:SH)op", "sho", "hop"),
    *(
        "^shop$",
        "s.op",
        "[a-z]+",
        r"\w+",
        r"db\.blue",
        r"db\.blu[^d]",
        "VMIPAMClaim.*",
        "VM(IPAM)?Claim(Orphaned)?",
        "a.b",
    ),
    *(
        "(?s)a.b",
        "(?s:.*)",
        r"a\nb",
        "warning|critical",
        "x|",
        "|x",
        r"\S*",
        r"[\w.]+",
        "db{1}.*",
        "(shop)",
        "shop{1,2}",
    ),
    *("[[:alpha:]]+", r"\pL+", "(sh|op)+", "x{,2}", r"\Qshop\E", "(?U)s.*p", r"s\x68op", r"s\x{68}op", "[^[:space:]]+"),
)


@pytest.fixture
def alertmanager(binary: Tools) -> Iterator[Alertmanager]:
    server = Alertmanager(binary("alertmanager"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


def silence(name: str, how: str, value: str, *more: dict[str, Any]) -> dict[str, Any]:
    now = datetime.now(UTC)
    matcher = {"name": name, "value": value, "isRegex": "~" in how, "isEqual": not how.startswith("!")}
    return {
        "matchers": [matcher, *more],
        "startsAt": now.isoformat(),
        "endsAt": (now + timedelta(hours=1)).isoformat(),
        "createdBy": "ann",
        "comment": f"{name}{how}{value}",
    }


UNCERTAIN = set(VALUES[VALUES.index("[[:alpha:]]+") :])
HOWS = ("=", "!=", "=~", "!~")
# A silence must have a matcher that does not match the empty text.
NEVER_EMPTY = {"name": "alertname", "value": "VMIPAMClaimLeftBehind", "isRegex": False, "isEqual": True}


async def by(alertmanager: Alertmanager, labels: Labels) -> str | None:
    settings = config(alertmanager={"url": alertmanager.url}).alertmanager
    return (await Silences(settings, time.monotonic, 0).silenced())(ask(labels=labels))


def test_what_it_silences_we_see_as_silenced(alertmanager: Alertmanager) -> None:
    """Every matcher in a silence of its own, on one alert with its very labels: the same answer, or ours is a match."""
    rows = [silence(name, how, value, NEVER_EMPTY) for name in NAMES for how in HOWS for value in VALUES]
    for row in rows:
        alertmanager.silence(row)
    alertmanager.fire(LABELS)
    alert = wait_until(alertmanager.alerts, 30, "Alertmanager has the alert")[0]
    theirs = set(alert["status"]["silencedBy"])
    labels = {name: (LABELS.get(name, ""),) for name in NAMES}
    kept = read(alertmanager.silences())
    assert len(kept) == len(rows)
    ours = {each.id for each in kept if silenced_by([each], labels) is not None}
    comments = {each.id: each.comment for each in kept}
    assert theirs
    assert not {comments[each] for each in theirs - ours}
    assert {comments[each].partition("~")[2] for each in ours - theirs} <= UNCERTAIN


async def test_a_silence_holds_us_back_until_it_is_expired(alertmanager: Alertmanager) -> None:
    labels: Labels = {"alertname": ("VMIPAMClaimLeftBehind",), "namespace": ("shop",)}
    assert await by(alertmanager, labels) == ""
    made = await asyncio.to_thread(alertmanager.silence, silence("namespace", "=", "shop"))
    assert f'"{made}" by "ann"' in (await by(alertmanager, labels) or "")
    assert await by(alertmanager, {**labels, "namespace": ("bank",)}) == ""
    await asyncio.to_thread(alertmanager.expire, made)
    assert await by(alertmanager, labels) == ""
