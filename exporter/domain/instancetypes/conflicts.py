"""Fields that a VM's template sets and its instancetype provides: KubeVirt refuses to start or version such a VM.

As pkg/instancetype/apply of kubevirt/kubevirt decides it, in its order. Preferences never conflict: they only fill in.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...store.text.naming import shortened
from ...store.text.text_cache import remembered
from . import specs
from .drift import LONGEST_PATH
from .shape import Shape

_SPEC = "spec.template.spec"


@remembered()
def conflicts(shape: Shape, text: str) -> tuple[str, ...]:
    """The paths of the fields; `text` is the instancetype's canonical spec."""
    gives = specs.instancetype(text)
    present = frozenset(shape.set)
    paths = (f"{_SPEC}.{path}" for path in (*_cpu(gives), *_memory(present, gives), *_rest(gives)) if path in present)
    given = gives.annotations or {}
    notes = (
        shortened(f"annotations.{key}", LONGEST_PATH)
        for key, value in shape.annotations
        if given.get(key, value) != value
    )
    return (*paths, *notes)


def _cpu(gives: specs.Instancetype) -> Iterator[str]:
    yield from (
        "domain.resources.requests.cpu",
        "domain.resources.limits.cpu",
        "domain.cpu.sockets",
        "domain.cpu.cores",
        "domain.cpu.threads",
    )
    cpu = gives.cpu
    provided = {
        "domain.cpu.model": cpu.model,
        "domain.cpu.dedicatedCPUPlacement": cpu.dedicated_cpu_placement,
        "domain.cpu.isolateEmulatorThread": cpu.isolate_emulator_thread,
        "domain.cpu.numa": cpu.numa,
        "domain.cpu.realtime": cpu.realtime,
    }
    yield from (path for path, value in provided.items() if value is not None)


def _memory(present: frozenset[str], gives: specs.Instancetype) -> tuple[str, ...]:
    """Only the first one of them is reported."""
    memory = gives.memory
    paths = (
        "domain.memory.guest",
        *(("domain.memory.hugepages",) if memory.hugepages is not None else ()),
        *(("domain.memory.maxGuest",) if memory.max_guest is not None else ()),
        "domain.resources.requests.memory",
        "domain.resources.limits.memory",
    )
    return tuple(path for path in paths if path in present)[:1]


def _rest(gives: specs.Instancetype) -> Iterator[str]:
    threads = gives.io_threads
    provided = {
        "domain.devices.gpus": bool(gives.gpus),
        "domain.devices.hostDevices": bool(gives.host_devices),
        "domain.ioThreadsPolicy": gives.io_threads_policy is not None,
        "domain.ioThreads.supplementalPoolThreadCount": threads is not None
        and threads.supplemental_pool_thread_count is not None,
        "domain.launchSecurity": gives.launch_security is not None,
        "nodeSelector": gives.node_selector is not None,
        "schedulerName": bool(gives.scheduler_name),
    }
    return (path for path, value in provided.items() if value)
