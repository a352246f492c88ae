"""A transport by a kubeconfig, in an environment without others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from exporter.kube.transport import Transport


@asynccontextmanager
async def opened(kubeconfig: str | None, context: str | None = None, **options: Any) -> AsyncIterator[Transport]:
    transport = Transport.from_environment(kubeconfig, context, **options)
    try:
        yield transport
    finally:
        await transport.close()


async def get(transport: Transport, path: str = "/version") -> bytes:
    async with transport.open("GET", path, read_seconds=5) as response:
        return await response.read()


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
