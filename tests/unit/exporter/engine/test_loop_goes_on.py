"""Whatever a client asks for, and however large the fleet: between two answers of `/healthz` is little work."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET
from exporter.store.source import SyncState
from tests.served import Served, served
from tests.unit.exporter.engine.stall_scenes import SCENES, crowd, slower

pytestmark = pytest.mark.long

_CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]
_SIZE = 5000
_LONGEST = 0.1  # seconds of CPU
_ATTEMPTS = 3
_HEAD = 8000  # bytes of a header or path that the server takes


class Beats:
    """How much CPU the event loop spends in one turn, at most."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.longest = max(self.longest, now - before)
            before = now


@asynccontextmanager
async def a_fleet(scene: str, size: int) -> AsyncIterator[Served]:
    """With many of a kind in it, and with real time."""
    async with served(0, checks=_CHECKS, timer=time.thread_time) as made:
        for name in made.evaluation.kinds:
            made.evaluation.sync_state(name, SyncState.LIVE)
        for thing in crowd(scene, size):
            made.evaluation.seen(thing)
        gc.collect()
        gc.freeze()
        try:
            yield made
        finally:
            gc.unfreeze()


async def turns_of(made: Served, path: str, headers: dict[str, str]) -> float:
    beats = Beats()
    running = asyncio.create_task(beats.run())
    status, _, _ = await made.get(path, **headers)
    running.cancel()
    assert status in {200, 302, 304, 400, 401, 403, 404, 405, 413, 414, 421, 431, 503}, status
    return beats.longest


async def shortest(made: Served, path: str, headers: dict[str, str]) -> float:
    taken = [await turns_of(made, path, headers)]
    while min(taken) >= _LONGEST and len(taken) < _ATTEMPTS:
        made.see(f"more-{time.monotonic_ns()}")  # nothing of it is kept
        taken.append(await turns_of(made, path, headers))
    return min(taken)


PAGES = (
    "/",
    "/findings",
    "/findings?namespace=ns",
    "/health",
    "/search?q=db",
    "/vms/ns/db",
    "/metrics",
    "/api/v1/findings",
    "/api/v1/networks",
    "/api/v1/instancetypes",
    "/api/v1/features",
    "/api/v1/drain?node=node01",
    "/drain?node=node01",
    "/api/v1/impact?upgrade-to=1.9.0",
    "/api/v1/vms/ns/db",
)


async def turns_of_all(scene: str) -> dict[str, float]:
    """The longest turn of the evaluation, and of each page."""
    async with a_fleet(scene, _SIZE) as made:
        beats = Beats()
        running = asyncio.create_task(beats.run())
        evaluating = asyncio.create_task(made.engine.run())
        async with asyncio.timeout(300), made.engine.changed:
            await made.engine.changed.wait_for(lambda: made.engine.caught_up)
        running.cancel()
        found = {path: await turns_of(made, path, {}) for path in PAGES}
        evaluating.cancel()
    return found | {"evaluation": beats.longest}


_SEVERAL = ("pdbs_and_vmis", "claims_of_one_vm", "nads_of_one_network")


@pytest.mark.parametrize("scene", SCENES if os.environ.get("FUZZ") == "all" else _SEVERAL)
async def test_no_page_of_a_large_fleet_takes_long_turns(scene: str) -> None:
    taken = await turns_of_all(scene)
    for _ in range(_ATTEMPTS - 1):
        if max(taken.values()) >= _LONGEST:
            again = await turns_of_all(scene)
            taken = {what: min(seconds, again[what]) for what, seconds in taken.items()}
    most = _LONGEST * slower()
    assert {what: round(seconds, 3) for what, seconds in taken.items() if seconds >= most} == {}


ODD = {
    "spaces for a tag": ("/", {"If_None_Match": "x" + " " * _HEAD + "x"}),
    "commas for tags": ("/", {"If_None_Match": "," * _HEAD}),
    "quotes for tags": ("/", {"If_None_Match": '"' * _HEAD}),
    "weak tags": ("/api/v1/findings", {"If_None_Match": 'W/"a",' * (_HEAD // 6)}),
    "codings": ("/", {"Accept_Encoding": "a;q=0.1," * (_HEAD // 8)}),
    "kinds of media": ("/metrics", {"Accept": "a/b;q=0.1," * (_HEAD // 10)}),
    "a language of dashes": ("/", {"Accept_Language": "-" * _HEAD}),
    "cookies": ("/", {"Cookie": "a=b;" * (_HEAD // 4)}),
    "a token of dots": ("/", {"Authorization": "Bearer " + "." * (_HEAD - 100)}),
    "a password": ("/", {"Authorization": "Basic " + "A" * (_HEAD - 100)}),
    "a host of colons": ("/", {"Host": ":" * _HEAD}),
    "a host of brackets": ("/", {"Host": "[" * _HEAD}),
    "a foreign page": ("/", {"Origin": "http://" + "a." * 3000, "Sec_Fetch_Site": "cross-site"}),
    "digits of seconds": (f"/api/v1/findings?wait={'9' * 7000}", {}),
    "points of seconds": (f"/api/v1/findings?wait={'.' * 7000}", {}),
    "digits of a generation": (f"/api/v1/findings?generation={'1' * 7000}", {}),
    "a long namespace": (f"/api/v1/findings?namespace={'a-' * 3500}", {}),
    "many namespaces": ("/api/v1/findings?" + "namespace=a&" * 600, {}),
    "many checks": ("/api/v1/findings?" + "check=a&" * 800, {}),
    "many nodes": ("/api/v1/drain?" + "node=a&" * 1000, {}),
    "a long name of a VM": (f"/api/v1/vms/ns/{'a-' * 3500}", {}),
    "gates": ("/api/v1/impact?" + "disable=A&" * 700, {}),
    "settings": ("/api/v1/impact?" + "set=a.b%3D1&" * 600, {}),
    "a deep setting": (f"/api/v1/impact?set={'a.' * 3000}b%3D1", {}),
    "a setting of brackets": (f"/api/v1/impact?set=a%3D{'[' * 6000}", {}),
    "a long release": (f"/api/v1/impact?upgrade-to={'1.' * 3500}", {}),
    "a long runbook": ("/runbooks/" + "a" * 7000, {}),
    "steps up": ("/runbooks/" + "%2e%2e%2f" * 800, {}),
    "escapes": ("/" + "%25" * 2600, {}),
    "ampersands": ("/findings?" + "&" * 7000, {}),
    "semicolons": ("/findings?" + ";=" * 3500, {}),
}


@pytest.mark.parametrize(("path", "headers"), ODD.values(), ids=ODD)
async def test_no_request_takes_long_turns(path: str, headers: dict[str, str]) -> None:
    async with served(1000) as made:
        assert await shortest(made, path, headers) < _LONGEST
