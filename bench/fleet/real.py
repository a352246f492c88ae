"""A real API server with a fleet in it, in a process of its own; changes are written to it as controllers write them.

The fleet is put into etcd itself: through the API server it would take an hour for what takes a minute, and it would be
read the same. CRDs are the real ones where the reference data has them.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import ssl
import urllib.request
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import aiohttp

from bench.fleet.changes import CHANGES, chosen
from bench.fleet.orders import OBJECTS, Orders, say
from bench.fleet.population import Fleet
from demo.apiserver.resources import RESOURCES, Obj, ServedResource
from tests.cluster.apiserver import ApiServer
from tests.cluster.custom_resources import crds, install
from tests.tools.build import tool

_TOGETHER = 40  # puts of one transaction
_THEIRS = {("Namespace", "default"), ("Namespace", "kube-system")}  # the API server makes them itself
_AT_ONCE = 16  # writes that are under way
_STATUS = ("Node", "Pod", "VirtualMachine")  # whose status is written apart; others have it in the object

Patch = tuple[str, bytes]


class Writer:
    """Sends changes without waiting for the answers, as long as there are few that are missing."""

    def __init__(self, server: ApiServer, objects: dict[str, list[Obj]]) -> None:
        self._server, self._objects = server, objects
        self._room = asyncio.Semaphore(_AT_ONCE)
        context = ssl.create_default_context(cafile=str(server.ca_file))
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=_AT_ONCE))
        self._headers = {
            "Authorization": f"Bearer {server.token('admin')}",
            "Content-Type": "application/merge-patch+json",
        }
        self._tasks: set[asyncio.Task[None]] = set()

    def ready(self, change: str) -> Iterator[tuple[str, Patch, Patch]]:
        of = CHANGES[change]
        rows = self._objects[of.kind]
        resource = next(each for each in RESOURCES if each.kind == of.kind)
        for place in chosen(change, len(rows), OBJECTS):
            obj = rows[place]
            if "labels" not in obj["metadata"]:
                continue
            there, back = of.changed(obj, True), of.changed(obj, False)
            path = _path(resource, obj) + ("/status" if of.kind in _STATUS else "")
            yield obj["metadata"]["name"], (path, _patch(back, there)), (path, _patch(there, back))

    async def send(self, patch: Patch) -> None:
        await self._room.acquire()
        task = asyncio.create_task(self._send(*patch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, path: str, body: bytes) -> None:
        try:
            async with self._session.patch(self._server.url + path, data=body, headers=self._headers) as response:
                text = await response.text()
                if response.status != 200:
                    raise SystemExit(f"the API server refuses a change of {path}: {text[:300]}")
        finally:
            self._room.release()


def _patch(old: Any, new: Any) -> bytes:
    return json.dumps(_difference(old, new)).encode()


def _difference(old: Obj, new: Obj) -> Obj:
    """The merge patch that makes the new of the old."""
    gone: Obj = dict.fromkeys(old.keys() - new.keys())
    changed = {key: value for key, value in new.items() if key not in old or old[key] != value}
    return gone | {
        key: _difference(old[key], value) if isinstance(value, dict) and isinstance(old.get(key), dict) else value
        for key, value in changed.items()
    }


def _path(resource: ServedResource, obj: Obj) -> str:
    meta = obj["metadata"]
    base = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    place = f"/namespaces/{meta['namespace']}" if resource.namespaced else ""
    return f"{base}{place}/{resource.plural}/{meta['name']}"


def _key(resource: ServedResource, obj: Obj) -> str:
    """Where the API server looks for it in etcd."""
    meta = obj["metadata"]
    own = resource.custom and not resource.group.endswith(".k8s.io")
    folder = f"{resource.group}/{resource.plural}" if own else resource.plural
    place = [meta["namespace"]] if resource.namespaced else []
    return "/".join(("/registry", {"nodes": "minions"}.get(folder, folder), *place, meta["name"]))


def store(etcd: str, objects: Iterable[Obj]) -> dict[str, list[Obj]]:
    """Puts all into etcd; gives them by kind."""
    by_kind: dict[str, list[Obj]] = {}
    puts: list[Obj] = []
    resources = {(each.api_version, each.kind): each for each in RESOURCES}
    for obj in objects:
        if (obj["kind"], obj["metadata"]["name"]) in _THEIRS:
            continue
        by_kind.setdefault(obj["kind"], []).append(obj)
        key = _key(resources[obj["apiVersion"], obj["kind"]], obj)
        value = json.dumps(obj, separators=(",", ":"))
        puts.append({"requestPut": {"key": _base64(key), "value": _base64(value)}})
        if len(puts) == _TOGETHER:
            _commit(etcd, puts)
            puts = []
    _commit(etcd, puts)
    return by_kind


def _commit(etcd: str, puts: list[Obj]) -> None:
    request = urllib.request.Request(f"{etcd}/v3/kv/txn", json.dumps({"success": puts}).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def _follow(server: ApiServer, objects: dict[str, list[Obj]]) -> None:
    writer = Writer(server, objects)
    say({"server": server.url, "ca": server.ca_file.read_text(), "token": server.token("admin")})
    await Orders(writer.ready, writer.send).follow()


def serve(fleet: Fleet) -> None:
    server = ApiServer(tool("etcd"), tool("kube-apiserver"))
    try:
        server.start()
        install(server.client(), crds())
        objects = store(f"http://127.0.0.1:{server.ports[1]}", fleet.objects())
        asyncio.run(_follow(server, objects))
    finally:
        server.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vms", type=int)
    parser.add_argument("--revisions", action="store_true")
    parser.add_argument("--unlike", action="store_true")
    given = parser.parse_args()
    serve(Fleet(given.vms, datetime.now(UTC), given.revisions, given.unlike))
