"""A real Alertmanager on loopback, with its data in a folder that goes when it stops."""

from __future__ import annotations

import json
import shutil
import tempfile
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.cluster.process import Process, answers, free_ports
from tests.manifests import Object

__all__ = ["Alertmanager"]


class Alertmanager:
    """One server. It sends alerts as `config` says, and else none."""

    def __init__(self, binary: Path, config: Object | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="steward-alertmanager-"))
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        self.url = f"http://{self.address}"
        route = {"receiver": "steward", "group_by": ["..."], "group_wait": "0s", "group_interval": "1s"}
        file = self.folder / "alertmanager.yml"
        file.write_text(
            json.dumps(config or {"route": route, "receivers": [{"name": "steward"}]}), encoding="utf-8"
        )  # JSON is YAML
        command: list[str | Path] = [
            *(binary, "--config.file", file, "--storage.path", self.folder / "data", "--log.level", "warn"),
            *("--web.listen-address", self.address, "--cluster.listen-address", ""),
        ]
        self._process = Process("alertmanager", command, self.folder / "alertmanager.log")

    def start(self) -> None:
        self._process.start(lambda: answers(f"{self.url}/-/ready"))

    def stop(self) -> None:
        self._process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def fire(self, labels: Mapping[str, str], **more: str) -> None:
        """`more` may have `endsAt`."""
        self._ask("alerts", [{"labels": dict(labels), **more}])

    def fire_all(self, alerts: Iterable[Mapping[str, str]]) -> None:
        """All at once, by their labels."""
        self.post([{"labels": dict(labels)} for labels in alerts])

    def post(self, alerts: list[Object]) -> None:
        """As the API wants them: `[{"labels": {...}, "annotations": {...}}, ...]`."""
        self._ask("alerts", alerts)

    def alerts(self) -> list[Object]:
        """`[{"labels": {...}, "status": {"state": "active", "silencedBy": [...], ...}, ...}, ...]`."""
        return list(self._ask("alerts"))

    def silence(self, silence: Mapping[str, Any]) -> str:
        """Its ID."""
        return str(self._ask("silences", silence)["silenceID"])

    def silences(self) -> bytes:
        """All of them, as they come."""
        with urllib.request.urlopen(f"{self.url}/api/v2/silences", timeout=30) as response:
            return bytes(response.read())

    def expire(self, silence_id: str) -> None:
        self._ask(f"silence/{silence_id}", method="DELETE")

    def _ask(self, path: str, body: Any = None, method: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/v2/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read() or b"null")
