"""The steward reads the bench's stub as it reads an API server: discovery, lists, watches, and the changes."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
import trustme
from aiohttp import web

from bench.fleet.changes import LABEL
from bench.fleet.orders import Order, Orders
from bench.fleet.population import Fleet
from bench.fleet.storage import Storage, encoded
from bench.fleet.stub import Stub

CLAIMS = "/apis/k8s.cni.cncf.io/v1alpha1/ipamclaims"
STREAM = "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
VMS = 30


@pytest.fixture
def stub() -> Stub:
    return Stub(Storage(map(encoded, Fleet(VMS, datetime(2026, 5, 4, tzinfo=UTC)).objects())))


@asynccontextmanager
async def asked(stub: Stub) -> AsyncIterator[aiohttp.ClientSession]:
    authority = trustme.CA()
    serves = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(serves)
    trusts = ssl.create_default_context()
    authority.configure_trust(trusts)
    runner = web.ServerRunner(web.Server(stub.handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=serves).start()
    url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(ssl=trusts)) as session:
        yield session
    await runner.cleanup()


async def test_pages_together_are_the_whole_list(stub: Stub) -> None:
    names, rest = [], ""
    async with asked(stub) as session:
        while True:
            page = await (await session.get(f"{CLAIMS}?limit=7&continue={rest}")).json()
            names += [item["metadata"]["name"] for item in page["items"]]
            rest = page["metadata"].get("continue", "")
            if not rest:
                break
    assert names == [f"vm-{number}.blue" for number in range(VMS)]


async def test_a_watch_begins_with_all_objects_and_goes_on_with_changes(stub: Stub) -> None:
    async with asked(stub) as session:
        response = await session.get(f"{CLAIMS}?{STREAM}", read_bufsize=2**20)
        lines = [await _event(response) for _ in range(VMS + 1)]
        assert {line["type"] for line in lines[:-1]} == {"ADDED"}
        assert lines[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        orders = Orders(lambda change: stub.storage.prepared(change, 10), stub.publish)
        done = await orders.carry_out(Order(seconds=0.05, claims=100))
        changed = [await _event(response) for _ in range(done["sent"])]
    first = changed[0]["object"]["metadata"]
    assert changed[0]["type"] == "MODIFIED"
    assert first["name"] == done["lost"][0][0]
    assert LABEL not in first["labels"]
    versions = [int(line["object"]["metadata"]["resourceVersion"]) for line in (lines[-1], *changed)]
    assert versions == sorted(set(versions))


async def test_an_object_that_was_changed_is_listed_as_it_is_now(stub: Stub) -> None:
    orders = Orders(lambda change: stub.storage.prepared(change, 1), stub.publish)
    done = await orders.carry_out(Order(seconds=0.02, claims=50))
    name = done["lost"][0][0]
    async with asked(stub) as session:
        listed = await (await session.get(CLAIMS)).json()
        unknown = await session.get("/apis/k8s.cni.cncf.io/v1alpha1/nothings")
    claims = {item["metadata"]["name"]: item for item in listed["items"]}
    assert LABEL not in claims[name]["metadata"]["labels"]
    assert unknown.status == 404


async def _event(response: aiohttp.ClientResponse) -> Any:
    return json.loads(await response.content.readline())
