"""A plain HTTP client for tests of the API server of this process, and the fixtures around it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from demo.apiserver.listing import WatchPace
from tests.fakeapi.apiserver import FakeApiServer

Obj = dict[str, Any]

CLAIMS = "/apis/k8s.cni.cncf.io/v1alpha1/ipamclaims"
IN_SHOP = "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/shop/ipamclaims"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


def claim(name: str, namespace: str = "shop", **metadata: Any) -> Obj:
    return {
        "apiVersion": "k8s.cni.cncf.io/v1alpha1",
        "kind": "IPAMClaim",
        "metadata": {"name": name, "namespace": namespace} | metadata,
        "spec": {"network": "shopnet", "interface": ""},
    }


def pod(name: str, namespace: str = "shop", *, node: str = "node01", phase: str = "Running") -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


class Lines:
    """The events of one open watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def raw(self) -> bytes:
        return await self.response.content.readline()

    async def next(self) -> Obj:
        line: Obj = json.loads(await self.raw())
        return line

    async def take(self, count: int) -> list[tuple[str, str]]:
        """The next events, as type and name."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]

    async def rest(self) -> list[Obj]:
        return [json.loads(line) async for line in self.response.content]


class Client:
    def __init__(self, server: FakeApiServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.session = session

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        """Status and decoded body; query parameters as keywords, a content type as `sent_as`."""
        headers = {"Content-Type": options.pop("sent_as", "application/json")}
        data = None if body is None else json.dumps(body)
        async with self.session.request(
            method, self.server.url + path, data=data, headers=headers, params=_query(options)
        ) as response:
            text = await response.text()
            return response.status, json.loads(text) if response.content_type == "application/json" else text

    async def get(self, path: str, **query: Any) -> Any:
        status, body = await self.call("GET", path, **query)
        assert status == 200, body
        return body

    async def names(self, path: str, **query: Any) -> list[str]:
        return [item["metadata"]["name"] for item in (await self.get(path, **query))["items"]]

    @asynccontextmanager
    async def watch(self, path: str, **query: Any) -> AsyncIterator[Lines]:
        params = _query({"watch": "true"} | query)
        async with self.session.get(self.server.url + path, params=params) as response:
            assert response.status == 200, await response.text()
            yield Lines(response)


def _query(options: dict[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in options.items()}


@asynccontextmanager
async def running(pace: WatchPace | None = None, history: int = 10_000) -> AsyncIterator[Client]:
    server = FakeApiServer(pace=pace, history=history)
    await server.start()
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
            yield Client(server, session)
    finally:
        await server.stop()
