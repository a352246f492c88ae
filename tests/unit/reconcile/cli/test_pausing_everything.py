"""`steward reconcile pause` and `resume` of everything find the sidecar's Lease, from wherever they are called."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from demo.apiserver.server import ApiServer, kubeconfig
from exporter.__main__ import main
from reconcile.plan.annotations import PAUSED, RESUMED

LEASE = "kubevirt-steward-reconcile"


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiServer]:
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    made = ApiServer()
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


def path(server: ApiServer, namespace: str) -> str:
    return f"{server.url}/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


async def create(server: ApiServer, namespace: str, name: str = LEASE) -> None:
    async with aiohttp.ClientSession() as session:
        await session.post(f"{server.url}/api/v1/namespaces", json={"metadata": {"name": namespace}})
        async with session.post(path(server, namespace), json={"metadata": {"name": name}, "spec": {}}) as answer:
            assert answer.status == 201


async def found_on(server: ApiServer, namespace: str, name: str = LEASE) -> dict[str, str]:
    async with aiohttp.ClientSession() as session, session.get(f"{path(server, namespace)}/{name}") as answer:
        found: dict[str, str] = (await answer.json())["metadata"].get("annotations", {})
    return found


async def steward(verb: str, folder: Path, server: ApiServer, *more: str) -> int:
    given = kubeconfig(folder, server.url)
    return await asyncio.to_thread(main, ["reconcile", verb, "--kubeconfig", str(given), *more])


async def test_the_lease_is_found_in_whatever_namespace_it_is(server: ApiServer, tmp_path: Path) -> None:
    await create(server, "steward")
    await create(server, "steward", "another")

    assert await steward("pause", tmp_path, server, "--because", "change freeze") == 0
    paused = await found_on(server, "steward")
    assert paused[PAUSED].startswith("change freeze (")
    assert PAUSED not in await found_on(server, "steward", "another")

    assert await steward("resume", tmp_path, server) == 0
    resumed = await found_on(server, "steward")
    assert PAUSED not in resumed
    assert RESUMED in resumed


@pytest.mark.parametrize(("namespaces", "where"), [((), "doesn't exist"), (("a", "b"), "exists in namespaces a, b")])
async def test_none_and_several_leases_pause_nothing(
    namespaces: tuple[str, ...], where: str, server: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for namespace in namespaces:
        await create(server, namespace)

    assert await steward("pause", tmp_path, server) == 2
    said = capsys.readouterr().err
    assert f"Lease {LEASE} {where}. Set lease.namespace and lease.name" in said
    assert not any([PAUSED in await found_on(server, namespace) for namespace in namespaces])
