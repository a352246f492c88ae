"""What is asked of an API server, and what its answers are taken for: a table stands in for the connection."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from exporter.facts.record import Record
from exporter.kube.client import Client, Timeouts
from exporter.kube.errors import AbsentError, KubeError, MalformedError, StatusError, UnreachableError
from exporter.kube.transport import Transport
from exporter.store.kind import ApiKind
from tests.all_of import each_of

KIND = ApiKind(
    Record, group="example.org", versions=("v2", "v1"), plural="things", selectors=(("labelSelector", "app=x"),)
)
READY = "/readyz"
V1, V2 = "/apis/example.org/v1", "/apis/example.org/v2"


def resources(*names: str) -> bytes:
    return json.dumps({"resources": [{"name": name} for name in names]}).encode()


@dataclass
class Body:
    chunks: list[bytes]
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200

    @property
    def content(self) -> Body:
        return self

    async def iter_any(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk


@dataclass
class Table:
    """Answers by path: a body, the chunks of one, an error, or the status of one, or several. 404 for others."""

    answers: dict[str, Any]
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, _: str, path: str, query: Any, read_seconds: float) -> AsyncIterator[Body]:
        assert read_seconds >= float(dict(query).get("timeoutSeconds", 0))
        self.asked.append((path, dict(query)))
        answer = self.answers.get(path, 404)
        if isinstance(answer, deque):  # one after the other, and the last one from then on
            answer = answer.popleft() if len(answer) > 1 else answer[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            raise StatusError(answer, "no")
        yield Body(answer if isinstance(answer, list) else [answer])


def client(answers: dict[str, Any], **pace: Any) -> tuple[Client, Table]:
    table = Table(answers)
    return Client(cast(Transport, table), Timeouts(**pace)), table


@each_of(
    ("answers", "version"),
    [
        ({V2: resources("things"), V1: resources("things")}, "v2"),
        ({V2: resources("others", "things/status"), V1: resources("others", "things")}, "v1"),
        ({V1: resources("things")}, "v1"),
        ({V2: b'{"resources": null}', V1: resources("things")}, "v1"),
        ({V2: 403, V1: resources("things")}, "v2"),  # who may not ask learns the rest from the list
        ({V1: 403}, "v2"),
    ],
)
async def test_the_first_version_that_is_served(answers: dict[str, Any], version: str) -> None:
    assert await client(answers)[0].served_version(KIND) == version


@pytest.mark.parametrize("answers", [{}, {V2: resources(), V1: resources("others")}])
async def test_a_kind_that_is_not_served_is_absent(answers: dict[str, Any]) -> None:
    with pytest.raises(AbsentError, match=r"the cluster does not serve things\.example\.org"):
        await client({READY: b"ok", **answers})[0].served_version(KIND)


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_that_a_kind_is_not_served_is_no_answer_of_a_server_that_is_not_ready(code: int) -> None:
    why = r"503 the API server is not ready: whether it serves things\.example\.org is unknown"
    with pytest.raises(StatusError, match=why):
        await client({READY: code})[0].served_version(KIND)


@pytest.mark.parametrize("ready", [b"ok", 401, 403, 404])
async def test_what_a_server_serves_once_it_is_ready_is_served(ready: bytes | int) -> None:
    answers = {READY: ready, V1: deque([404, resources("things")])}
    assert await client(answers, first_wait=0.01)[0].served_version(KIND) == "v1"


@pytest.mark.parametrize("ready", [403, 404])
async def test_where_readiness_may_not_be_asked_for_a_second_look_says_what_is_absent(ready: int) -> None:
    asking, table = client({READY: ready}, first_wait=0.01)
    with pytest.raises(AbsentError):
        await asking.served_version(KIND)
    assert [path for path, _ in table.asked] == [V2, V1, READY, V2, V1]


async def test_what_was_absent_is_not_confirmed_again() -> None:
    asking, table = client({})
    with pytest.raises(AbsentError):
        await asking.served_version(KIND, absent=True)
    assert [path for path, _ in table.asked] == [V2, V1]


@pytest.mark.parametrize("code", [401, 429, 500, 503])
async def test_a_group_whose_server_is_down_is_not_absent(code: int) -> None:
    with pytest.raises(StatusError) as caught:
        await client({V2: code, V1: resources("things")})[0].served_version(KIND)
    assert caught.value.code == code


async def test_a_discovery_that_is_none_is_no_answer() -> None:
    with pytest.raises(MalformedError, match=f"malformed discovery document of {V2}"):
        await client({V2: b"<html>"})[0].served_version(KIND)


@pytest.mark.parametrize(("rest", "query"), [("", {"limit": "7"}), ("more", {"limit": "7", "continue": "more"})])
async def test_a_page_is_asked_for_by_its_size_and_where_the_last_one_ended(rest: str, query: dict[str, str]) -> None:
    asking, table = client({f"{V2}/things": b"{}"})
    assert await asking.page(KIND, "v2", rest, 7) == b"{}"
    assert table.asked == [(f"{V2}/things", {"labelSelector": "app=x", **query})]


async def test_the_newest_version_is_asked_for_with_one_object_and_without_a_search() -> None:
    asking, table = client({f"{V2}/things": b"{}"})
    assert await asking.newest(KIND, "v2") == b"{}"
    assert table.asked == [(f"{V2}/things", {"limit": "1"})]


async def lines(chunks: list[bytes], since: str | None = "5") -> tuple[list[bytes], dict[str, str]]:
    asking, table = client({f"{V2}/things": chunks})
    async with asking.watch(KIND, "v2", since, 30) as watched:
        found = [line async for line in watched]
    return found, table.asked[0][1]


async def test_a_watch_comes_in_whole_lines_however_it_is_cut() -> None:
    found, query = await lines([b"on", b"e\ntwo\n\nth", b"ree\n", b"fo", b"ur"])
    assert found == [b"one", b"two", b"three"]
    watch = {"labelSelector": "app=x", "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "30"}
    assert query == {**watch, "resourceVersion": "5"}
    _, query = await lines([], None)
    assert query == {**watch, "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}


async def test_a_line_without_an_end_is_given_up() -> None:
    big = b"x" * (8 * 2**20)
    assert (await lines([big, big, b"\n"]))[0] == [big + big]
    with pytest.raises(MalformedError, match="larger than"):
        await lines([big, big, b"x"])


async def test_requests_are_counted_by_verb_kind_and_status() -> None:
    asking, table = client({V1: resources("things"), f"{V1}/things": b"{}"})
    assert await asking.served_version(KIND) == "v1"
    await asking.page(KIND, "v1", "", 7)
    await asking.newest(KIND, "v1")
    for answer in (403, 403, UnreachableError("no connection")):
        table.answers[f"{V1}/things"] = answer
        with pytest.raises(KubeError):
            await asking.page(KIND, "v1", "", 7)
    assert asking.requests == {
        ("get", "Record", "404"): 1,
        ("get", "Record", "200"): 1,
        ("list", "Record", "200"): 2,
        ("list", "Record", "403"): 2,
        ("list", "Record", "error"): 1,
    }


async def test_a_watch_is_counted_when_it_is_accepted_however_it_ends() -> None:
    asking, _ = client({f"{V2}/things": [b"one\n"]})

    async def broken() -> None:
        async with asking.watch(KIND, "v2", "5", 30) as watched:
            assert asking.requests == {("watch", "Record", "200"): 1}
            assert [line async for line in watched] == [b"one"]
            raise UnreachableError("the connection broke")

    with pytest.raises(UnreachableError):
        await broken()
    assert asking.requests == {("watch", "Record", "200"): 1}
