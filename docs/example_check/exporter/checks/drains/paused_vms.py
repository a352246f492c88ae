"""VMIs whose guest is paused.

A paused guest does not run, but keeps its memory, its addresses and its node. Somebody paused it, or QEMU did after an
I/O error of a disk.

Not seen here: guests that hang without being paused.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings.check import PER_VM, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

__all__ = ["CHECK"]

_TEXTS = Texts("paused_vms")


def find(view: View) -> Iterator[Finding]:
    for vmi in view.all(VirtualMachineInstance):
        if vmi.paused and not vmi.final:
            yield Finding(
                reason="Paused",
                severity=Severity.WARNING,
                subject=vmi.ref,
                message=_TEXTS.message("Paused", node=vmi.node),
                node=vmi.node,
            )


CHECK = Check(
    id="paused_vms",
    title="Paused guests",
    reads=(VirtualMachineInstance.KIND,),
    requires=(VirtualMachineInstance.KIND,),
    scope=PER_VM,
    reasons=reasons_of("paused_vms"),
    find=find,
)
