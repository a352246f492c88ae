"""subresources.kubevirt.io: what virtctl asks virt-api for, and what that writes for virt-controller to answer.

Nobody answers here: there is no controller. A VMI whose VM is stopped goes at once.
"""

from collections.abc import Callable

from .calls import ApiCall
from .errors import ApiError, no_such_subresource
from .registry import Registry, merged
from .resources import RESOURCES, Obj
from .storage import Storage

PREFIX = "/apis/subresources.kubevirt.io/v1/namespaces/"
_VMS, _VMIS, _MIGRATIONS = (
    next(each for each in RESOURCES if each.kind == kind)
    for kind in ("VirtualMachine", "VirtualMachineInstance", "VirtualMachineInstanceMigration")
)
Key = tuple[str, str]


class SubresourceHandler:
    def __init__(self, storage: Storage) -> None:
        self._registry = Registry(storage)
        self._actions: dict[tuple[str, str], Callable[[Key, Obj], None]] = {
            ("virtualmachines", "start"): self._start,
            ("virtualmachines", "stop"): self._stop,
            ("virtualmachines", "restart"): self._restart,
            ("virtualmachines", "migrate"): self._migrate,
            ("virtualmachineinstances", "evacuate/cancel"): self._cancel_evacuation,
        }

    def put(self, call: ApiCall) -> tuple[int, bytes]:
        """HTTP status and body. What is asked for is accepted, and not done yet."""
        namespace, plural, name, *rest = [*call.path.removeprefix(PREFIX).split("/"), "", ""]
        action = self._actions.get((plural, "/".join(filter(None, rest))))
        if action is None or call.method != "PUT":
            raise no_such_subresource()
        asked = call.json() if call.body.strip() else {}
        if not asked.get("dryRun"):
            action((namespace, name), asked)
        return 202, b""

    def _start(self, key: Key, _: Obj) -> None:
        self._run(key, "Always", starts=True)

    def _stop(self, key: Key, _: Obj) -> None:
        vmi = self._vmi(key)
        if vmi is None:
            raise _conflict(_VMS.plural, key[1], "VM is not running")
        self._run(key, "Halted", starts=False)
        self._registry.update(_VMIS, merged(vmi, {"metadata": {"finalizers": None}}))
        self._registry.delete(_VMIS, key)

    def _restart(self, key: Key, _: Obj) -> None:
        vmi = self._vmi(key)
        if vmi is None:
            raise _conflict(_VMS.plural, key[1], "VM is not running")
        requests = [{"action": "Stop", "uid": vmi["metadata"]["uid"]}, {"action": "Start"}]
        self._merge_vm(key, {"status": {"stateChangeRequests": requests}})

    def _migrate(self, key: Key, _: Obj) -> None:
        if self._vmi(key) is None:
            raise _conflict(_VMS.plural, key[1], "VM is not running")
        name = f"kubevirt-migrate-vm-{self._registry.read(_VMIS, key).version}"
        self._registry.create(
            _MIGRATIONS, {"metadata": {"namespace": key[0], "name": name}, "spec": {"vmiName": key[1]}}
        )

    def _cancel_evacuation(self, key: Key, asked: Obj) -> None:
        vmi = self._registry.read(_VMIS, key).body
        node = vmi.get("status", {}).get("evacuationNodeName", "")
        if asked.get("evacuationNodeName", node) != node:
            raise _conflict(_VMIS.plural, key[1], f"VMI has no evacuation request for {asked['evacuationNodeName']}")
        self._registry.update(_VMIS, merged(vmi, {"status": {"evacuationNodeName": None}}))

    def _run(self, key: Key, strategy: str, *, starts: bool) -> None:
        """By the field that the VM has for it: one excludes the other."""
        spec = self._registry.read(_VMS, key).body.get("spec", {})
        self._merge_vm(key, {"spec": {"running": starts} if "running" in spec else {"runStrategy": strategy}})

    def _merge_vm(self, key: Key, patch: Obj) -> None:
        self._registry.update(_VMS, merged(self._registry.read(_VMS, key).body, patch))

    def _vmi(self, key: Key) -> Obj | None:
        self._registry.read(_VMS, key)
        try:
            return self._registry.read(_VMIS, key).body
        except ApiError:
            return None


def _conflict(plural: str, name: str, why: str) -> ApiError:
    text = f'Operation cannot be fulfilled on {plural}.kubevirt.io "{name}": {why}'
    return ApiError(409, "Conflict", text, details={"name": name, "group": "kubevirt.io", "kind": plural})
