"""One controller of networks: a process, and the Deployment that the cluster would show of it.

Nothing schedules or runs pods here, so the Deployment's status is written as its kubelet and its controller would:
ready from when the process answers, not ready from when it was ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from demo.fleet import surroundings as around
from tests.cluster.client import Client
from tests.cluster.process import Process
from tests.cluster.resources import DEPLOYMENTS
from tests.manifests import Object

__all__ = ["Controller", "Place"]


@dataclass(frozen=True)
class Place:
    """Where it is in the cluster, and where its log is."""

    namespace: str
    deployment: str
    log: Path


class Controller:
    def __init__(self, client: Client, place: Place, command: Callable[[Sequence[str]], Sequence[str | Path]]) -> None:
        """`command` makes the command of more flags."""
        self._client, self._place, self._command = client, place, command
        self._process: Process | None = None
        self._read = 0

    def start(self, ready: Callable[[], bool], *flags: str, timeout: float = 180) -> None:
        """Returns when it is ready. RuntimeError with the end of its log if it ends before, or is not in time."""
        self._declare(flags)
        self._read = self._place.log.stat().st_size if self._place.log.exists() else 0
        self._process = Process(self._place.deployment, self._command(flags), self._place.log)
        self._process.start(ready, timeout)
        self._report(ready=True)

    def stop(self) -> None:
        """As a rollout ends it."""
        if self._process is not None:
            self._process.stop()
        self._report(ready=False)

    def uninstall(self) -> None:
        """Its Deployment goes; the next start makes it again."""
        self._client.remove(DEPLOYMENTS, self._place.namespace, self._place.deployment)

    def kill(self) -> None:
        """Without anything that the cluster would show of it: what a test ends with."""
        if self._process is not None:
            self._process.kill()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    def said(self) -> str:
        """Its log since its last start."""
        with self._place.log.open("rb") as file:
            file.seek(self._read)
            return file.read().decode("utf-8", "replace")

    def _declare(self, flags: Sequence[str]) -> None:
        made = around.deployment(self._place.namespace, self._place.deployment, ready=0)
        made["spec"]["template"]["spec"]["containers"][0]["args"] = list(flags)
        found = self._client.find(DEPLOYMENTS, self._place.namespace, self._place.deployment)
        if found is None:
            self._client.make(made)
        else:
            self._client.update({**found, "spec": made["spec"]})

    def _report(self, *, ready: bool) -> None:
        found: Object = self._client.get(DEPLOYMENTS, self._place.namespace, self._place.deployment)
        count, now = int(ready), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {"type": "Available", "status": str(ready), "lastTransitionTime": now, "lastUpdateTime": now}
        status = {"replicas": 1, "readyReplicas": count, "availableReplicas": count, "conditions": [condition]}
        self._client.update_status({**found, "status": status})
