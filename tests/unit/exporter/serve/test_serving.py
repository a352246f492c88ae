"""`steward serve` as a process: what must not end it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from ....cluster.process import free_ports
from ....fakeapi.apiserver import FakeApiServer
from ....secure_server import config


@asynccontextmanager
async def serving(folder: Path, stderr: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    server = FakeApiServer()
    await server.start()
    (port,) = free_ports(1)
    path = config(folder / "kubeconfig", server.url, {"token": "t"})
    words = ("-m", "exporter", "serve", "--kubeconfig", path, "--listen", f"127.0.0.1:{port}", "--insecure")
    with stderr.open("ab") as file:
        process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=file, stderr=file)
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await server.stop()


async def until_ready(process: asyncio.subprocess.Process, url: str) -> None:
    async with asyncio.timeout(60), aiohttp.ClientSession() as http:
        while process.returncode is None:
            try:
                async with http.get(f"{url}/readyz") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.05)
    pytest.fail(f"it ended with {process.returncode}")


async def test_a_hangup_without_a_configuration_file_is_answered_with_a_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with serving(tmp_path, log) as (process, url):
        await until_ready(process, url)
        process.send_signal(signal.SIGHUP)
        await until_ready(process, url)
        process.terminate()
        assert await process.wait() == 0
    said = 'event="nothing to reload" why="there is no configuration file; name one with --config"'
    assert said in log.read_text()


async def test_a_full_disk_behind_its_output_does_not_keep_it_from_serving(tmp_path: Path) -> None:
    async with serving(tmp_path, Path("/dev/full")) as (process, url):
        await until_ready(process, url)
        process.send_signal(signal.SIGHUP)  # logs a line
        await until_ready(process, url)
