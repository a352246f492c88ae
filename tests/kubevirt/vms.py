"""What a control plane acts on and tests have none of: nodes, kubelets, virt-handlers and guests, in a thread.

It looks at all nodes, pods and VMIs a few times a second and does what is due. It keeps no state of its own but
`orders`, so a write that comes too late (409, 404) is one that the next round makes or finds superfluous.
"""

from __future__ import annotations

import contextlib
import http.client
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.cluster.client import ApiError, Client
from tests.cluster.resources import NODES, PODS, VMIS, Resource
from tests.kubevirt.handler import Handler
from tests.kubevirt.kubelet import Kubelet
from tests.kubevirt.orders import Orders, World, now
from tests.manifests import Object

__all__ = ["VMs"]

EVERY = 0.2
HANDLER = "system:serviceaccount:kubevirt:kubevirt-handler"
NODE_EXTRA = "Impersonate-Extra-authentication.kubernetes.io%2Fnode-name"
LATE = (http.client.CONFLICT, http.client.NOT_FOUND)


class VMs:
    """`client` makes one of the admin's, with headers; what went wrong is reported in `log`."""

    def __init__(self, client: Callable[..., Client], addresses: Mapping[str, str], log: Path) -> None:
        self.orders = Orders()
        self._make, self._addresses, self._log = client, addresses, log
        self._handlers: dict[str, Client] = {}
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vms", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ends.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def _run(self) -> None:
        client = self._make()
        parts = Kubelet(client, self._addresses), Handler(self.handler)
        while not self._ends.wait(EVERY):
            with self._reporting():
                world = self._look(client)
                for step in (step for part in parts for step in part.steps(world)):
                    with self._reporting():
                        step()

    def _look(self, client: Client) -> World:
        return World(_all(client, NODES), _all(client, PODS), _all(client, VMIS), self.orders)

    def handler(self, node: str) -> Client:
        """virt-handler's ServiceAccount, as its pod on this node has it."""
        if node not in self._handlers:
            headers = {"Impersonate-User": HANDLER, "Impersonate-Group": "system:serviceaccounts", NODE_EXTRA: node}
            self._handlers[node] = self._make(**headers)
        return self._handlers[node]

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Reports what failed, and goes on: what is still due is seen in the next round."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the nodes live on
            if not (isinstance(error, ApiError) and error.code in LATE):
                with self._log.open("a", encoding="utf-8") as log:
                    print(now(), *traceback.format_exception(error), file=log)


def _all(client: Client, resource: Resource) -> tuple[Object, ...]:
    """Of all namespaces, as the API server has them at hand; none while it does not know the kind."""
    try:
        return tuple(client.list(resource, resourceVersion="0")["items"])
    except ApiError as error:
        if error.code == http.client.NOT_FOUND:
            return ()
        raise
