"""The mutants: the product with one precondition, one read or one test taken away."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import msgspec

from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from reconcile.carry_out import attempt, confirm, ending, fresh_reads
from reconcile.fresh import FreshCluster
from reconcile.ledger import Entry, Event, history
from reconcile.plan.plan import Refused
from reconcile.plan.remediations import all_undos
from reconcile.plan.remediations.instancetypes import _copies
from reconcile.plan.undo import Undo, UndoEffect, UndoRequest
from tests.remediation_cases import module_of

from .access import Weakened
from .saving import SAVING

__all__ = ["Mutant", "applied", "mutants", "together"]

_MODULES = {
    "release_ipam_claim": "claims",
    "delete_orphan_ipam_claim": "claims",
    "repair_ipam_claim_metadata": "claims",
    "adopt_ipam_claim": "claims",
    "reclaim_ipam_claim": "claims",
    "recreate_ipam_claim": "claims",
    "_nudging": "claims",
    "_ipam_claims": "claims",
    "_releasing": "claims",
    "_grounds": "",
    "persist_firmware_uuid": "firmware",
    "reassign_firmware_uuid": "firmware",
    "replace_invalid_uuid": "firmware",
    "_identities": "firmware",
    "_taken_back": "firmware",
    "restash_missing_revision": "instancetypes",
    "_instancetypes": "instancetypes",
    "delete_orphan_revision": "instancetypes",
    "guard_instancetype": "instancetypes",
    **dict.fromkeys(("adopt_revision", "label_pinned_revision"), "revisions"),
    **dict.fromkeys(("drop_stale_reference", "nudge_unversioned_vm"), "revisions"),
    **dict.fromkeys(("reassign_serial", "reassign_mac_address"), "marks"),
}
"""Of the remediations, with the areas in which they make a difference.

