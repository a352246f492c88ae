"""VMIs whose last migration failed, by what it failed of."""

from __future__ import annotations

from collections.abc import Iterator

from ..store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..usage.migration_failures import MigrationFailures
from .base import Gauge, Sample, State

__all__ = ["STATE"]


def _samples(failures: MigrationFailures) -> Iterator[list[Sample]]:
    yield [((of,), number) for of, number in failures.last().items()]


STATE = State(
    keep=MigrationFailures,
    gauges=(
        Gauge(
            "kubevirt_vmi_last_migration_failed",
            "VMIs whose last migration failed, by what it failed of.",
            ("failure",),
            _samples,
        ),
    ),
    reads=(VirtualMachineInstance.KIND, VirtualMachineInstanceMigration.KIND),
    requires=(VirtualMachineInstanceMigration.KIND,),
)
