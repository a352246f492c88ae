"""VMs whose starts fail."""

from __future__ import annotations

from collections.abc import Iterable

from ..index import ByName, Index
from ..kinds.virtual_machine import VirtualMachine
from ..record import Record
from .networks import vm_key


def _failing(record: Record, _: ByName) -> Iterable[str]:
    failing = isinstance(record, VirtualMachine) and record.failed_starts > 0
    return (vm_key(record.namespace, record.name),) if failing else ()


FAILING_STARTS = Index("VM whose starts fail", _failing, of=(VirtualMachine,), namespaced=True)
