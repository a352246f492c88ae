"""VMs that are started again and again, and each start fails.

KubeVirt counts the VMIs in a row that ended before they ran, or soon after (`status.startFailure` of the VM), and waits
a little longer before each next one, up to five minutes. It says why on the VMI alone, which is gone by the next start.

Not seen here: why; other checks may say it of the VM: a feature that is refused, a node that nothing offers.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings.check import Check, Family, Reason, Scope, View
from ...findings.finding import Finding
from ...findings.severity import Severity
from ...store.indexes.drains import FAILING_STARTS
from ...store.kinds.virtual_machine import VirtualMachine

_MANY = 3

_REASONS = {
    "StartsFailing": Reason(
        (Severity.WARNING,),
        f"At least {_MANY} starts of the VM in a row failed, and KubeVirt goes on trying.",
        Family("kubevirt_vm_starts_failing", "The starts of a VM fail again and again."),
        next="Read its events, and while its VMI is there the condition Synchronized and the log of its launcher pod:"
        " they say what is wrong with its spec, its disks or its firmware. Halt the VM if nobody needs it.",
        commands=(
            "kubectl get events -n NAMESPACE --sort-by=.lastTimestamp",
            "kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE NAME -o yaml",
            "kubectl get virtualmachines.kubevirt.io -n NAMESPACE NAME -o yaml",
        ),
        alert="VMStartsFailing",
    )
}


def find(view: View) -> Iterator[Finding]:
    for vm in view.sharing(FAILING_STARTS, view.partition):
        if not isinstance(vm, VirtualMachine) or vm.failed_starts < _MANY or vm.deleting is not None:
            continue
        if vm.run_strategy == "Halted":
            continue
        yield Finding(
            reason="StartsFailing",
            severity=Severity.WARNING,
            subject=vm.ref,
            message=f"{_MANY} starts of the VM in a row failed or more, and KubeVirt goes on trying",
            vm=vm.name,
            evidence={"runStrategy": vm.run_strategy},
        )


CHECK = Check(
    id="vm_starts",
    title="VMs whose starts fail again and again",
    reads=(VirtualMachine.KIND,),
    scope=Scope("one VM whose starts fail", FAILING_STARTS),
    reasons=_REASONS,
    find=find,
    fields_read=(VirtualMachine.KIND,),
    requires=(VirtualMachine.KIND,),
)
