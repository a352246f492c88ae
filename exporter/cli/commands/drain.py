"""`steward drain`: preview of a drain: which VMs leave their nodes, and what is in the way."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...checks import all_checks
from ...domain.drains.departure import DrainState
from ...questions.asked import DrainQuery, MaintenanceQuery
from ...questions.drain import (
    CHECK,
    QUESTION,
    READER,
    STAYS,
    TITLES,
    Drain,
    NodeReport,
    VMReport,
    exit_code,
    unsafe,
    unsettled,
)
from ...questions.drain.probing import EvictionProbeAnswer
from ...questions.drain.report import Probed
from ...questions.maintenance import QUESTION as MAINTENANCE
from ...questions.maintenance import VERDICTS, Maintenance, NodeOutcome, counted, progress
from ...questions.maintenance import exit_code as maintenance_code
from ..asking import CommandQuestion, asked_with
from ..input.filters import UsageError
from ..input.probes import refuse_probe_of_dump, with_probes
from ..output.text.layout import grid, paragraph, step, table, to_run
from ..output.text.screen import rows_of
from ..output.text.terminal import one_line

if TYPE_CHECKING:
    from ..input.looking import Look

# The preview of a drain as text: what stays comes first, with what to do about it; what leaves is a list.
#
# Piped it is tables, whole; a terminal gets paragraphs of its width, and commands that are not broken.


def drained(drain: Drain, columns: int | None = None) -> str:
    """`columns` of the terminal; None where it goes elsewhere."""
    parts = [part for node in drain.nodes for part in _node(node, columns)]
    if not drain.nodes and not drain.unseen:
        parts.append("No node is cordoned or being drained.\n")
    if drain.webhook:
        parts.insert(0, _wrapped(f"{drain.webhook}.", columns))
    parts += _unseen(drain, columns)
    parts += _ending(drain, columns)
    return "\n".join(parts)


def _wrapped(text: str, columns: int | None) -> str:
    return f"{one_line(text)}\n" if columns is None else paragraph(text, columns=columns)


def _node(node: NodeReport, columns: int | None) -> Iterator[str]:
    yield _wrapped(_headline(node), columns)
    stays = [vm for vm in node.vms if vm.state in STAYS]
    leaves = [vm for vm in node.vms if vm not in stays]
    if stays and columns is not None:
        yield "\n".join(_block(vm, columns) for vm in stays)
    elif stays:
        rows = [row for vm in stays for row in _staying(vm)]
        yield table(("STATE", "VM", "REASON", "WHY, AND WHAT TO DO"), rows)
    if leaves:
        rows = [(TITLES[vm.state], vm.vm.path, _where(vm), _how(vm)) for vm in leaves]
        yield _rows(("STATE", "VM", "WHERE TO", "HOW"), rows, columns)
    if shown := [(f.reason, f.severity, f.message) for f in node.findings]:
        yield grid(("FINDING", "SEVERITY", "WHAT"), shown, columns)


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]], columns: int | None) -> str:
    return table(head, rows) if columns is None else "".join(f"{each}\n" for each in rows_of(head, rows, columns))


def _headline(node: NodeReport) -> str:
    state = [f"cordoned since {node.since}" if node.since else "cordoned"] if node.cordoned else []
    state += [f"taint {taint}" for taint in node.taints]
    state += [sign for sign in node.drain if not sign.startswith("taint ")]
    state += ["no drain detected"] if node.cordoned and not node.drain else []
    state += [] if node.ready else ["not Ready"]
    counts = [f"{count} {TITLES[DrainState(state)]}" for state, count in node.counts.items()] or ["no VM"]
    counts += [f"{node.evacuated} moved off it before"] if node.evacuated else []
    counts += [f"{node.others} other {'pod' if node.others == 1 else 'pods'}"] if node.others else []
    return f"{node.node} ({', '.join(state) or 'not cordoned'}): {', '.join(counts)}."


def _block(vm: VMReport, columns: int) -> str:
    """What a row of `_staying` and those under it say, one under the other."""
    (state, path, reason, why), *more = _staying(vm)
    text = one_line(f"{state}  {path}  {reason}") + "\n" + paragraph(why, "  ", columns=columns)
    rest = [text for *_, text in more if not text.startswith(("=> ", "   "))]
    text += "".join(paragraph(each, "  ", columns=columns) for each in rest)
    return text + step(vm.next, vm.commands, "  ", columns)


def _staying(vm: VMReport) -> Iterator[tuple[str, ...]]:
    kind = "" if vm.vm.kind == "VirtualMachineInstance" else f"{vm.vm.kind} "
    reason = vm.reason or vm.strategy
    yield (TITLES[vm.state], f"{kind}{vm.vm.path}", reason, vm.why)
    if vm.evacuation_since:
        yield ("", "", "", f"evacuation requested since {vm.evacuation_since}")
    for finding in vm.findings:
        text = "" if finding.message == vm.why else f": {finding.message}"
        yield ("", "", "", f"finding {finding.reason} ({finding.severity}){text}")
    if vm.probe:
        yield ("", "", "", _probed(vm.probe))
    if vm.next:
        yield ("", "", "", f"=> {vm.next}")
    for line in to_run(vm.commands, "", "").splitlines():
        yield ("", "", "", f"   {line}")
    if vm.room and vm.room not in vm.why:
        yield ("", "", "", f"no node could take it now: {vm.room}")
    if vm.target:
        yield ("", "", "", f"{vm.target} could take it")


def _where(vm: VMReport) -> str:
    return vm.to or (f"{vm.target} could take it" if vm.target else "-")


def _how(vm: VMReport) -> str:
    asked = f"; evacuation requested since {vm.evacuation_since}" if vm.evacuation_since else ""
    probe = f"; {_probed(vm.probe)}" if vm.probe else ""
    return f"{vm.why.removesuffix('.')}{asked}{probe}{''.join(f'; finding {each.reason}' for each in vm.findings)}"


def _probed(probe: Probed) -> str:
    if probe.said == EvictionProbeAnswer.FORBIDDEN:
        return f"probe refused; bind the ClusterRole steward-drain-probe ({probe.answer})"
    said = _SAID[EvictionProbeAnswer(probe.said)]
    return f"probe {'CONTRADICTS' if probe.contradicts else 'answers'}: {said} ({probe.answer})"


_SAID = {
    EvictionProbeAnswer.PASSES: "the pod would go, and the guest with it",
    EvictionProbeAnswer.REQUESTS: "its evacuation would be requested",
    EvictionProbeAnswer.REQUESTED: "its evacuation is requested already",
    EvictionProbeAnswer.NOT_MIGRATABLE: "it can't be migrated",
    EvictionProbeAnswer.OTHER_POD: "the VM is not in this pod",
    EvictionProbeAnswer.ORPHAN: "its VMI is not found",
    EvictionProbeAnswer.PDB: "a PDB refuses",
    EvictionProbeAnswer.PDBS: "several PDBs select it",
    EvictionProbeAnswer.WEBHOOK_DOWN: "the webhook does not answer",
    EvictionProbeAnswer.FORBIDDEN: "",
    EvictionProbeAnswer.GONE: "the pod is gone meanwhile",
    EvictionProbeAnswer.UNCLEAR: "this answer is not known",
}


def _unseen(drain: Drain | Maintenance, columns: int | None) -> list[str]:
    parts = []
    if drain.unseen:
        what = "there is no answer" if not drain.nodes else "the answer may be incomplete"
        rows = [(each.kind, each.why) for each in drain.unseen]
        parts.append(f"Not seen, so {what}:\n{grid(('KIND', 'WHY'), rows, columns)}")
    if drain.unread:
        parts.append(f"Not read, and may be on these nodes: {one_line(', '.join(map(str, drain.unread)))}.\n")
    return parts


def _ending(drain: Drain, columns: int | None) -> list[str]:
    lines = []
    if limits := drain.limits:
        off = sum(node.running for node in drain.nodes)
        lines.append(
            f"Migrations at once: at most {limits.per_node} off each node and {limits.per_cluster} in the cluster. "
            f"Begun and not ended, those that hang included: {off} off these nodes, {limits.running} in the cluster."
        )
    lines.append(f"Not considered: {'; '.join(drain.not_considered)}.")
    return ["".join(_wrapped(each, columns) for each in lines)]


def _asked(arguments: argparse.Namespace) -> DrainQuery:
    asked = asked_with(arguments, DrainQuery)
    if arguments.limit or arguments.page:
        raise UsageError("--limit and --page part the nodes of --each")
    if not any(asked):
        raise UsageError("name the nodes, or use --all-cordoned or --selector")
    refuse_probe_of_dump(arguments, "--probe")
    return asked


def _looks(_: Any) -> Mapping[str, Any]:
    """Beside what is asked about, what forbids something to be done to a VM: by that it stays, or is not to be stopped.
    Nothing else is watched: what a drain has nothing to do with must not hold it up.
    """
    forbidding = {each.id for each in all_checks() if any(reason.forbids for reason in each.reasons.values())}
    checks = [each for each in all_checks() if each.id in ("sources", CHECK, *forbidding)]
    return {"checks": checks, "views": [READER]}


async def _with_probes(drain: Drain, look: Look, _: argparse.Namespace) -> Drain:
    from ...kube.probe import Probe  # not for a dump

    if why := unsafe(look.steward.engine.cluster):
        raise UsageError(why)
    return await with_probes(drain, Probe(look.transport))


def run(arguments: argparse.Namespace) -> int:
    return (_EACH if arguments.each else _TOGETHER).run(arguments)


_TOGETHER = CommandQuestion(
    QUESTION,
    text=lambda found, _, columns, __: drained(found, columns),
    code=lambda found, in_time: exit_code(found, whole=in_time and not unsettled(found)),
    asked=_asked,
    looks=_looks,
    probed=_with_probes,
)


# The maintenance of each node by itself, as text: a line a node, in the order in which they can go, then what holds
# nodes up.

_HELD = ("OUTCOME", "VM", "REASON", "WHY, AND WHAT TO DO")
_HEAD = ("NODE", "VERDICT", "VMS", "STATE", "PROGRESS")


def maintained(found: Maintenance, columns: int | None) -> str:
    parts = [_wrapped(f"{found.webhook}.", columns)] if found.webhook else []
    if found.nodes:
        parts.append(grid(_HEAD, [_line(each) for each in found.nodes], columns))
        said = ", ".join(f"{count} {VERDICTS[verdict]}" for verdict, count in counted(found.nodes))
        parts.append(_wrapped(f"{said}. Each node is drained alone, and the others stay.", columns))
    parts += [part for each in found.nodes if (part := _holding(each, columns))]
    parts += _unseen(found, columns)
    parts.append(_wrapped(f"Not considered: {'; '.join(found.not_considered)}.", columns))
    return "\n".join(parts)


def _line(each: NodeOutcome) -> tuple[str, ...]:
    state = [*([] if each.ready else ["not Ready"]), *(["cordoned"] if each.cordoned else []), *each.drain]
    counts = ", ".join(f"{count} {outcome}" for outcome, count in each.counts.items())
    return (each.node, each.verdict, counts or "none", ", ".join(state) or "-", progress(each) or "-")


def _holding(each: NodeOutcome, columns: int | None) -> str:
    if not each.held:
        return ""
    rows = [
        (one.outcome, one.vm.path, one.reason or "-", " => ".join(filter(None, (one.why, one.next))))
        for one in each.held
    ]
    more = each.held_in_all - len(each.held)
    rest = f"and {more} more: steward drain {each.node}\n" if more else ""
    return f"{each.node}, of {', '.join(each.owners)}:\n{grid(_HELD, rows, columns)}{rest}"


def _each_asked(arguments: argparse.Namespace) -> MaintenanceQuery:
    if arguments.all_cordoned or arguments.selector or arguments.probe:
        raise UsageError("--each takes the names of nodes, and neither --all-cordoned, --selector nor --probe")
    return MaintenanceQuery(tuple(arguments.node or ()), arguments.limit or "", arguments.page or "")


_EACH = CommandQuestion(
    MAINTENANCE,
    text=lambda found, _, columns, __: maintained(found, columns),
    code=lambda found, in_time: maintenance_code(found, whole=in_time),
    asked=_each_asked,
    looks=_looks,
)
