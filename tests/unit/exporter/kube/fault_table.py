"""Faults between the steward and the API server, a row each; `python -m tests.unit.exporter.kube.fault_table` prints
them."""

from __future__ import annotations

import asyncio
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from exporter.store.source import SyncState
from tests.fakeapi import faults
from tests.fakeapi.apiserver import FakeApiServer
from tests.fakeapi.faults import Garbled, Swapped, twice
from tests.unit.exporter.kube.fault_acts import (
    Act,
    between_pages,
    big,
    big_in_list,
    body,
    frozen_list,
    group_down,
    group_up,
    jump,
    met,
    on_claims,
    on_lists,
    on_watches,
    plain_lists,
    refused,
    reorder,
    restarted,
    restored,
    silent,
    snapshot_expires,
    starting,
    trickle,
    unserved,
    watched,
)
from tests.unit.exporter.kube.fault_stage import staged

__all__ = ["TABLE", "Row", "run"]


@dataclass(frozen=True)
class Row:
    fault: str
    does: str
    act: Act | None = None
    prepare: Callable[[FakeApiServer], None] = lambda _: None
    pace: dict[str, float] = field(default_factory=dict)
    peak: int | None = None  # the most bytes that may be allocated on the way


NOT_UTF8 = b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}\n'
RESUMES = "Reconnects and resumes from the last event."
LISTS = "Relists, and applies the differences."
WAITS = "Retries with exponential backoff."
PAGED = "Falls back to a paged list."
KEEPS = "Keeps what it holds, reports the sync state, and retries."

TABLE = (
    Row("start; the server offers streaming lists", "List and watch in one stream."),
    Row("start; streaming lists are not offered (etcd 3.4)", PAGED, prepare=plain_lists),
    Row(
        "start; discovery of one group answers 503",
        "The other kinds are live; discovers this one again.",
        group_up,
        group_down,
    ),
    Row("all connections drop", RESUMES, met()),
    Row("a watch is cut in the middle of a line", RESUMES, watched(on_claims(cut_after=100))),
    Row(
        "every event is delivered twice",
        "Nothing: the duplicate changes nothing.",
        watched(on_claims(rewrite=twice, times=None)),
    ),
    Row("two events arrive in the wrong order", LISTS, watched(on_claims(rewrite=Swapped()), reorder)),
    Row("410 as the response to a watch", LISTS, met(on_watches(faults.expired()))),
    Row("410 as an ERROR event of a watch", LISTS, met(lists=True)),
    Row(
        "410 many times in a row",
        LISTS + " Backs off in between.",
        met(on_claims(answer=faults.expired(), times=4)),
        plain_lists,
    ),
    Row(
        "410 in the middle of a paged list",
        "Begins again with the first page of a new list.",
        snapshot_expires,
        plain_lists,
    ),
    Row(
        "429 with Retry-After",
        "Honours Retry-After, up to the longest wait.",
        met(on_watches(faults.too_many_requests(1))),
    ),
    Row("500 on watches", WAITS + " Relists.", met(on_watches(faults.internal_error()))),
    Row("503 on watches", WAITS, met(on_watches(faults.unavailable()))),
    Row("500 on lists", WAITS, met(on_lists(faults.internal_error()), lists=True), plain_lists),
    Row("503 on lists", WAITS, met(on_lists(faults.unavailable()), lists=True), plain_lists),
    Row(
        "an HTML page instead of a list",
        WAITS,
        met(on_lists(body("<html>sign in</html>")), lists=True),
        plain_lists,
        peak=8_000_000,
    ),
    Row("an empty object instead of a list", WAITS, met(on_lists(body("{}")), lists=True), plain_lists),
    Row("broken JSON in a watch", LISTS, watched(on_claims(rewrite=Garbled())), peak=8_000_000),
    Row("invalid UTF-8 in a watch", LISTS, watched(on_claims(rewrite=Garbled(line=NOT_UTF8)))),
    Row(
        "an object of 1.4 MB in a watch",
        "Nothing: only the facts that checks read are kept.",
        watched(on_claims(times=0), big),
        peak=24_000_000,
    ),
    Row(
        "an object of 1.4 MB in a list",
        "Nothing: only the facts that checks read are kept.",
        big_in_list,
        plain_lists,
        peak=24_000_000,
    ),
    Row("a watch arrives byte by byte", "Nothing: handles each event once it is complete.", watched(on_claims(drip=0))),
    Row("a list trickles forever", "Times out, and relists.", met(trickle, lists=True), plain_lists),
    Row("a list is silent", "Times out, and relists.", frozen_list, plain_lists),
    Row("a streaming list is silent", "Times out. " + PAGED, met(on_claims(skip=1, frozen=True), lists=True)),
    Row(
        "a watch is silent forever",
        "Ends it after its timeout, and resumes from the last event.",
        watched(on_claims(frozen=True)),
        pace={"watch": 1.0},
    ),
    Row(
        "the list changes between two pages",
        "Nothing: all pages are one snapshot, and the watch resumes from it.",
        between_pages,
        plain_lists,
    ),
    Row("the wall clock jumps a day ahead", "Nothing: waits and ages use the monotonic clock.", jump(86_400)),
    Row("the wall clock jumps a day back", "Nothing: waits and ages use the monotonic clock.", jump(-86_400)),
    Row(
        "the ServiceAccount loses a permission, and gets it back",
        KEEPS,
        refused(faults.forbidden(), SyncState.FORBIDDEN),
    ),
    Row(
        "the credentials are refused, then accepted",
        KEEPS + " Reloads the credentials.",
        refused(faults.unauthorized(), SyncState.FORBIDDEN),
    ),
    Row("a CRD is deleted, and created again", KEEPS, unserved),
    Row("the API server starts, and serves no CRD until it is ready", KEEPS, starting(ready=False)),
    Row(
        "one of two API servers behind one address serves no CRD for a moment",
        "Keeps what it holds until a second look says the same.",
        starting(ready=True),
        pace={"look_again": 5.0},  # what is waited for lasts as long, and a busy host stands still for seconds
    ),
    Row(
        "the API server is stopped, and started again later",
        "Keeps what it holds, reports it stale, and retries.",
        restarted,
    ),
    Row(
        "the API server is stopped, its etcd is restored from a backup, and it is started again",
        "Sees that its resourceVersion went back, and relists.",
        restored,
    ),
    Row(
        "etcd is restored from a backup, and the watches stay open and silent",
        "Misses the bookmarks, and relists.",
        silent,
        pace={"quiet": 0.5},
    ),
)


async def run(row: Row, folder: Path) -> float:
    """Plays one row; gives the seconds until the findings were right."""
    async with staged(folder, row.prepare, row.pace) as stage:
        if row.act is not None and row.prepare is not group_down:
            truth = await stage.until_true()
            stage.start_recording()
        if row.peak:
            tracemalloc.start()
        try:
            if row.act is not None:
                await row.act(stage)
            truth = await stage.until_true()
            took = time.monotonic() - stage.began
            if row.peak:
                assert tracemalloc.get_traced_memory()[1] < row.peak
        finally:
            tracemalloc.stop()
        stage.check(truth)
    return took


def main() -> None:
    print("| fault | what the steward does | seconds |\n|---|---|---|")
    for row in TABLE:
        with tempfile.TemporaryDirectory() as folder:
            took = asyncio.run(run(row, Path(folder)))
        print(f"| {row.fault} | {row.does} | {took:.2f} |", flush=True)


if __name__ == "__main__":
    main()
