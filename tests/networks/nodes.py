"""The nodes: they give signs of life all the time, in a thread, so that Kubernetes' own controller has them Ready."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.cluster.client import Client
from tests.cluster.resources import NODES as RESOURCE
from tests.kubevirt.installation import node_of_vms
from tests.kubevirt.orders import now, true
from tests.kubevirt.signs import BEATS, Signs
from tests.waiting import wait_until

__all__ = ["NODES", "Nodes"]

NODES = ("node01", "node02")


class Nodes:
    """`client` makes one of the admin's; what went wrong is reported in `log`."""

    def __init__(self, client: Callable[[], Client], log: Path) -> None:
        self._make, self._log = client, log
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nodes", daemon=True)

    def start(self) -> None:
        """Makes them, and returns when each takes pods: a new one is tainted until its controller sees it Ready."""
        client = self._make()
        for name in NODES:
            client.create(node_of_vms(name))
        self._thread.start()
        for name in NODES:
            wait_until(lambda name=name: _takes_pods(client, name), 60, f"{name} is Ready and not tainted")  # type: ignore[misc]

    def stop(self) -> None:
        self._ends.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def _run(self) -> None:
        client = self._make()
        signs = Signs(client)
        while True:
            try:
                for node in client.list(RESOURCE)["items"]:
                    signs.give(node)
            except Exception as error:  # noqa: BLE001 - whatever it is, the nodes live on
                with self._log.open("a", encoding="utf-8") as log:
                    print(now(), *traceback.format_exception(error), file=log)
            if self._ends.wait(BEATS):
                return


def _takes_pods(client: Client, name: str) -> bool:
    node = client.get(RESOURCE, None, name)
    return true(node, "Ready") and not node["spec"].get("taints")
