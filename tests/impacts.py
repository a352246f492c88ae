"""What a change would do, for tests: proposals, and the findings before and after."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.engine.evaluate import at_once
from exporter.questions.impact import Impact, ProposedChange, steps
from exporter.store.overlay import Edit

from .evaluation import Evaluation
from .rows import full


def evaluation_of(*rows: dict[str, Any], lacking: str = "") -> Evaluation:
    evaluation = Evaluation(check for check in all_checks() if check.id != lacking)
    for row in rows:
        evaluation.seen(full(row))
    evaluation.evaluate()
    return evaluation


def taken(engine: Engine, proposal: ProposedChange, most: int | None = None) -> Impact:
    return at_once(steps(engine, proposal, most))


Shown = dict[tuple[str, str, str], str]


def open_in(engine: Engine) -> Shown:
    """By check, reason and fingerprint, the severity."""
    return {(each.check, each.reason, each.fingerprint): each.severity.value for each in engine.findings()}


def differences(impact: Impact) -> tuple[Shown, Shown]:
    """What goes and what comes; what changes is in both."""
    gone, come = {}, {}
    for each in impact.findings:
        key = each.finding.check, each.finding.reason, each.finding.fingerprint
        if each.change != "appears":
            gone[key] = each.severity_before
        if each.change != "goes":
            come[key] = each.finding.severity
    return gone, come


def make(engine: Engine, edit: Edit) -> None:
    if edit.after is None:
        engine.remove(edit.kind, edit.namespace, edit.name)
    else:
        engine.put(edit.after)


GROUP = "instancetype.kubevirt.io/v1beta1"


ROLES = {
    "instancetype": ("VirtualMachineClusterInstancetype", "VirtualMachineInstancetype"),
    "preference": ("VirtualMachineClusterPreference", "VirtualMachinePreference"),
}


def sized(dice: random.Random) -> Iterator[dict[str, Any]]:
    """VMs and pools with instancetypes and preferences from few names, in every way of referring to them."""
    yield {"kind": "KubeVirt", "name": "kubevirt", "version": dice.choice(("", "v1.5.0", "v1.7.1"))}
    for kinds in ROLES.values():
        yield from ({"kind": kind, "name": name, "uid": f"{kind}-{name}"} for kind in kinds for name in "ab")
    for at in range(14):
        namespace = dice.choice(("ns", "other"))
        row: dict[str, Any] = {"kind": "VirtualMachine", "namespace": namespace, "name": f"vm{at}", "uid": f"u{at}"}
        row["runStrategy"] = dice.choice(("Halted", "Always"))
        for role, kinds in ROLES.items():
            kind, name, revision = dice.choice(kinds), dice.choice("abc"), f"vm{at}-{role}"
            if dice.random() < 0.3:
                continue
            row[role] = {"name": name, "kind": kind}
            if (way := dice.random()) < 0.5:
                row[f"{role}Ref"] = revision
            elif way < 0.7:
                row[role]["revisionName"] = revision
            meta = {"name": name, "uid": f"{kind}-{name}", "generation": 1}
            of = {"apiVersion": GROUP, "kind": kind, "metadata": meta, "spec": {}}
            if way < 0.6:
                yield {
                    "kind": "ControllerRevision",
                    "namespace": namespace,
                    "name": revision,
                    "vm": f"vm{at}",
                    "owner": f"u{at}",
                    "of": of,
                }
        yield row
        if dice.random() < 0.3:
            yield {"kind": "VirtualMachineInstance", "namespace": namespace, "name": f"vm{at}", "vm": f"u{at}"}
    yield {"kind": "VirtualMachinePool", "name": "workers", "instancetype": {"name": dice.choice("abc")}}


# Rows for changes of KubeVirt: gates, settings and who asks for them.

Row = dict[str, Any]


HOST_DISK: Row = {"template": {"volumes": [{"name": "d", "hostDisk": {"path": "/d", "type": "Disk"}}]}}


REBOOT: Row = {"domain": {"rebootPolicy": "Terminate"}}


VSOCK: Row = {"domain": {"devices": {"autoattachVSOCK": True}}}


def kubevirt(version: str = "v1.8.4", gates: tuple[str, ...] = (), disabled: tuple[str, ...] = (), **more: Any) -> Row:
    return {
        "kind": "KubeVirt",
        "name": "kubevirt",
        "namespace": "kubevirt",
        "version": version,
        "gates": list(gates),
        "disabledGates": list(disabled),
        **more,
    }


def vm(name: str, *features: Row, running: bool = False, **more: Any) -> list[Row]:
    """A VM, and its VMI with the same features where it runs."""
    spec: Row = {}
    for feature in features:
        spec = merged(spec, feature)
    row: Row = {"kind": "VirtualMachine", "name": name, "uid": f"u-{name}", "networks": {}} | spec
    row |= {"runStrategy": "Always" if running else "Halted"} | {
        k: v for k, v in more.items() if k in ("namespace", "runStrategy")
    }
    if not running:
        return [row]
    vmi = {"kind": "VirtualMachineInstance", "name": name, "vm": f"u-{name}", "networks": {}, "phase": "Running"}
    own = {
        "domain": spec.get("domain", {}),
        "spec": spec.get("template", {}),
        "annotations": spec.get("templateAnnotations", {}),
    }
    return [row, vmi | own | {k: v for k, v in more.items() if k != "runStrategy"}]


def merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {key: merged(one.get(key), value) for key, value in other.items()}
    return one + other if isinstance(one, list) and isinstance(other, list) else other
