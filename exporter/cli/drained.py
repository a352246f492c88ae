"""The answer of `steward drain` as text: what stays comes first, with what it needs; what leaves is a list."""

from __future__ import annotations

from collections.abc import Iterator

from ..views.drain import STAYS, TITLES, Drain, NodeReport, Outcome, VMReport
from ..views.drain.probing import Said
from ..views.drain.report import Probed
from .table import table

__all__ = ["drained"]


def drained(drain: Drain) -> str:
    parts = [part for node in drain.nodes for part in _node(node)]
    if not drain.nodes and not drain.unseen:
        parts.append("No node is cordoned or being drained.\n")
    if drain.webhook:
        parts.insert(0, f"{drain.webhook}.\n")
    parts += _unseen(drain)
    parts.append(_ending(drain))
    return "\n".join(parts)


def _node(node: NodeReport) -> Iterator[str]:
    yield _headline(node)
    stays = [m for m in node.vms if m.outcome in STAYS]
    leaves = [vm for vm in node.vms if vm not in stays]
    if stays:
        rows = [row for vm in stays for row in _staying(vm)]
        yield table(("WHAT", "VM", "REASON", "WHY, AND WHAT IT NEEDS"), rows)
    if leaves:
        rows = [(TITLES[Outcome(m.outcome)], m.vm.path, _where(m), _how(m)) for m in leaves]
        yield table(("WHAT", "VM", "WHERE TO", "HOW"), rows)
    if shown := [(f.reason, f.severity, f.message) for f in node.findings]:
        yield table(("FINDING", "SEVERITY", "WHAT"), shown)


def _headline(node: NodeReport) -> str:
    state = [f"cordoned since {node.since}" if node.since else "cordoned"] if node.cordoned else []
    state += [f"taint {taint}" for taint in node.taints] + ([] if node.ready else ["not Ready"])
    counts = [f"{count} {TITLES[Outcome(outcome)]}" for outcome, count in node.counts.items()] or ["no VM"]
    counts += [f"{node.evacuated} moved off it before"] if node.evacuated else []
    counts += [f"{node.others} other {'pod' if node.others == 1 else 'pods'}"] if node.others else []
    return f"{node.node} ({', '.join(state) or 'not cordoned'}): {', '.join(counts)}.\n"


def _staying(vm: VMReport) -> Iterator[tuple[str, ...]]:
    kind = "" if vm.vm.kind == "VirtualMachineInstance" else f"{vm.vm.kind} "
    reason = vm.reason or vm.strategy
    yield (TITLES[Outcome(vm.outcome)], f"{kind}{vm.vm.path}", reason, vm.why)
    if vm.evacuation_since:
        yield ("", "", "", f"marked to leave since {vm.evacuation_since}")
    for finding in vm.findings:
        yield ("", "", "", f"finding {finding.reason} ({finding.severity}): {finding.message}")
    if vm.probe:
        yield ("", "", "", _probed(vm.probe))
    if vm.remedies:
        yield ("", "", "", f"=> {vm.remedies}")
    if vm.room and vm.room not in vm.why:
        yield ("", "", "", f"no node could take it now: {vm.room}")
    if vm.target:
        yield ("", "", "", f"{vm.target} could take it")


def _where(vm: VMReport) -> str:
    return vm.to or (f"{vm.target} could take it" if vm.target else "-")


def _how(vm: VMReport) -> str:
    asked = f"; marked {vm.evacuation_since}" if vm.evacuation_since else ""
    probe = f"; {_probed(vm.probe)}" if vm.probe else ""
    return f"{vm.why}{asked}{probe}{''.join(f'; finding {each.reason}' for each in vm.findings)}"


def _probed(probe: Probed) -> str:
    if probe.said == Said.FORBIDDEN:
        return f"probe refused; bind the ClusterRole steward-drain-probe ({probe.answer})"
    return f"probe {'CONTRADICTS' if probe.contradicts else 'answers'}: {_SAID[Said(probe.said)]} ({probe.answer})"


_SAID = {
    Said.PASSES: "the pod would go, and the guest with it",
    Said.REQUESTS: "it would be marked, to be moved",
    Said.REQUESTED: "it is marked already",
    Said.NOT_MIGRATABLE: "it can't be migrated",
    Said.OTHER_POD: "the VM is not in this pod",
    Said.ORPHAN: "its VMI is not found",
    Said.PDB: "a PDB refuses",
    Said.PDBS: "several PDBs select it",
    Said.WEBHOOK_DOWN: "the webhook does not answer",
    Said.FORBIDDEN: "",
    Said.GONE: "the pod is gone meanwhile",
    Said.UNCLEAR: "this answer is not known",
}


def _unseen(drain: Drain) -> list[str]:
    parts = []
    if drain.unseen:
        what = "nothing is said" if not drain.nodes else "what is said may not be all"
        rows = [(each.kind, each.why) for each in drain.unseen]
        parts.append(f"Not seen, so {what}:\n{table(('KIND', 'WHY'), rows)}")
    if drain.unread:
        parts.append(f"Not read, and may be on these nodes: {', '.join(map(str, drain.unread))}.\n")
    return parts


def _ending(drain: Drain) -> str:
    lines = []
    if limits := drain.limits:
        off = sum(node.running for node in drain.nodes)
        lines.append(
            f"At once migrate {limits.per_node} off each node and {limits.per_cluster} in the cluster; "
            f"now {off} off these nodes and {limits.running} in all.\n"
        )
    lines.append(f"Not considered: {'; '.join(drain.not_considered)}.\n")
    return "".join(lines)
