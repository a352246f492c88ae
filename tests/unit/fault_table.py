"""What goes wrong between steward and API server, one row each; `python -m tests.unit.fault_table` prints it."""

from __future__ import annotations

import asyncio
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from exporter.model.source import SyncState
from tests.fakeapi import faults
from tests.fakeapi.apiserver import FakeApiServer
from tests.fakeapi.faults import Garbled, Swapped, twice

from .fault_acts import (
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
    snapshot_expires,
    trickle,
    unserved,
    watched,
)
from .fault_stage import staged

__all__ = ["TABLE", "Row", "run"]


@dataclass(frozen=True)
class Row:
    fault: str
    does: str
    act: Act | None = None
    prepare: Callable[[FakeApiServer], None] = lambda _: None
    pace: dict[str, float] = field(default_factory=dict)
    peak: int | None = None  # bytes that may be allocated on the way, at most


NO_TEXT = b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}\n'
RESUMES = "Connects again and goes on from the last event."
LISTS = "Lists again, and takes over the differences."
WAITS = "Tries again, with waits that grow."
PAGED = "Falls back to a list in pages."
KEEPS = "Keeps what it holds, says that the kind can't be seen, and looks again."

TABLE = (
    Row("start; the server offers streaming lists", "List and watch in one stream."),
    Row("start; streaming lists are not offered (etcd 3.4)", PAGED, prepare=plain_lists),
    Row(
        "start; discovery of one group answers 503",
        "Shows the other kinds; asks for this one again.",
        group_up,
        group_down,
    ),
    Row("all connections end", RESUMES, met()),
    Row("a watch is cut in the middle of a line", RESUMES, watched(on_claims(cut_after=100))),
    Row(
        "every event comes twice",
        "Nothing: the second one changes nothing.",
        watched(on_claims(rewrite=twice, times=None)),
    ),
    Row("two events come in the wrong order", LISTS, watched(on_claims(rewrite=Swapped()), reorder)),
    Row("410 as answer to a watch", LISTS, met(on_watches(faults.expired()))),
    Row("410 as an event of a watch", LISTS, met(lists=True)),
    Row(
        "410 many times in a row",
        LISTS + " Waits in between.",
        met(on_claims(answer=faults.expired(), times=4)),
        plain_lists,
    ),
    Row("410 in the middle of a paged list", "Lists again, in one piece.", snapshot_expires, plain_lists),
    Row("429 with Retry-After", "Waits as reported.", met(on_watches(faults.too_many_requests(1)))),
    Row("500 on watches", WAITS + " Lists again.", met(on_watches(faults.internal_error()))),
    Row("503 on watches", WAITS, met(on_watches(faults.unavailable()))),
    Row("500 on lists", WAITS, met(on_lists(faults.internal_error()), lists=True), plain_lists),
    Row("503 on lists", WAITS, met(on_lists(faults.unavailable()), lists=True), plain_lists),
    Row(
        "a web page instead of a list",
        WAITS,
        met(on_lists(body("<html>sign in</html>")), lists=True),
        plain_lists,
        peak=8_000_000,
    ),
    Row("an empty object instead of a list", WAITS, met(on_lists(body("{}")), lists=True), plain_lists),
    Row("broken JSON in a watch", LISTS, watched(on_claims(rewrite=Garbled())), peak=8_000_000),
    Row("bytes that are no text in a watch", LISTS, watched(on_claims(rewrite=Garbled(line=NO_TEXT)))),
    Row(
        "an object of 1.4 MB in a watch",
        "Nothing: only what checks read is kept.",
        watched(on_claims(times=0), big),
        peak=24_000_000,
    ),
    Row(
        "an object of 1.4 MB in a list",
        "Nothing: only what checks read is kept.",
        big_in_list,
        plain_lists,
        peak=24_000_000,
    ),
    Row("a watch comes byte by byte", "Nothing: takes each event once it is whole.", watched(on_claims(drip=0))),
    Row(
        "a list trickles for ever", "Gives it up after a while, and lists again.", met(trickle, lists=True), plain_lists
    ),
    Row("a list is silent", "Gives it up after a while, and lists again.", frozen_list, plain_lists),
    Row(
        "a streaming list is silent",
        "Gives it up after a while. " + PAGED,
        met(on_claims(skip=1, frozen=True), lists=True),
    ),
    Row(
        "a watch is silent for ever",
        "Ends it when its time is over, and goes on from the last event.",
        watched(on_claims(frozen=True)),
        pace={"watch": 1.0},
    ),
    Row(
        "the list changes between two pages",
        "Nothing: all pages show one instant, and the watch goes on from it.",
        between_pages,
        plain_lists,
    ),
    Row("the wall clock jumps a day ahead", "Nothing: waits and ages hang on the monotonic clock.", jump(86_400)),
    Row("the wall clock jumps a day back", "Nothing: waits and ages hang on the monotonic clock.", jump(-86_400)),
    Row("the account loses a right, and gets it back", KEEPS, refused(faults.forbidden(), SyncState.FORBIDDEN)),
    Row(
        "the account's credentials are refused, then accepted",
        KEEPS + " Loads the credentials again.",
        refused(faults.unauthorized(), SyncState.FORBIDDEN),
    ),
    Row("a CRD goes, and comes back", KEEPS, unserved),
    Row(
        "the server is stopped, and started again later",
        "Keeps what it holds, says when that is old, and tries again.",
        restarted,
    ),
)


async def run(row: Row, folder: Path) -> float:
    """Plays one row; seconds until the truth was seen."""
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
