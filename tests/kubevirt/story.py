"""What an exporter finds of VMs that are to leave their node, while tests let that happen."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from tests.cluster.exporter import Exporter
from tests.kubevirt.installation import NODES
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["Story"]


class Story:
    """What is found of each VM as it happens, and how long after."""

    def __init__(self, exporter: Exporter, stage: Stage) -> None:
        self._exporter, self._stage = exporter, stage
        self.slowest = 0.0

    def blocked(self) -> dict[str, str]:
        """Why each VM does not leave, of those that do not."""
        query = f"?check=evictions&severity=warning,critical&namespace={self._stage.namespace}"
        return {f["subject"]["name"]: f["reason"] for f in self._exporter.report(query)["findings"]}

    def cause(self, name: str) -> object:
        findings = self._exporter.report(f"?check=evictions&namespace={self._stage.namespace}")["findings"]
        return next(f["evidence"].get("cause") for f in findings if f["subject"]["name"] == name)

    def comes_to(self, wanted: dict[str, str], shown: Callable[[], object] = lambda: True) -> None:
        """Until just this is found. `shown` is true once it has happened in the cluster; the time from there counts."""
        wait_until(shown, 90, f"what leads to {wanted}", every=0.02)
        started = time.monotonic()
        wait_until(lambda: self.blocked() == wanted, 30, f"{wanted} is found", every=0.02)
        self.slowest = max(self.slowest, time.monotonic() - started)

    def drain(self, node: str = NODES[0]) -> dict[str, Object]:
        status, body = self._exporter.get(f"/api/v1/drain?node={node}")
        assert status == 200, body
        (drained,) = json.loads(body)["nodes"]
        return {vm["vm"]["name"]: vm for vm in drained["vms"]}
