"""`steward drain --probe`: asks for each VM, one after the other, what an eviction would be answered with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ...questions.drain import Drain, NodeReport, VMReport, probed

if TYPE_CHECKING:
    from ...kube.probe import Probe  # its client is dear to import, and a dump needs none


async def with_probes(drain: Drain, probe: Probe) -> Drain:
    """The same with the answers. Raises UnreachableError."""
    nodes = [await _node(node, probe, down=bool(drain.webhook)) for node in drain.nodes]
    return msgspec.structs.replace(drain, nodes=tuple(nodes))


async def _node(node: NodeReport, probe: Probe, *, down: bool) -> NodeReport:
    vms = [await _vm(each, probe, down=down) for each in node.vms]
    return msgspec.structs.replace(node, vms=tuple(vms))


async def _vm(vm: VMReport, probe: Probe, *, down: bool) -> VMReport:
    if vm.pod is None:
        return vm
    code, text = await probe.ask(vm.pod)
    return msgspec.structs.replace(vm, probe=probed(vm, code, text, down=down))
