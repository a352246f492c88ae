"""`steward demo` as somebody starts it, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["Demo", "running_demo"]


@dataclass(frozen=True)
class Demo:
    """`said` are the lines on the terminal; `url` ends with a slash."""

    url: str
    kubeconfig: str
    said: list[str]

    def findings(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self.url}api/v1/findings", timeout=30) as answer:
            found: list[dict[str, Any]] = json.load(answer)["findings"]
            return found

    def reasons(self) -> set[str]:
        return {each["reason"] for each in self.findings()}


@asynccontextmanager
async def running_demo() -> AsyncIterator[Demo]:
    """On a free port, once it has said what there is. Its story stands still."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "exporter", "demo", "--listen", "127.0.0.1:0", "--pace", "3600"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    said: list[str] = []
    try:
        async with asyncio.timeout(180):
            while not said or not said[-1].startswith("Page: "):
                said.append((await process.stdout.readline()).decode().rstrip("\n"))
        (kubeconfig,) = re.findall(r"KUBECONFIG=(\S+)", "\n".join(said))
        yield Demo(said[-1].removeprefix("Page: "), kubeconfig, said)
    finally:
        process.terminate()
        await process.wait()
