"""Templates of pools and replica sets that set a firmware UUID: all that is made from one has the same.

Not seen here: templates outside the cluster, such as charts, and those of virt-template, which leaves the UUID out.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.acts import Act
from ...facts.firmware import comparable, group_id
from ...findings.advice import filled
from ...findings.check import PER_NAMESPACE, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, command, reasons_of
from ...findings.severity import Severity
from ...store.kinds.templates import VirtualMachineInstanceReplicaSet, VirtualMachinePool

_TEXTS = Texts("firmware_templates")
_COMMANDS = {
    "VirtualMachinePool": "kubectl get virtualmachinepools.pool.kubevirt.io -n NAMESPACE NAME -o yaml",
    "VirtualMachineInstanceReplicaSet": command("show_replica_set"),
}


def find(view: View) -> Iterator[Finding | None]:
    yield from view.apart(_of(view, VirtualMachinePool))
    yield from view.apart(_of(view, VirtualMachineInstanceReplicaSet))


def _of(view: View, kind: type[VirtualMachinePool] | type[VirtualMachineInstanceReplicaSet]) -> Iterator[Finding]:
    for each in view.all(kind):
        if not each.uuid.strip() or each.deleting is not None:
            continue
        of_pool = isinstance(each, VirtualMachinePool)
        values = {"NAMESPACE": each.namespace, "NAME": each.name}
        facts = {"kind": each.ref.kind, "uuid": each.uuid, "serial": each.serial, "replicas": each.replicas}
        yield Finding(
            reason="TemplatePinsUUID",
            severity=Severity.WARNING if each.replicas > 1 else Severity.INFO,
            subject=each.ref,
            group=group_id(comparable(each.uuid)),
            message=_TEXTS.message("TemplatePinsUUID", "pool" if of_pool else "set"),
            # the UUID of a VMI is immutable
            next="" if of_pool else _TEXTS.next("TemplatePinsUUID", "set"),
            does=None if of_pool else (Act.END,),
            commands=(filled(_COMMANDS[each.ref.kind], values),),
            evidence={name: fact for name, fact in facts.items() if fact != ""},
        )


CHECK = Check(
    id="firmware_templates",
    title="Templates that set a firmware UUID",
    reads=(VirtualMachinePool.KIND, VirtualMachineInstanceReplicaSet.KIND),
    scope=PER_NAMESPACE,
    reasons=reasons_of("firmware_templates"),
    find=find,
)
