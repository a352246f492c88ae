"""The mutants: the product with one precondition, one read or one test taken away."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType, ModuleType
from typing import Any

import msgspec

from exporter.findings import Finding, Severity
from reconcile import attempt, confirm, reading
from reconcile.fresh import FreshCluster
from reconcile.plan import Refused

from .access import Weakened

__all__ = ["COVERED", "Mutant", "applied", "mutants", "together"]

_MODULES = {
    "release_ipam_claim": "claims",
    "delete_orphan_ipam_claim": "claims",
    "repair_ipam_claim_metadata": "claims",
    "_ipam_claims": "claims",
    "_grounds": "",
    "persist_firmware_uuid": "firmware",
    "reassign_firmware_uuid": "firmware",
    "_firmware": "firmware",
    "restash_missing_revision": "instancetypes",
    "_sources": "instancetypes",
    "delete_orphan_revision": "instancetypes",
    "guard_instancetype": "instancetypes",
    "_kept_state": "firmware",
}
"""Of the remediations, with the areas in which they make a difference."""

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


@dataclass(frozen=True)
class Covered:
    """What begins with `of` is not needed alone: `why`, and `by` which mutants; without both an invariant is broken."""

    of: str
    why: str
    by: tuple[str, ...] = ()
    invariant: str = ""


_VERSION, _CHECK = ("the test of the resourceVersion",), ("that the check is asked",)
_GRACE, _HAD_TIME = ("that its grace is over",), ("release_ipam_claim: controller_had_time",)
_NO_PLAN = "nothing is planned without it"
_RACES = {
    "the test of the UID": "created anew",
    "the tests of the content": "another plan",
    "the second plan": "namesake",
    "the test of the resourceVersion": "owners before claims, released",
    "that both plans are the same": "another plan",
    "that what was read is young": "namesake of a slow process",
    "that VMs are read once more": "namesake in a large cluster",
}
COVERED = (
    Covered("the test of the UID", "an object made anew has another resourceVersion", _VERSION, "same object"),
    Covered("the tests of the content", "what changes it changes the resourceVersion", _VERSION, "content"),
    Covered(
        "the second plan",
        "what was read for the first is too old",
        ("that what was read is young",),
        "nobody of its name lives",
    ),
    Covered("that users are read last", "the object is read first: its resourceVersion is older", _VERSION),
    Covered("that any IPAMClaim is seen", _NO_PLAN),
    Covered("that IPAMClaim is read afresh", "its resourceVersion is old then", _VERSION),
    Covered("that any NetworkAttachmentDefinition is seen", "an address of an unknown network refuses"),
    Covered("that NetworkAttachmentDefinition is read afresh", "here no NAD changes"),
    Covered("that any MutatingWebhookConfiguration is seen", "one that is not seen is missing, which refuses"),
    Covered("that MutatingWebhookConfiguration is read afresh", "here it does not change"),
    Covered("release_ipam_claim: same_object", _NO_PLAN),
    Covered("release_ipam_claim: finding_holds", _NO_PLAN),
    Covered("that its grace is over", "release_ipam_claim asks for the same", _HAD_TIME, "controllers come first"),
    Covered("release_ipam_claim: controller_had_time", "its grace is as long", _GRACE, "controllers come first"),
    Covered("release_ipam_claim: vm_gone", "the check sees the VM", _CHECK, "nobody of its name lives"),
    Covered("release_ipam_claim: vmi_gone", "the check sees the VMI", _CHECK, "nobody of its name lives"),
    Covered("delete_orphan_ipam_claim: same_object", _NO_PLAN),
    Covered("delete_orphan_ipam_claim: not_being_deleted", "deleting it again changes nothing"),
    Covered("delete_orphan_ipam_claim: vm_gone", "the check sees the VM", _CHECK, "nobody of its name lives"),
    Covered("repair_ipam_claim_metadata: same_object", _NO_PLAN),
    Covered("repair_ipam_claim_metadata: finding_holds", "a patch without operations changes nothing"),
    Covered("repair_ipam_claim_metadata: not_being_deleted", "the API server takes no finalizer then", _CHECK),
    Covered("repair_ipam_claim_metadata: created_by_kubevirt", "the check reports another reason"),
    Covered("repair_ipam_claim_metadata: owner_lives (1, in _owner)", _NO_PLAN),
    Covered("repair_ipam_claim_metadata: name_fits_label", "the API server takes no longer label"),
    Covered("_ipam_claims: everything_seen", "here every annotation can be read"),
    Covered("_grounds: not_being_deleted", "the check reports nothing of it then", _CHECK, "what ends is left"),
    Covered("_firmware: has_domain", "the API server adds nothing below what is not there"),
    Covered("persist_firmware_uuid: same_object", _NO_PLAN),
    Covered("reassign_firmware_uuid: same_object", _NO_PLAN),
    Covered("reassign_firmware_uuid: is_a_vm", _NO_PLAN),
)


def mutants() -> list[Mutant]:
    return [*_structural(), *_reads(), *(each for name in _MODULES for each in _preconditions(name))]


def together(*given: Mutant) -> Mutant:
    """One that lacks all that they lack; of the reads only those of the last."""
    return Mutant(
        " and ".join(each.name for each in given),
        Weakened(
            next((each.weakened.blind for each in given if each.weakened.blind), ""),
            next((each.weakened.stale for each in given if each.weakened.stale), ""),
            frozenset().union(*(each.weakened.untested for each in given)),
            any(each.weakened.made_once for each in given),
        ),
        tuple(code for each in given for code in each.codes),
        tuple(value for each in given for value in each.values),
        given[0].area,
        given[0].race,
    )


def _structural() -> list[Mutant]:
    order = (*reversed(reading.USERS), "NetworkAttachmentDefinition", "IPAMClaim")
    found = [
        Mutant("the test of the UID", Weakened(untested=frozenset({"uid"}))),
        Mutant("the test of the resourceVersion", Weakened(untested=frozenset({"version"}))),
        Mutant("the tests of the content", Weakened(untested=frozenset({"content"}))),
        Mutant("the second plan", Weakened(made_once=True)),
        Mutant("that both plans are the same", values=((attempt, "_same", lambda *_: None),)),
        Mutant("that what was read is young", values=((attempt, "_FRESH", float("inf")),)),
        Mutant("that VMs are read once more", values=((FreshCluster, "quick", lambda *_: []),)),
        Mutant("that users are read last", values=((reading, "USERS", order),)),
        Mutant("that the check is asked", values=((confirm, "_finding", _unchecked),)),
        Mutant("that its grace is over", values=((confirm, "_early", lambda *_: ""),)),
        Mutant("that it is left to its owner", values=((confirm, "claimed", lambda *_: None),), area="firmware"),
    ]
    return [replace(each, race=_RACES.get(each.name, "")) for each in found]


def _unchecked(hint: Any, check: Any, cluster: Any, settings: Any) -> Any:
    """As if the finding were still there."""
    found = Finding(reason=hint.reason, severity=Severity.INFO, subject=hint.subject, message="as it was found")
    return msgspec.structs.replace(found, check=hint.check, fingerprint=hint.fingerprint)


def _reads() -> list[Mutant]:
    return [
        *(Mutant(f"that any {kind} is seen", Weakened(blind=kind)) for kind in _KINDS),
        *(Mutant(f"that {kind} is read afresh", Weakened(stale=kind)) for kind in _KINDS),
    ]


def _preconditions(name: str) -> Iterator[Mutant]:
    """Each `return` of a refusal in a module of the remediations, one by one."""
    module = importlib.import_module(f"reconcile.remediations.{name}")
    source = inspect.getsource(module)
    sites = [
        (function.name, node.lineno, refusal)
        for function in ast.parse(source).body
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and (refusal := _refusal(node))
    ]
    for function, line, refusal in sites:
        taken = getattr(module, function)
        nth = [each[1] for each in sites if each[2] == refusal].index(line) + 1
        alone = sum(each[2] == refusal for each in sites) == 1
        yield Mutant(
            f"{name}: {refusal}" + ("" if alone else f" ({nth}, in {function})"),
            codes=((taken, _without(source, module, function, line)),),
            area=_MODULES[name],
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
