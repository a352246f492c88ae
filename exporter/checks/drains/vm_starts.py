"""VMs that are started again and again, and each start fails.

KubeVirt counts the VMIs in a row that ended before they ran, or soon after (`status.startFailure` of the VM), and waits
a little longer before each next one, up to five minutes. It says why on the VMI alone, which is gone by the next start.

Not seen here: why; other checks may say it of the VM: a feature that is refused, a node that nothing offers.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.drains import FAILING_STARTS
from ...store.kinds.virtual_machine import VirtualMachine

_TEXTS = Texts("vm_starts")
_MANY = 3


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
            message=_TEXTS.message("StartsFailing", many=_MANY),
            vm=vm.name,
            evidence={"runStrategy": vm.run_strategy},
        )


CHECK = Check(
    id="vm_starts",
    title="VMs whose starts fail again and again",
    reads=(VirtualMachine.KIND,),
    scope=Scope("one VM whose starts fail", FAILING_STARTS),
    reasons=reasons_of("vm_starts"),
    find=find,
    fields_read=(VirtualMachine.KIND,),
    requires=(VirtualMachine.KIND,),
)
