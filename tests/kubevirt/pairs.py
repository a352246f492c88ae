"""A migration between two namespaces: a VM that waits to receive, a migration at each end, and who keeps the two VMIs
informed of each other, in place of virt-synchronization-controller.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from tests.cluster.client import ApiError
from tests.cluster.resources import VMIMS
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["GATE", "Pair"]

GATE = "DecentralizedLiveMigration"
ADDRESS = "10.0.0.1:9185"


class Pair:
    """Of a VM that runs in one namespace; `start`, then `until` it has come to the other one."""

    def __init__(self, source: Stage, target: Stage, name: str) -> None:
        self._source, self._target, self._name = source, target, name

    def start(self) -> None:
        self._target.vm(self._name, strategy="WaitAsReceiver", eviction="LiveMigrate")
        wait_until(lambda: self._target.vmi(self._name), 60, f"{self._name} waits to receive")
        self._migrate(self._target, receive={"migrationID": self._name})
        self._migrate(self._source, sendTo={"migrationID": self._name, "connectURL": ADDRESS})

    def _migrate(self, stage: Stage, **end: Object) -> None:
        meta = {"namespace": stage.namespace, "generateName": "pair-"}
        kind = {"apiVersion": VMIMS.api_version, "kind": "VirtualMachineInstanceMigration"}
        stage.client.create({**kind, "metadata": meta, "spec": {"vmiName": self._name, **end}})

    def until(self, predicate: Callable[[], object], what: str) -> None:
        """Keeps both ends informed until this is so."""

        def there() -> bool:
            self._inform()
            return bool(predicate())

        wait_until(there, 90, what, every=0.2)

    def _inform(self) -> None:
        here, there = self._source.vmi(self._name), self._target.vmi(self._name)
        if here is None or there is None:
            return
        before, after = _state(here), _state(there)
        if sent := before.get("sourceState"):
            known = {"sourceState": {**sent, "syncAddress": ADDRESS}}
            self._write(self._target, there, {**known, **_plain(sent, "source")})
        if got := after.get("targetState"):
            self._write(self._source, here, {"targetState": {"syncAddress": ADDRESS, **got}, **_plain(got, "target")})

    def _write(self, stage: Stage, vmi: Object, known: Object) -> None:
        changed = copy.deepcopy(vmi)
        changed["status"]["migrationState"] = {**_state(vmi), **known}
        if changed == vmi:
            return
        try:
            stage.control_plane.vms.handler("node01").update(changed)
        except ApiError as error:
            if error.code != 409:  # the next round sees what came between
                raise


def _state(vmi: Object) -> Object:
    return vmi["status"].get("migrationState") or {}


def _plain(end: Object, which: str) -> Object:
    """The fields that migrations within a cluster have."""
    return {f"{which}{field.capitalize()}": end[field] for field in ("node", "pod") if end.get(field)}
