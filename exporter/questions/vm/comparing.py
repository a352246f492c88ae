"""Two VMs beside each other: in what they differ, and so why one moves or starts and the other does not."""

from __future__ import annotations

from collections.abc import Iterator

from .report import Difference, Verdict, VMWhole

_WORDS = {"yes": "yes", "changes": "yes, with changes", "no": "no", "unknown": "not known"}
_NONE = "-"


def differences(one: VMWhole, other: VMWhole) -> Iterator[Difference]:
    """What may be done to each comes first; what is the same of both is left out."""
    here, there = dict(_facts(one)), dict(_facts(other))
    for what in dict.fromkeys((*here, *there)):
        pair = here.get(what, _NONE), there.get(what, _NONE)
        if pair[0] != pair[1]:
            yield Difference(what, *pair)


def _facts(vm: VMWhole) -> Iterator[tuple[str, str]]:
    for each in vm.verdicts:
        yield each.act, _said(each)
    runs, able = vm.runs, vm.migration
    yield "phase", (runs.phase or runs.unknown if runs is not None else "") or _NONE
    yield "node", (runs.node if runs is not None else "") or _NONE
    yield "run strategy", vm.run_strategy or _NONE
    if able is not None:
        yield "eviction strategy", able.strategy or _NONE
        yield "LiveMigratable", ": ".join(filter(None, (able.migratable, able.reason))) or _NONE
    for size in vm.sizes:
        yield size.role, f"{size.kind} {size.name}"
    yield "networks", ", ".join(each.nad or "the pod network" for each in vm.interfaces) or _NONE
    yield "features", ", ".join(each.feature for each in vm.features) or _NONE
    yield "findings", ", ".join(sorted({each.reason for each in vm.findings})) or _NONE


def _said(verdict: Verdict) -> str:
    """Without what comes of it, which names the VM's own objects."""
    why = "; ".join(verdict.whys) if verdict.reasons else ""
    return f"{_WORDS[verdict.answer]}{f': {why}' if why else ''}"
