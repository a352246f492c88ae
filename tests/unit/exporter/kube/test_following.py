"""What a reflector makes of the lines of a watch, and where it goes on: a script stands in for the API server."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web

from exporter.engine.intake import Intake
from exporter.kube import get_json
from exporter.kube.client import Client, Timeouts
from exporter.kube.errors import MalformedError, StatusError, UnreachableError
from exporter.kube.transport import Transport
from exporter.kube.watch.reflector import Reflector
from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.source import Source, SyncState
from reconcile.carry_out.fresh_reads import ApiReads
from tests.all_of import each_of
from tests.evaluation import Evaluation
from tests.secure_server import config
from tests.watch_lines import claim

PACE = Timeouts(first_wait=0.0, longest_wait=0.0, look_again=0.0, catch_up=0.0, silence=5.0, jitter=False)
CLAIMS = "ipamclaims.k8s.cni.cncf.io"
Line = dict[str, Any]
NEVER = float("inf")
Watch = Iterable[Line | float] | Exception | float


def added(name: str, version: int | str, **row: Any) -> Line:
    return {"type": "ADDED", "object": claim(name, version, **row)}


def deleted(name: str, version: int | str) -> Line:
    return {"type": "DELETED", "object": claim(name, version)}


def bookmark(version: int, *, ends: bool = False) -> Line:
    notes = {"k8s.io/initial-events-end": "true"} if ends else {}
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version), "annotations": notes}}}


def error(code: int) -> Line:
    return {"type": "ERROR", "object": {"kind": "Status", "code": code, "message": "too old resource version"}}


@dataclass
class Script:
    """Answers watches in turn, lists with `page`, and takes down from where each watch was asked for.

    A number among the lines of a watch is seconds in which the server says nothing; NEVER in place of them is a watch
    that it does not accept.
    After the last answer nothing comes any more.
    """

    watches: list[Watch]
    page_of: list[dict[str, Any]] = field(default_factory=list)
    pages: list[bytes | Exception] = field(default_factory=list)  # the first answers to a list
    newest_of: list[str] = field(default_factory=list)  # the API server's resourceVersion before a watch is resumed
    since: list[str | None] = field(default_factory=list)
    lists: int = 0
    looks: int = 0
    asked: list[tuple[str, int]] = field(default_factory=list)  # where a page begins, and its size
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def served_version(self, _: Any, *, absent: bool) -> str:
        assert not absent
        return "v1alpha1"

    async def newest(self, _: Any, __: str) -> bytes:
        self.looks += 1
        return json.dumps({"metadata": {"resourceVersion": self.newest_of.pop(0) if self.newest_of else "99"}}).encode()

    async def page(self, _: Any, __: str, rest: str, limit: int, ___: str = "") -> bytes:
        self.lists += 1
        self.asked.append((rest, limit))
        answer = self.pages.pop(0) if self.pages else None
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        return json.dumps({"metadata": {"resourceVersion": "50"}, "items": self.page_of}).encode()

    @asynccontextmanager
    async def watch(self, _: Any, __: str, since: str | None, ___: int) -> AsyncIterator[AsyncIterator[bytes]]:
        self.since.append(since)
        answer = self.watches.pop(0) if self.watches else None
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, float):
            await asyncio.Event().wait()
        else:
            yield self._lines(answer)

    async def _lines(self, answer: Iterable[Line | float] | None) -> AsyncIterator[bytes]:
        if answer is None:
            self.over.set()
            await asyncio.Event().wait()
        for line in () if answer is None else answer:
            if isinstance(line, float):
                await asyncio.sleep(line)
            else:
                yield json.dumps(line).encode()


@dataclass
class Played:
    since: list[str | None]
    lists: int
    pages: list[tuple[str, int]]
    looks: int
    held: dict[str, IPAMClaim]
    reflector: Reflector
    source: Source
    why: list[tuple[SyncState, str]]


async def play(
    *watches: Watch,
    pace: Timeouts = PACE,
    until: float = NEVER,
    clock: Callable[[], float] = time.monotonic,
    **script: Any,
) -> Played:
    """What is held, and was asked for, when all of the script has been played, or after `until` seconds."""
    evaluation = Evaluation(())
    states: list[tuple[SyncState, str]] = []
    evaluation.engine.observe(
        lambda change: (
            states.append((change.after.sync_state, change.after.why)) if isinstance(change.after, Source) else None
        )
    )
    server = Script(list(watches), **script)
    reflector = Reflector(evaluation.kinds["IPAMClaim"], cast(Client, server), evaluation.intake, pace, clock)
    task = asyncio.create_task(reflector.run())
    over = asyncio.create_task(server.over.wait())
    async with asyncio.timeout(10):
        await asyncio.wait((task, over), return_when=asyncio.FIRST_COMPLETED, timeout=None if until == NEVER else until)
    for each in (task, over):
        each.cancel()
    done = await asyncio.gather(task, over, return_exceptions=True)
    if not isinstance(done[0], asyncio.CancelledError):
        raise cast(BaseException, done[0])
    cluster = evaluation.engine.cluster
    source = cluster.get(Source, "", "IPAMClaim")
    assert source is not None
    held = {each.name: each for each in cluster.all(IPAMClaim)}
    return Played(server.since, server.lists, server.asked, server.looks, held, reflector, source, states)


START: tuple[Line, ...] = (added("a", 5), added("b", 6), bookmark(10, ends=True))


# -- where it goes on


async def test_a_watch_goes_on_from_the_list() -> None:
    played = await play(START)
    assert played.since == [None, "10"]
    assert set(played.held) == {"a", "b"}


@pytest.mark.parametrize("line", [added("c", 12), deleted("a", 12), bookmark(12)], ids=lambda line: str(line["type"]))
async def test_a_watch_goes_on_from_the_last_line(line: Line) -> None:
    """Asked from an older version, a server that has compacted it answers 410, and all is listed again."""
    assert (await play(START, [line])).since == [None, "10", "12"]


async def test_a_line_after_the_streaming_list_counts_as_well() -> None:
    played = await play([*START, added("c", 11), deleted("a", 12)])
    assert played.since == [None, "12"]
    assert set(played.held) == {"b", "c"}


async def test_a_watch_that_breaks_goes_on_from_its_last_line() -> None:
    class Broken(list[Line]):
        def __iter__(self) -> Any:
            yield added("c", 12)
            raise UnreachableError("connection reset")

    played = await play(START, Broken())
    assert played.since == [None, "10", "12"]
    assert "c" in played.held


async def test_a_watch_that_goes_back_in_time_is_listed_again() -> None:
    played = await play(START, [added("c", 20), deleted("a", 15)], [added("c", 20), bookmark(30, ends=True)])
    assert played.since == [None, "10", None, "30"]
    assert set(played.held) == {"c"}


async def test_two_lines_of_one_version_are_no_step_back() -> None:
    assert (await play(START, [bookmark(12), bookmark(12)])).since == [None, "10", "12"]


async def test_a_deletion_that_is_older_than_what_is_held_was_overtaken() -> None:
    """A list may have objects that are newer than its own version; their earlier deletions are still to come."""
    played = await play([added("a", 20), bookmark(10, ends=True)], [deleted("a", 15)])
    assert set(played.held) == {"a"}
    assert played.since == [None, "10", "15"]


async def test_versions_that_are_no_numbers_are_not_compared() -> None:
    played = await play(START, [added("c", "x-9"), added("d", "x-8")])
    assert set(played.held) == {"a", "b", "c", "d"}
    assert played.since == [None, "10", "x-8"]


@pytest.mark.parametrize("code", [410, 500])
async def test_an_error_event_has_all_listed_again(code: int) -> None:
    played = await play(START, [added("c", 12), error(code)], [added("c", 12), bookmark(30, ends=True)])
    assert played.since == [None, "10", None, "30"]
    assert set(played.held) == {"c"}
    assert played.reflector.stats.errors == {str(code): 1}


async def test_429_goes_on_from_where_it_was() -> None:
    assert (await play(START, StatusError(429, "slow down"))).since == [None, "10", "10"]


async def test_what_is_held_stays_until_a_new_list_is_complete() -> None:
    played = await play(START, [error(410)], [added("c", 30)], StatusError(503, "busy"), page_of=[claim("d", 40)])
    assert set(played.held) == {"d"}
    assert played.lists == 1


# -- streaming lists and pages


@pytest.mark.parametrize("code", [400, 422, 500])
async def test_where_streaming_lists_are_not_offered_pages_are_asked_for(code: int) -> None:
    played = await play(StatusError(code, "unknown field"), page_of=[claim("a", 40)])
    assert (played.since, played.lists) == ([None, "50"], 1)
    assert set(played.held) == {"a"}


@each_of("code", [401, 403, 404, 429, 502, 503])
async def test_other_answers_say_nothing_of_streaming_lists(code: int) -> None:
    played = await play(StatusError(code, "not now"), START)
    assert (played.since, played.lists) == ([None, None, "10"], 0)


async def test_a_streaming_list_that_ends_early_is_no_list() -> None:
    played = await play([added("x", 5)], page_of=[claim("a", 40)])
    assert (played.since, played.lists) == ([None, "50"], 1)
    assert set(played.held) == {"a"}


async def test_a_list_without_a_version_is_no_empty_list() -> None:
    played = await play(StatusError(400, "no"), pages=[b"{}"], page_of=[claim("a", 40)])
    assert played.lists == 2
    assert (
        SyncState.FAILING,
        f"can't list or watch {CLAIMS}: the response is not a list: it has no resourceVersion",
    ) in played.why
    assert set(played.held) == {"a"}


def begun(name: str) -> bytes:
    """The first of two pages."""
    page = {"metadata": {"resourceVersion": "40", "continue": "more"}, "items": [claim(name, 30)]}
    return json.dumps(page).encode()


EXPIRED = StatusError(410, "expired")


async def test_a_list_whose_snapshot_expires_between_two_pages_begins_again_with_larger_ones() -> None:
    pages = [begun("gone"), EXPIRED, begun("gone too"), EXPIRED]
    played = await play(StatusError(400, "no"), pages=pages, page_of=[claim("a", 45)])
    assert played.pages == [("", 250), ("more", 250), ("", 500), ("more", 500), ("", 1000)]
    assert set(played.held) == {"a"}
    assert played.since == [None, "50"]


async def test_a_list_that_expires_again_and_again_is_a_failure_and_never_read_in_one_piece() -> None:
    pages = [begun("gone"), EXPIRED] * 5
    played = await play(StatusError(400, "no"), pages=pages, page_of=[claim("a", 45)])
    assert [size for _, size in played.pages] == [250, 250, 500, 500, 1000, 1000, 2000, 2000, 4000, 4000, 250]
    assert played.reflector.stats.errors == {"410": 1}
    assert (
        SyncState.FAILING,
        f"can't list or watch {CLAIMS}: 410 the list expired between two pages 5 times in a row",
    ) in played.why


async def test_a_list_that_begins_again_waits_longer_each_time() -> None:
    began = time.monotonic()
    pace = replace(PACE, first_wait=0.02, longest_wait=5.0)
    await play(StatusError(400, "no"), pages=[begun("gone"), EXPIRED] * 3, pace=pace)
    assert time.monotonic() - began >= 0.02 + 0.04 + 0.08


async def test_a_first_page_that_is_410_is_asked_for_again_after_a_wait() -> None:
    played = await play(StatusError(400, "no"), pages=[StatusError(410, "expired")], page_of=[claim("a", 45)])
    assert played.pages == [("", 250), ("", 250)]
    assert played.reflector.stats.errors == {"410": 1}


def following(number: int, *names: str, rest: str = "") -> bytes:
    """A page after which there are others."""
    page = {"metadata": {"resourceVersion": "40", "continue": rest or f"more {number}"}}
    return json.dumps({**page, "items": [claim(name, 30) for name in names]}).encode()


ENDLESS: dict[str, Callable[[int], bytes]] = {
    "two pages have the same continue token": lambda at: following(at, f"a{at}", rest="again"),
    "10 pages in a row have a continue token and no object": following,
    "it has more than 100 objects": lambda at: following(at, *(f"a{at}-{name}" for name in range(5))),
}


@pytest.mark.parametrize("why", ENDLESS)
async def test_pages_without_an_end_are_given_up_in_time(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(get_json, "_MOST_OBJECTS", 100)
    pages = [ENDLESS[why](at) for at in range(30)]
    played = await play(StatusError(400, "no"), pages=pages, page_of=[claim("a", 45)], until=0.5)
    assert (SyncState.FAILING, f"can't list or watch {CLAIMS}: the list of {CLAIMS} does not end: {why}") in played.why
    assert played.pages.index(("", 250), 1) <= 21  # and begins again
    assert played.reflector.stats.errors["malformed"] >= 1


async def test_what_a_repair_reads_ends_as_well(tmp_path: Path) -> None:
    async def page(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.query.get("continue", ""))
        meta = {"continue": f"{len(asked)}"}
        return web.json_response({"kind": "IPAMClaimList", "metadata": meta, "items": []})

    asked: list[str] = []
    runner = web.ServerRunner(web.Server(page, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    transport = Transport.from_environment(config(tmp_path / "k", f"http://127.0.0.1:{runner.addresses[0][1]}"))
    async with asyncio.timeout(10):
        with pytest.raises(MalformedError, match="does not end: 10 pages in a row have a continue token"):
            await ApiReads(transport).listed(IPAMClaim.KIND, "v1alpha1", None)
    assert asked == ["", *map(str, range(1, 10))]
    await transport.close()
    await runner.cleanup()


async def test_a_streaming_list_without_an_end_is_given_up_after_minutes() -> None:
    now = 0.0

    def endless() -> Iterator[Line]:
        nonlocal now
        for at in itertools.count(1):
            now += 10.0
            yield added(f"a{at % 3}", at)

    played = await play(endless(), page_of=[claim("b", 40)], clock=lambda: now)
    assert now == 310.0
    assert (played.since, played.lists) == ([None, "50"], 1)
    why = "the streaming list has not come to its end within 300 s"
    assert (SyncState.FAILING, f"can't list or watch {CLAIMS}: {why}") in played.why
    assert set(played.held) == {"b"}


async def test_a_streaming_list_of_too_much_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(get_json, "_MOST_OBJECTS", 100)
    endless = (added(f"a{at}", at) for at in itertools.count(1))
    played = await play(endless, page_of=[claim("b", 40)])
    why = f"the list of {CLAIMS} does not end: it has more than 100 objects"
    assert (SyncState.FAILING, f"can't list or watch {CLAIMS}: {why}") in played.why
    assert set(played.held) == {"b"}


async def test_what_changes_while_a_streaming_list_comes_is_in_it() -> None:
    changed = {**added("b", 8, network="late"), "type": "MODIFIED"}
    played = await play(
        [added("a", 5), added("b", 6, network="early"), deleted("a", 7), changed, bookmark(10, ends=True)]
    )
    assert {name: each.network for name, each in played.held.items()} == {"b": "late"}


async def test_what_comes_back_while_a_streaming_list_comes_is_in_it() -> None:
    played = await play([added("a", 5), deleted("a", 7), added("a", 8), bookmark(10, ends=True)])
    assert set(played.held) == {"a"}


async def test_a_list_that_takes_long_to_take_in_is_taken_in_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slowly(intake: Intake, *_: Any) -> None:
        await asyncio.sleep(0.15)
        await swap(intake, *_)

    swap = Intake.swap
    monkeypatch.setattr(Intake, "swap", slowly)
    played = await play(START, pace=IMPATIENT)
    assert (played.since, played.reflector.stats.errors) == ([None, "10"], {})
    assert set(played.held) == {"a", "b"}


# -- an API server that was restored from a backup

RESTORED: tuple[Line, ...] = (added("b", 3), bookmark(7, ends=True))


async def test_an_api_server_that_went_back_in_time_is_listed_again_before_a_watch_is_resumed() -> None:
    played = await play(START, RESTORED, newest_of=["7"])
    assert played.since == [None, None, "7"]
    assert {name: each.rv for name, each in played.held.items()} == {"b": 3}
    assert played.reflector.stats.errors == {"went_back": 1}
    went_back = "the API server went back in time, from resourceVersion 10 to 7"
    assert (SyncState.STALE, f"{went_back}; {CLAIMS} is listed again") in played.why


async def test_before_a_watch_is_resumed_one_look_is_taken_and_none_after_a_list() -> None:
    played = await play(StatusError(400, "no"), [added("c", 60)], [added("d", 70)])
    assert played.since == [None, "50", "60", "70"]
    assert played.looks == 2
    assert played.lists == 1


@pytest.mark.parametrize("version", ["10", "", "opaque", "9" * 40])
async def test_a_resource_version_that_can_not_be_less_says_nothing(version: str) -> None:
    played = await play(START, newest_of=[version])
    assert played.since == [None, "10"]


async def test_a_server_that_sent_bookmarks_and_falls_silent_is_listed_again() -> None:
    quiet = replace(PACE, quiet=0.1)
    played = await play([*START, bookmark(20), 30.0], RESTORED, pace=quiet)
    assert played.since == [None, None, "7"]
    assert set(played.held) == {"b"}
    assert played.reflector.stats.errors == {"silent": 1}
    silent = "the API server sent no event and no bookmark for 0 s"
    assert (SyncState.BEHIND, f"{silent}; {CLAIMS} is listed again") in played.why


async def test_silence_counts_over_several_watches() -> None:
    quiet = replace(PACE, quiet=0.2)
    played = await play([*START, bookmark(20), 0.12], [0.12], RESTORED, pace=quiet)
    assert played.since == [None, "20", None, "7"]
    assert played.reflector.stats.errors == {"silent": 1}


async def test_while_a_server_is_silent_what_is_held_is_not_said_to_be_newer_than_its_last_word() -> None:
    quiet = replace(PACE, quiet=0.2)
    began = time.time()
    played = await play([*START, bookmark(20), 30.0], NEVER, pace=quiet, until=0.5)
    assert played.reflector.stats.current < began + 0.15
    assert played.source.sync_state is SyncState.BEHIND


async def test_events_break_the_silence() -> None:
    quiet = replace(PACE, quiet=0.2)
    lines = [line for number in range(5) for line in (0.1, added("c", 30 + number))]
    played = await play([*START, bookmark(20), *lines], pace=quiet)
    assert played.since == [None, "34"]
    assert played.reflector.stats.errors == {}


async def test_a_server_that_sends_no_bookmarks_may_be_silent() -> None:
    played = await play([*START, 0.3, added("c", 12)], pace=replace(PACE, quiet=0.05))
    assert played.since == [None, "12"]
    assert played.reflector.stats.errors == {}


async def test_after_silence_that_was_nothing_it_is_not_listed_again_and_again() -> None:
    quiet = replace(PACE, quiet=0.05)
    played = await play([*START, bookmark(20), 30.0], [*START, 0.3, added("c", 22)], pace=quiet)
    assert played.since == [None, None, "22"]
    assert played.reflector.stats.errors == {"silent": 1}


async def test_bookmarks_that_only_follow_events_promise_no_others() -> None:
    played = await play([*START, added("c", 12), bookmark(12), 0.3, added("d", 13)], pace=replace(PACE, quiet=0.05))
    assert played.since == [None, "13"]
    assert played.reflector.stats.errors == {}


async def test_each_silence_that_was_nothing_is_longer_than_the_last_one() -> None:
    quiet = replace(PACE, quiet=0.1)
    silent: list[Line | float] = [*START, bookmark(20), 30.0]
    began = time.monotonic()
    played = await play(silent, silent, silent, pace=quiet)
    assert time.monotonic() - began >= 0.1 + 0.2 + 0.4
    assert played.reflector.stats.errors == {"silent": 3}


# -- how patient it is

IMPATIENT = replace(PACE, silence=0.1)


async def test_a_watch_may_be_quiet_for_longer_than_a_list() -> None:
    played = await play(START, [0.3, added("c", 12)], pace=IMPATIENT)
    assert played.since == [None, "10", "12"]
    assert "frozen" not in played.reflector.stats.errors


async def test_a_watch_that_is_not_accepted_is_given_up_as_soon_as_a_list() -> None:
    played = await play(START, NEVER, pace=IMPATIENT)
    assert played.since == [None, "10", "10"]
    assert played.reflector.stats.errors == {"unreachable": 1}
    assert (SyncState.BEHIND, f"can't list or watch {CLAIMS}: no response to the watch within 0 s") in played.why


async def test_so_may_the_watch_that_a_streaming_list_goes_over_into() -> None:
    played = await play([*START, 0.3, added("c", 12), 0.3, added("d", 13)], pace=IMPATIENT)
    assert played.since == [None, "13"]


async def test_a_watch_that_outlives_its_timeout_is_cut_off_and_goes_on() -> None:
    short = replace(PACE, watch=0.05, grace=0.05)
    played = await play(START, [added("c", 12), 30.0], pace=short)
    assert played.since[:3] == [None, "10", "12"]
    assert played.reflector.stats.errors["frozen"] >= 1


async def test_a_streaming_list_may_take_its_time_while_it_goes_on() -> None:
    played = await play([added("a", 1), 0.07, added("b", 2), 0.07, bookmark(10, ends=True)], pace=IMPATIENT)
    assert (played.since, played.lists) == ([None, "10"], 0)


async def test_a_streaming_list_that_falls_silent_is_given_up_for_pages() -> None:
    played = await play([added("a", 1), 30.0], pace=IMPATIENT, page_of=[claim("b", 40)])
    assert (played.since, played.lists) == ([None, "50"], 1)
    assert played.reflector.stats.errors == {"unreachable": 1}
    assert set(played.held) == {"b"}


async def test_waits_grow_with_each_failure_up_to_a_bound() -> None:
    began = time.monotonic()
    await play(START, *[StatusError(503, "busy")] * 4, pace=replace(PACE, first_wait=0.02, longest_wait=5.0))
    assert time.monotonic() - began >= 0.02 + 0.04 + 0.08 + 0.16
    began = time.monotonic()
    await play(START, *[StatusError(503, "busy")] * 12, pace=replace(PACE, first_wait=0.02, longest_wait=0.04))
    assert time.monotonic() - began < 0.02 * 2**8


async def test_a_first_failure_without_retry_after_is_no_long_wait() -> None:
    began = time.monotonic()
    await play(START, StatusError(503, "busy"), pace=replace(PACE, first_wait=0.001, longest_wait=30.0))
    assert time.monotonic() - began < 1.0


# -- what it says


async def test_it_is_behind_between_two_watches_and_live_again() -> None:
    played = await play(START, [added("c", 12)])
    said = [state for state, _ in played.why]
    assert said[:3] == [SyncState.STARTING, SyncState.LIVE, SyncState.BEHIND]
    assert (SyncState.BEHIND, "the watch has just ended") in played.why


async def test_a_watch_that_ends_at_once_says_so_and_waits_longer_each_time() -> None:
    played = await play(START, [], [], [])
    assert (SyncState.BEHIND, "the API server ends the watch immediately") in played.why
    assert played.since == [None, "10", "10", "10", "10"]


@pytest.mark.parametrize(
    ("code", "says"), [(401, "Renew the credentials"), (403, 'Grant "list" and "watch" on ipamclaims')]
)
async def test_what_may_not_be_seen_is_forbidden_and_what_is_held_stays(code: int, says: str) -> None:
    played = await play(START, StatusError(code, "no"), [added("c", 12), bookmark(30, ends=True)])
    (why,) = (why for state, why in played.why if state is SyncState.FORBIDDEN)
    assert says in why
    assert played.since == [None, "10", None, "30"]


async def test_a_watch_that_ended_before_it_had_caught_up_does_not_count_as_live_later_on() -> None:
    pace = replace(PACE, catch_up=0.03, look_again=0.1)
    played = await play(START, [], StatusError(403, "no"), StatusError(403, "no"), pace=pace)
    said = [state for state, _ in played.why]
    assert said[:4] == [SyncState.STARTING, SyncState.LIVE, SyncState.BEHIND, SyncState.FORBIDDEN]
    assert said.count(SyncState.FORBIDDEN) == 1


async def test_what_is_stale_stays_so_until_a_watch_goes_again() -> None:
    pace = replace(PACE, stale_after=0.03, first_wait=0.05, longest_wait=0.05)
    played = await play(START, *[StatusError(503, "busy")] * 4, pace=pace)
    said = [state for state, _ in played.why]
    assert said.count(SyncState.STALE) == 1
    assert SyncState.BEHIND not in said[said.index(SyncState.STALE) :]


async def test_what_was_never_listed_is_failing() -> None:
    played = await play(UnreachableError("no connection"), START)
    assert played.why[1] == (SyncState.FAILING, f"can't list or watch {CLAIMS}: no connection")


async def test_it_counts_what_it_saw() -> None:
    played = await play(START, [added("c", 12), bookmark(13), deleted("c", 14)], [error(410)], START)
    stats = played.reflector.stats
    assert (stats.events, stats.relists, stats.errors) == (2, 1, {"410": 1})
    assert stats.last_event >= stats.last_bookmark > 0
