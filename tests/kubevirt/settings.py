"""The KubeVirt object's configuration, changed as an admin changes it, and put back at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from tests.cluster.client import ApiError, Client
from tests.cluster.resources import KUBEVIRTS
from tests.kubevirt.installation import NAMESPACE
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["KUBEVIRT", "Settings", "settings_of"]

KUBEVIRT = "kubevirt"


class Settings:
    """`before` is the configuration that the other tests have."""

    def __init__(self, admin: Client) -> None:
        self._admin = admin
        self.before: Object = self.kubevirt()["spec"]["configuration"]

    def kubevirt(self) -> Object:
        return self._admin.get(KUBEVIRTS, NAMESPACE, KUBEVIRT)

    def put(self, configuration: Object, taken: Callable[[], object]) -> None:
        """The whole configuration; returns when `taken`, which is to ask what KubeVirt does by then, is true."""
        self._put(configuration)
        wait_until(taken, 30, "KubeVirt goes by its new configuration", every=0.02)

    def gates(self, *names: str, taken: Callable[[], object]) -> None:
        """These beside the ones that were there before."""
        after = deepcopy(self.before)
        after["developerConfiguration"]["featureGates"] += names
        self.put(after, taken)

    def updates(self, *methods: str) -> None:
        """How VMs are updated that run otherwise than KubeVirt would start them now; without any, not at all."""
        self._write({"spec": {"workloadUpdateStrategy": {"workloadUpdateMethods": list(methods)}}})

    def restore(self) -> None:
        self.updates()
        self._put(self.before)

    def _put(self, configuration: Object) -> None:
        self._write(({"op": "replace", "path": "/spec/configuration", "value": configuration},))

    def _write(self, change: Any) -> None:
        wait_until(lambda: self._accepted(change), 60, "virt-operator takes the configuration")

    def _accepted(self, change: Any) -> bool:
        """Its webhook is away for a while after virt-operator was."""
        try:
            self._admin.patch(KUBEVIRTS, NAMESPACE, KUBEVIRT, change)
        except ApiError as error:
            if "failed calling webhook" in error.message:
                return False
            raise
        return True


@contextmanager
def settings_of(admin: Client) -> Iterator[Settings]:
    settings = Settings(admin)
    try:
        yield settings
    finally:
        settings.restore()
