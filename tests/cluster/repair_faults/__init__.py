"""Faults for each repair that an API server is enough for, and where such repairs run.

Nothing but the tests and the sidecar writes there: no KubeVirt, no garbage collector. What KubeVirt's controllers leave
is written by the test. Each remediation has a module here with its id for a name, which defines `FAULTS`; it has none
where its docstring says why, and which tests there are instead.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ._fault import KIND, KUBEVIRT, LATER, SIZE, Fault, settings

__all__ = ["BY_REMEDIATION", "FAULTS", "KIND", "KUBEVIRT", "LATER", "SIZE", "Fault", "settings"]

BY_REMEDIATION: dict[str, tuple[Fault, ...]] = {
    found.name: import_module(f"{__name__}.{found.name}").FAULTS
    for found in iter_modules(__path__)
    if not found.name.startswith("_")
}
FAULTS = tuple(fault for own in BY_REMEDIATION.values() for fault in own)
