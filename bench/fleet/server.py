"""The API server of a run, real or stub, as the driver has it: a kubeconfig, and orders for changes."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.fleet.orders import Order
from bench.fleet.process import Child

__all__ = ["Server"]


class Server:
    """Serves a fleet while entered; ready once it is."""

    def __init__(self, kind: str, vms: int, folder: Path, traits: Mapping[str, bool]) -> None:
        """`traits` are the fields of the `Fleet` that are true or false."""
        options = [f"--{name}" for name, has in traits.items() if has]
        command = [sys.executable, "-m", f"bench.fleet.{kind}", str(vms), *options]
        self._child = Child(command, folder / f"{kind}.log")
        self.kubeconfig = folder / f"{kind}.kubeconfig"

    def __enter__(self) -> Server:
        ready = json.loads(self._child.line())
        authority = base64.b64encode(ready["ca"].encode()).decode()
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "bench",
            "clusters": [
                {"name": "bench", "cluster": {"server": ready["server"], "certificate-authority-data": authority}}
            ],
            "users": [{"name": "bench", "user": {"token": ready.get("token", "anybody")}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        }
        self.kubeconfig.write_text(json.dumps(content), encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._child.finish()  # a signal would leave the API server and etcd
        self._child.__exit__()

    def begin(self, order: Order) -> None:
        self._child.say(json.dumps(asdict(order)))

    def done(self) -> dict[str, Any]:
        """What became of the order that was begun; waits for it."""
        answer: dict[str, Any] = json.loads(self._child.line())
        return answer
