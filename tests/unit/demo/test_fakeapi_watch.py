"""The API server of this process: watches, bookmarks and streaming lists."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from demo.apiserver.listing import WatchPace
from tests.fakeapi.client import CLAIMS, IN_SHOP, Client, claim, pod, running

STREAMING = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
SOON = WatchPace(bookmarks=None, longest=0.05)
"""Watches that end by themselves, without a bookmark."""


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Client]:
    async with running() as client:
        yield client


async def test_a_watch_goes_on_from_a_list(api: Client) -> None:
    api.server.create(claim("a"))
    listed = (await api.get(CLAIMS))["metadata"]["resourceVersion"]
    api.server.create(claim("b"))  # between list and watch

    async with api.watch(CLAIMS, resourceVersion=listed) as watch:
        api.server.patch("ipamclaims", "shop", "a", {"spec": {"network": "other"}})
        api.server.create(pod("unseen"))
        api.server.delete("ipamclaims", "shop", "b")
        assert await watch.take(3) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


async def test_a_removed_object_carries_the_version_of_its_removal(api: Client) -> None:
    api.server.create(claim("a", finalizers=["x"]))
    async with api.watch(CLAIMS, resourceVersion=api.server.version) as watch:
        api.server.delete("ipamclaims", "shop", "a")
        api.server.patch("ipamclaims", "shop", "a", {"metadata": {"finalizers": []}})
        requested, gone = await watch.next(), await watch.next()

    assert (requested["type"], gone["type"]) == ("MODIFIED", "DELETED")
    assert gone["object"]["metadata"]["resourceVersion"] == str(api.server.version)


async def test_a_watch_without_a_version_begins_with_what_is_there(api: Client) -> None:
    api.server.load([claim("a"), claim("b")])
    for version in ({}, {"resourceVersion": "0"}):
        async with api.watch(CLAIMS, **version) as watch:
            api.server.patch("ipamclaims", "shop", "a", {"metadata": {"labels": version or {"x": "y"}}})
            assert await watch.take(3) == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a")]


async def test_a_watch_sees_its_namespace_and_name_only(api: Client) -> None:
    async with api.watch(IN_SHOP, fieldSelector="metadata.name=b", resourceVersion=api.server.version) as watch:
        api.server.load([claim("a"), claim("b", "lab"), claim("b")])
        event = await watch.next()

    assert (event["object"]["metadata"]["namespace"], event["object"]["metadata"]["name"]) == ("shop", "b")


async def test_objects_enter_and_leave_a_selection(api: Client) -> None:
    api.server.create(claim("a"))
    async with api.watch(CLAIMS, resourceVersion=api.server.version, labelSelector="vm=web") as watch:
        for label in ("web", "web", "db"):
            api.server.patch("ipamclaims", "shop", "a", {"metadata": {"labels": {"vm": label, "n": None}}})
            api.server.patch("ipamclaims", "shop", "a", {"metadata": {"labels": {"n": "1"}}})
        api.server.delete("ipamclaims", "shop", "a")
        api.server.create(claim("b", labels={"vm": "web"}))
        events = [await watch.next() for _ in range(6)]

    kinds = [event["type"] for event in events]
    assert kinds == ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED", "ADDED"]
    left = events[4]["object"]["metadata"]
    assert left["labels"]["vm"] == "web"  # as it last matched, under the version of the change
    assert int(left["resourceVersion"]) > int(events[3]["object"]["metadata"]["resourceVersion"])


async def test_a_version_too_old_is_reported_in_an_event(api: Client) -> None:
    version = api.server.version
    api.server.create(claim("a"))
    api.server.compact()

    async with api.watch(CLAIMS, resourceVersion=version) as watch:
        (error,) = await watch.rest()

    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert error["object"]["message"] == f"too old resource version: {version} ({api.server.version})"


async def test_history_is_bounded() -> None:
    async with running(history=2) as api:
        api.server.load([claim(name) for name in "abcd"])
        async with api.watch(CLAIMS, resourceVersion=api.server.version - 2) as watch:
            assert await watch.take(2) == [("ADDED", "c"), ("ADDED", "d")]
        async with api.watch(CLAIMS, resourceVersion=api.server.version - 3) as watch:
            assert (await watch.next())["object"]["code"] == 410


async def test_a_watch_ends_in_order_with_its_timeout() -> None:
    async with running(SOON) as api, api.watch(CLAIMS, timeoutSeconds=300, allowWatchBookmarks="true") as watch:
        (mark,) = await watch.rest()
        assert mark["type"] == "BOOKMARK"  # the end of what was there; no other, they are off
        async with api.watch(CLAIMS, resourceVersion=1) as silent:
            assert await silent.rest() == []


async def test_bookmarks_come_with_time_and_before_the_end() -> None:
    async with running(WatchPace(bookmarks=0.02, longest=0.5)) as api:
        async with api.watch(CLAIMS, resourceVersion=1, allowWatchBookmarks="true") as watch:
            api.server.create(pod("elsewhere"))
            events = await watch.rest()
        assert {event["type"] for event in events} == {"BOOKMARK"}
        assert len(events) >= 2
        assert events[-1]["object"]["metadata"]["resourceVersion"] == str(api.server.version)
        async with api.watch(CLAIMS, resourceVersion=1) as watch:  # did not ask for any
            assert await watch.rest() == []


async def test_a_bookmark_on_demand_moves_an_idle_watch_on(api: Client) -> None:
    async with api.watch(CLAIMS, resourceVersion=api.server.version, allowWatchBookmarks="true") as watch:
        api.server.create(pod("elsewhere"))
        api.server.bookmark()
        event = await watch.next()

    assert event["type"] == "BOOKMARK"
    assert event["object"]["kind"] == "IPAMClaim"
    assert event["object"]["metadata"]["resourceVersion"] == str(api.server.version)


async def test_a_streaming_list(api: Client) -> None:
    api.server.load([claim("a"), claim("b")])
    async with api.watch(CLAIMS, **STREAMING) as watch:
        assert await watch.take(2) == [("ADDED", "a"), ("ADDED", "b")]
        mark = await watch.next()
        api.server.create(claim("c"))
        assert await watch.take(1) == [("ADDED", "c")]

    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_streaming_list_needs_all_its_parameters(api: Client) -> None:
    status, answer = await api.call("GET", CLAIMS, watch="true", sendInitialEvents="true")
    assert status == 422
    assert answer["message"].endswith(
        "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    )
    assert (await api.call("GET", CLAIMS, watch="true", resourceVersionMatch="NotOlderThan"))[0] == 422
    assert (await api.call("GET", CLAIMS, watch="true", resourceVersion="x"))[0] == 400


async def test_a_streaming_list_where_etcd_is_too_old_for_it(api: Client) -> None:
    api.server.streaming_lists = False
    api.server.create(claim("a"))

    async with api.watch(CLAIMS, **STREAMING) as watch:
        (error,) = await watch.rest()

    assert (error["type"], error["object"]["code"]) == ("ERROR", 500)
    assert error["object"]["message"].endswith("storage feature RequestWatchProgress is disabled")
    async with api.watch(CLAIMS, resourceVersion=1) as watch:
        assert await watch.take(1) == [("ADDED", "a")]


async def test_a_crd_that_vanishes_ends_its_watches(api: Client) -> None:
    api.server.load([claim("a"), claim("b")])
    async with api.watch(CLAIMS, resourceVersion=api.server.version) as watch:
        api.server.unserve("ipamclaims")
        events = await watch.rest()

    assert [event["type"] for event in events] == ["DELETED", "DELETED"]
    assert (await api.call("GET", CLAIMS, watch="true"))[0] == 404


async def test_dropped_connections(api: Client) -> None:
    async with api.watch(CLAIMS, resourceVersion=1) as watch, api.watch("/api/v1/pods", resourceVersion=1) as other:
        api.server.drop_connections()
        for dropped in (watch, other):
            with pytest.raises(aiohttp.ClientError):
                await dropped.next()
    assert (await api.get(CLAIMS))["items"] == []


async def test_open_watches_can_be_awaited_and_are_forgotten_when_the_client_leaves(api: Client) -> None:
    waiting = asyncio.create_task(api.server.until_watched("ipamclaims", 2))
    async with api.watch(CLAIMS, resourceVersion=1), api.watch(CLAIMS, resourceVersion=1):
        await waiting
        assert api.server.watching("ipamclaims") == 2
    async with asyncio.timeout(5):
        await api.server.until_unwatched("ipamclaims")
