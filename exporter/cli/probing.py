"""`steward drain --probe`: asks for each machine, one after the other, what an eviction would be answered with."""

from __future__ import annotations

import msgspec

from ..drain import Drain, MachineReport, NodeReport, probed
from ..kube.probe import Probe

__all__ = ["with_probes"]


async def with_probes(drain: Drain, probe: Probe) -> Drain:
    """The same with the answers. Raises UnreachableError."""
    nodes = [await _node(node, probe, down=bool(drain.webhook)) for node in drain.nodes]
    return msgspec.structs.replace(drain, nodes=tuple(nodes))


async def _node(node: NodeReport, probe: Probe, *, down: bool) -> NodeReport:
    machines = [await _machine(each, probe, down=down) for each in node.machines]
    return msgspec.structs.replace(node, machines=tuple(machines))


async def _machine(machine: MachineReport, probe: Probe, *, down: bool) -> MachineReport:
    if machine.pod is None:
        return machine
    code, text = await probe.ask(machine.pod)
    return msgspec.structs.replace(machine, probe=probed(machine, code, text, down=down))