A decision: the world that is played here has IPAMClaims, firmware UUIDs, serials and MAC addresses of copied VMs, and
copies of instancetypes: there a write that comes too late loses something. What is written elsewhere is held to its
preconditions by its cases.
"""

_AREAS = {
    **dict.fromkeys(("release_ipam_claim", "repair_ipam_claim_metadata", "adopt_ipam_claim"), "claims"),
    **dict.fromkeys(("persist_firmware_uuid", "reassign_firmware_uuid", "replace_invalid_uuid"), "firmware"),
    **dict.fromkeys(("reassign_serial", "reassign_mac_address"), "marks"),
    **dict.fromkeys(("restash_missing_revision", "delete_orphan_revision", "guard_instancetype"), "instancetypes"),
    **dict.fromkeys(("adopt_revision", "label_pinned_revision"), "revisions"),
}
"""Of the remediations whose writes are taken back."""
_FUNCTIONS = {"not_the_copy": "marks", "held": "revisions"}
"""Of functions of a module that make a difference in another area than the rest of it."""

_ELSEWHERE = ("owning_vm", "unresolved", "weighed_value", "known_by_mac", "unneeded")
"""Functions whose refusals the world that is played here has no use for: they are held to by their cases."""
_KINDS = (
    *("IPAMClaim", "NetworkAttachmentDefinition", "Namespace", "Deployment", "MutatingWebhookConfiguration"),
    *("VirtualMachineInstanceMigration", "VirtualMachineRestore", "VirtualMachineSnapshot", "VirtualMachineClone"),
    *("VirtualMachineBackup", "Restore", "Backup", "ControllerRevision", "VirtualMachineClusterInstancetype"),
    *("VirtualMachineSnapshotContent", "KubeVirt"),
    *("VirtualMachine", "VirtualMachineInstance", "Pod"),
)


@dataclass(frozen=True)
class Mutant:
    """`codes` are functions with the code that they get instead, `values` attributes with their values."""

    name: str
    weakened: Weakened = field(default_factory=Weakened)
    codes: tuple[tuple[FunctionType, CodeType], ...] = field(default=(), repr=False)
    values: tuple[tuple[ModuleType | type, str, Any], ...] = field(default=(), repr=False)
    area: str = ""  # where it makes a difference
    race: str = ""  # of which all interleavings are tried first


_RACES = {
    "the test of the UID": "created anew",
    "the tests of the content": "another plan",
    "the second plan": "namesake",
    "the test of the resourceVersion": "owners before claims, released",
    "that both plans are the same": "another plan",
    "that what was read is young": "namesake of a slow process",
    "that VMs are read once more": "namesake in a large cluster",
    "that it is looked again after a release": "namesake of a late release",
    "_releasing: vm_stopped (2, in awake)": "start that is slow",
    "_releasing: vm_stopped (4, in awake)": "start that is slow",
    "_releasing: no_user (1, in _used)": "taken back under a VMI",
    "_releasing: no_user (2, in _used)": "taken back under a pod",
    "undo of repair_ipam_claim_metadata: address_kept": "taken back under a VM",
    "_grounds: no_snapshot_or_restore (1, in under_way)": "a VirtualMachineClone begins",
    "_grounds: no_snapshot_or_restore (2, in under_way)": "a Restore begins",
    **{f"that any {kind} is seen": f"a {kind} begins" for kind in SAVING},
    **{f"that {kind} is read afresh": f"a {kind} begins" for kind in SAVING},
}


def mutants() -> list[Mutant]:
    remediations = (each for name in _MODULES for each in _preconditions(name, _MODULES[name]))
    found = (*_structural(), *_reads(), *remediations, *_losses())
    return [replace(each, race=_RACES.get(each.name, "")) for each in found]


def together(*given: Mutant) -> Mutant:
    """One that lacks all that they lack; of the reads only those of the last."""
    return Mutant(
        " and ".join(each.name for each in given),
        Weakened(
            next((each.weakened.blind for each in given if each.weakened.blind), ""),
            next((each.weakened.stale for each in given if each.weakened.stale), ""),
            frozenset().union(*(each.weakened.untested for each in given)),
            any(each.weakened.made_once for each in given),
            next((each.weakened.ungated for each in given if each.weakened.ungated), ""),
            any(each.weakened.old for each in given),
            any(each.weakened.loud for each in given),
        ),
        tuple(code for each in given for code in each.codes),
        tuple(value for each in given for value in each.values),
        given[0].area,
        given[0].race,
    )


def _structural() -> list[Mutant]:
    order = (*reversed(fresh_reads.USERS), "NetworkAttachmentDefinition", "IPAMClaim")
    return [
        Mutant("the test of the UID", Weakened(untested=frozenset({"uid"}))),
        Mutant("the test of the resourceVersion", Weakened(untested=frozenset({"version"}))),
        Mutant("the tests of the content", Weakened(untested=frozenset({"content"}))),
        Mutant("the second plan", Weakened(made_once=True)),
        Mutant("that both plans are the same", values=((attempt, "_same", lambda *_: None),)),
        Mutant("that what was read is young", Weakened(old=True)),
        Mutant("that shadow writes nothing", Weakened(loud=True)),
        Mutant(
            "that what was shadowed is not written",
            values=((history.History, "add", _added_as_written),),
            area="claims",
        ),
        Mutant("that it is looked again after a release", values=((ending, "look_again", _unlooked),), area="claims"),
        Mutant("that clocks agree", Weakened(ungated="clock")),
        Mutant("that no earlier write may still arrive", Weakened(ungated="unclear")),
        Mutant("that it is unclear while it may arrive", values=((ending, "may_arrive", lambda *_: False),)),
        Mutant("that a copy is of who refers to it", values=((_copies, "_foreign", _nothing),), area="instancetypes"),
        Mutant("that KubeVirt wrote a copy", values=((_copies, "_written", _nothing),), area="instancetypes"),
        Mutant("that a copy is what runs", values=((_copies, "_other", _nothing),), area="instancetypes"),
        Mutant("that nobody changed what is taken back", values=((confirm, "changed_since", _nothing),)),
        Mutant("that VMs are read once more", values=((FreshCluster, "quick", lambda *_: []),)),
        Mutant("that users are read last", values=((fresh_reads, "USERS", order),)),
        Mutant("that the check is asked", values=((confirm, "_finding", _unchecked),)),
        Mutant("that its grace is over", values=((confirm, "_early", lambda *_: ""),)),
        Mutant("that it is left to its owner", values=((confirm, "claimed", lambda *_: None),), area="firmware"),
    ]


def _nothing(*_: Any) -> str:
    return ""


async def _unlooked(*_: Any) -> str:
    return ""


_ADD = history.History.add


def _added_as_written(own: history.History, entry: Entry) -> None:
    """As if what was shadowed had been written, and had no end."""
    event = Event.INTENDED if entry.event is Event.SHADOWED else entry.event
    _ADD(own, msgspec.structs.replace(entry, event=event))


def _unchecked(hint: Any, check: Any, cluster: Any, settings: Any) -> Any:
    """As if the finding were still there."""
    group = "instancetype" if check.id == "instancetype_vms" else ""  # which a remediation goes by
    found = Finding(
        reason=hint.reason,
        severity=Severity.INFO,
        subject=hint.subject,
        message="as it was found",
        group=group,
        evidence={"claim": f"{hint.subject.name}.blue"},  # of a VMI without
    )
    return msgspec.structs.replace(found, check=hint.check, fingerprint=hint.fingerprint)


def _reads() -> list[Mutant]:
    return [
        *(Mutant(f"that any {kind} is seen", Weakened(blind=kind)) for kind in _KINDS),
        *(Mutant(f"that {kind} is read afresh", Weakened(stale=kind)) for kind in _KINDS),
    ]


def _losses() -> Iterator[Mutant]:
    """Each loss that a person has to accept, one by one."""
    for undo in all_undos().values():
        for precondition in undo.losses if isinstance(undo, Undo) and undo.id in _AREAS else ():
            value = (confirm, "_unaccepted", partial(_accepting, confirm._unaccepted, precondition))
            yield Mutant(f"undo of {undo.id}: {precondition}", values=(value,), area=_AREAS[undo.id])


def _accepting(
    asks: Callable[[UndoRequest, Undo, UndoEffect], Refused | None],
    precondition: str,
    taken: UndoRequest,
    undo: Undo,
    given: UndoEffect,
) -> Refused | None:
    left = tuple(each for each in given.losses if each.precondition != precondition)
    return asks(taken, undo, msgspec.structs.replace(given, losses=left))


def _preconditions(name: str, area: str) -> Iterator[Mutant]:
    """Each `return` of a refusal in a module of the remediations, one by one: of what is planned and of its undo."""
    module = module_of(name)
    source = inspect.getsource(module)
    sites = [
        (function.name, node.lineno, refusal)
        for function in ast.parse(source).body
        if isinstance(function, ast.FunctionDef) and function.name not in _ELSEWHERE
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and (refusal := _refusal(node))
    ]
    for function, line, refusal in sites:
        taken = inspect.unwrap(getattr(module, function))
        nth = [each[1] for each in sites if each[2] == refusal].index(line) + 1
        alone = sum(each[2] == refusal for each in sites) == 1
        yield Mutant(
            f"{name}: {refusal}" + ("" if alone else f" ({nth}, in {function})"),
            codes=((taken, _without(source, module, function, line)),),
            area=_FUNCTIONS.get(function, area),
        )


def _refusal(node: ast.Return) -> str:
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == Refused.__name__:
            first = each.args[0]
            return str(first.value) if isinstance(first, ast.Constant) else ""
    return ""


def _without(source: str, module: ModuleType, function: str, line: int) -> CodeType:
    """The code of a function in which one `return` does nothing."""

    class Removing(ast.NodeTransformer):
        def visit_Return(self, node: ast.Return) -> ast.AST:
            return ast.copy_location(ast.Pass(), node) if node.lineno == line else node

    tree = ast.fix_missing_locations(Removing().visit(ast.parse(source)))
    code = compile(tree, str(module.__file__), "exec", dont_inherit=True)
    return next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == function)


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    codes = [(function, function.__code__) for function, _ in mutant.codes]
    values = [(module, name, getattr(module, name)) for module, name, _ in mutant.values]
    try:
        for function, code in mutant.codes:
            function.__code__ = code
        for module, name, value in mutant.values:
            setattr(module, name, value)
        yield
    finally:
        for function, code in codes:
            function.__code__ = code
        for module, name, value in values:
            setattr(module, name, value)
