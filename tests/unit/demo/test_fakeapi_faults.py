"""The API server of this process: what tests can make go wrong."""

import asyncio
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from tests.fakeapi import faults
from tests.fakeapi.client import CLAIMS, IN_SHOP, Client, claim, running
from tests.fakeapi.faults import Answer, Fault

FORBIDDEN = (
    'ipamclaims.k8s.cni.cncf.io is forbidden: User "me" cannot list resource "ipamclaims" '
    'in API group "k8s.cni.cncf.io" at the cluster scope'
)


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Client]:
    async with running() as client:
        client.server.load([claim(name) for name in "abc"])
        yield client


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (faults.unauthorized(), 401, "Unauthorized"),
        (faults.forbidden("me"), 403, FORBIDDEN),
        (faults.expired(), 410, "The resourceVersion for the provided list is too old."),
        (faults.internal_error(), 500, "etcdserver: request timed out"),
        (faults.unavailable(), 503, "the server is currently unable to handle the request"),
    ],
)
async def test_refusals(api: Client, answer: Answer, status: int, message: str) -> None:
    api.server.faults.add(Fault("/ipamclaims", answer=answer, times=1))

    got, body = await api.call("GET", CLAIMS)

    assert (got, body["code"], body["message"]) == (status, status, message)
    assert await api.names(CLAIMS) == ["a", "b", "c"]


async def test_flow_control_answers_in_plain_text_with_a_delay(api: Client) -> None:
    api.server.faults.add(Fault(answer=faults.too_many_requests(7), times=1))
    async with api.session.get(api.server.url + CLAIMS) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "7")
        assert await response.text() == "Too many requests, please try again later.\n"


async def test_a_refusal_names_what_was_asked_for(api: Client) -> None:
    api.server.faults.add(Fault(answer=faults.forbidden("me")))

    assert (
        'ipamclaims.k8s.cni.cncf.io "a" is forbidden: User "me" cannot delete resource "ipamclaims"'
        in ((await api.call("DELETE", f"{IN_SHOP}/a"))[1]["message"])
    )
    assert 'cannot watch resource "ipamclaims"' in (await api.call("GET", CLAIMS, watch="true"))[1]["message"]
    assert (await api.call("GET", "/apis"))[1]["message"] == 'forbidden: User "me" cannot get path "/apis"'


async def test_which_requests_a_fault_befalls(api: Client) -> None:
    refuse = faults.internal_error()
    fault = api.server.faults.add(Fault("/ipamclaims", method="GET", watch=False, skip=1, times=2, answer=refuse))

    assert (await api.call("DELETE", f"{IN_SHOP}/c"))[0] == 200
    async with api.watch(CLAIMS):
        pass
    assert [(await api.call("GET", CLAIMS))[0] for _ in range(4)] == [200, 500, 500, 200]
    api.server.faults.remove(fault)
    api.server.faults.add(Fault(answer=refuse))
    api.server.faults.clear()
    assert (await api.call("GET", CLAIMS))[0] == 200


@pytest.mark.parametrize("length", [0, 40])
async def test_a_list_that_breaks_off(api: Client, length: int) -> None:
    api.server.faults.add(Fault(cut_after=length, times=1))
    async with api.session.get(api.server.url + CLAIMS) as response:
        assert len(await response.content.readexactly(length)) == length
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.content.read()


async def test_a_watch_that_breaks_off_within_a_line(api: Client) -> None:
    api.server.faults.add(Fault(watch=True, cut_after=500, times=1))
    async with api.watch(CLAIMS) as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        with pytest.raises(aiohttp.ClientPayloadError):
            await watch.rest()
    assert await api.names(CLAIMS) == ["a", "b", "c"]


async def test_a_frozen_watch_is_accepted_and_silent(api: Client) -> None:
    api.server.faults.add(Fault(watch=True, frozen=True, times=1))
    async with api.watch(CLAIMS) as frozen, api.watch(CLAIMS) as healthy:
        api.server.create(claim("d"))
        assert len(await healthy.take(4)) == 4
        reading = asyncio.ensure_future(frozen.raw())
        done, _ = await asyncio.wait([reading], timeout=0.05)
        assert not done
        api.server.drop_connections()
        with pytest.raises(aiohttp.ClientError):
            await reading


async def test_events_twice(api: Client) -> None:
    api.server.faults.add(Fault(watch=True, rewrite=faults.twice, times=1))
    async with api.watch(CLAIMS) as watch:
        assert [name for _, name in await watch.take(6)] == ["a", "a", "b", "b", "c", "c"]


async def test_events_in_the_wrong_order(api: Client) -> None:
    api.server.faults.add(Fault(watch=True, rewrite=faults.Swapped(), times=1))
    async with api.watch(CLAIMS) as watch:
        assert [name for _, name in await watch.take(3)] == ["b", "a", "c"]


async def test_a_line_that_is_no_json(api: Client) -> None:
    api.server.faults.add(Fault(watch=True, rewrite=faults.Garbled(at=1), times=1))
    async with api.watch(CLAIMS) as watch:
        assert await watch.take(1) == [("ADDED", "a")]
        with pytest.raises(json.JSONDecodeError):
            await watch.next()
        assert await watch.take(1) == [("ADDED", "c")]


async def test_a_slow_drip(api: Client) -> None:
    api.server.faults.add(Fault(drip=0.0, times=1))
    sizes = []
    async with api.session.get(api.server.url + CLAIMS) as response:
        async for chunk, _ in response.content.iter_chunks():
            sizes.append(len(chunk))
    assert sum(sizes) > 300
    assert set(sizes) == {1}


async def test_data_that_change_between_two_pages(api: Client) -> None:
    def change() -> None:
        api.server.delete("ipamclaims", "shop", "b")
        api.server.compact()

    api.server.faults.add(Fault(paged=True, before=change, times=1))
    first = await api.get(CLAIMS, limit=1)

    status, _ = await api.call("GET", CLAIMS, limit=1, **{"continue": first["metadata"]["continue"]})

    assert status == 410
    assert await api.names(CLAIMS) == ["a", "c"]
