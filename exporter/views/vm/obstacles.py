"""What keeps a VM from being started, restarted or migrated, by its own objects and by what they refer to, whether or
not a finding is open on that: clauses about the VM.

What it is refused for is a fault; what it may not do now is none, since that passes, or is as its owner wants it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.drains.departure.migrations import LONGEST_NAME
from ...domain.drains.departure.vmi import VMIContext
from ...domain.features.configuration import Effective
from ...domain.features.rule import Stage
from ...store.kinds.namespace import Namespace
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from .context import OneVM
from .shape import refused

_AT_START = (Stage.ADMISSION, Stage.CREATION, Stage.POD, Stage.SCHEDULING)
_NO_RESTART = ("Halted", "Once")  # the run strategies of which KubeVirt restarts none on request


def refused_at_start(context: OneVM, vm: VirtualMachine) -> Iterator[str]:
    yield from _without_nad(context, vm)
    for rule, why in refused(context):
        if isinstance(context.known, Effective) and rule.bites(context.known) in _AT_START:
            yield f"{rule.phrase}: {why}"


def refused_on_moving(context: OneVM, vmi: VirtualMachineInstance) -> Iterator[str]:
    if len(vmi.name) > LONGEST_NAME:
        yield f"its name of {len(vmi.name)} characters is too long for the label of a migration"
    yield from _without_nad(context, vmi)


def _without_nad(context: OneVM, record: VirtualMachine | VirtualMachineInstance) -> Iterator[str]:
    """KubeVirt renders no launcher pod without them, for a start and for a migration alike."""
    if context.blind(NetworkAttachmentDefinition):
        return
    for nad in dict.fromkeys(nad for _, nad, unplugged in record.networks if nad and not unplugged):
        namespace, _, name = nad.partition("/")
        if context.view.named(NetworkAttachmentDefinition, namespace, name) is None:
            yield f"NAD {nad} does not exist"


def not_starting_now(context: OneVM, vm: VirtualMachine, *, runs: bool) -> Iterator[str]:
    """Of its next start; of a restart where it `runs`."""
    if vm.deleting is not None:
        yield "it is being deleted"
    yield from _in_ending_namespace(context)
    if vm.locked_by:
        yield f"{vm.locked_by}, a snapshot or a restore that is in progress, locks it"
    if runs and context.vmi is not None and context.vmi.deleting is not None:
        yield "its VMI is being deleted already"
    elif runs and vm.run_strategy in _NO_RESTART:
        yield f"KubeVirt restarts none with run strategy {vm.run_strategy}, which can only be stopped and started"


def not_moving_now(context: OneVM, own: VMIContext) -> Iterator[str]:
    """Of a migration that somebody makes now."""
    if own.vmi.deleting is not None or (context.vm is not None and context.vm.deleting is not None):
        yield "it is being deleted"
    yield from _in_ending_namespace(context)
    if own.open is not None:
        yield f"its migration {own.open.name} has not ended"


def _in_ending_namespace(context: OneVM) -> Iterator[str]:
    namespace = context.view.named(Namespace, context.namespace, context.namespace)
    if namespace is not None and namespace.terminating:
        yield "its namespace is being deleted"
