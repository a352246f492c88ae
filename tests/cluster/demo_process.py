"""`steward demo` as somebody starts it, in a process of its own."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.process import Process

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


@contextmanager
def running_demo() -> Iterator[Demo]:
    """On a free port, once it has said what there is. Its story stands still."""
    with tempfile.TemporaryDirectory(prefix="steward-demo-test-") as folder:
        log = Path(folder) / "demo.log"
        words = (sys.executable, "-m", "exporter", "demo", "--listen", "127.0.0.1:0", "--pace", "3600")
        process = Process("steward demo", words, log)
        process.start(lambda: re.search(r"^Web UI: .*\n", log.read_text(encoding="utf-8"), re.MULTILINE) is not None)
        try:
            text = log.read_text(encoding="utf-8")
            (kubeconfig,) = re.findall(r"KUBECONFIG=(\S+)", text)
            (url,) = re.findall(r"^Web UI: (\S+)$", text, re.MULTILINE)
            yield Demo(url, kubeconfig, text.splitlines())
        finally:
            process.stop()
