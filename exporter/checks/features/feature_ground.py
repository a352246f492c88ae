"""Settings of KubeVirt by which every VM, or every VM of a kind, needs something of a node that no node has.

While the feature gate IOMMUFD is on, each launcher pod asks for a device of that name; without useEmulation each asks
for KVM; VMs that name no CPU model get the one of the configuration; with ImageVolume the kubelet mounts container
disks (pkg/virt-controller/services of kubevirt/kubevirt). It is enough that one node offers it: what single VMs
need beside that is seen by feature_nodes.

Not seen here: feature gates of Kubernetes; whether any VM has a container disk; hypervisors other than KVM; whether
nodes have the file of the seccomp profile that launcher pods name, since no object of the API says which files a node
has: where one lacks it, the container runtime refuses the pod, and the pod's events say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...domain.features.configuration import Effective, chosen
from ...domain.features.hco import REVERTED, way_of_gate, way_of_setting
from ...domain.features.indexes import OFFERED, TAKES
from ...facts.naming import filled, named
from ...facts.record import UnansweredError
from ...facts.versions import number_of
from ...findings.causes import Cause
from ...findings.check import PER_CLUSTER, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, command, reasons_of
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.node import Node
from .feature_mismatch.evaluation import edit_of

_NEW, _DEFAULT = (1, 31), (1, 35)  # releases of Kubernetes since which there are image volumes, and all have them
_OF_HOST = ("host-model", "host-passthrough")

_SETTINGS = {"NoKVM": "developerConfiguration.useEmulation", "NoNodeForDefaultModel": "cpuModel"}

_REASONS, _TEXTS = reasons_of("feature_ground"), Texts("feature_ground")


def find(view: View) -> Iterator[Finding]:
    kubevirts = view.all(KubeVirt)
    taking = [each for each in view.sharing(TAKES, "") if isinstance(each, Node)]
    if not kubevirts or not taking:
        return
    kubevirt = chosen(kubevirts)
    known = kubevirt if isinstance(kubevirt, str) else Effective.of(kubevirt)
    if isinstance(kubevirt, str) or isinstance(known, str):
        raise UnansweredError(str(known))
    yield from _offered(view, kubevirt, known, len(taking))
    if _on(known, "ImageVolume"):
        yield from _image_volumes(kubevirt, known, taking)


def _on(known: Effective, gate: str) -> bool:
    """Older releases take a gate for on that is listed, and nothing there asks for it."""
    return known.gates.known(gate) and known.on(gate)


def _offered(view: View, kubevirt: KubeVirt, known: Effective, taking: int) -> Iterator[Finding]:
    if _on(known, "IOMMUFD") and not _any(view, "resource devices.kubevirt.io/iommufd"):
        message = _TEXTS.message("GateWithoutNodes")
        yield _finding(kubevirt, known, "GateWithoutNodes", "iommufd", message, nodes=taking, gate="IOMMUFD")
    by_kvm = known.hypervisors == ("kvm",) and not known.emulation
    if by_kvm and not _any(view, "resource devices.kubevirt.io/kvm"):
        yield _finding(kubevirt, known, "NoKVM", "use_emulation", _TEXTS.message("NoKVM"), nodes=taking)
    model = known.cpu_model
    if model and model not in _OF_HOST and not _any(view, f"label cpu-model.node.kubevirt.io/{model}=true"):
        message = _TEXTS.message("NoNodeForDefaultModel", model=model[:60])
        yield _finding(
            kubevirt, known, "NoNodeForDefaultModel", "cpu_model_default", message, nodes=taking, model=model
        )


def _any(view: View, thing: str) -> bool:
    return any(True for _ in view.sharing(OFFERED, thing))


def _image_volumes(kubevirt: KubeVirt, known: Effective, taking: list[Node]) -> Iterator[Finding]:
    releases = {each: release for each in taking if (release := number_of(each.kubelet)) != (0, 0)}
    old = sorted((each for each, release in releases.items() if release < _DEFAULT), key=lambda each: each.name)
    if not old:
        return
    without = [each for each in old if releases[each] < _NEW]
    lacking = without or old
    nodes = named([f"{each.name} ({each.kubelet[:20]})" for each in lacking], most=3)
    yield _finding(
        kubevirt,
        known,
        "ImageVolumeUnsupported",
        "image_volume",
        _TEXTS.message("ImageVolumeUnsupported", "" if without else "by_gate", nodes=nodes),
        severity=Severity.CRITICAL if without else Severity.WARNING,
        gate="ImageVolume",
        olderThan="1.31" if without else "1.35",
        kubelets=[f"{each.name} {each.kubelet[:20]}" for each in lacking],
    )


def _finding(
    kubevirt: KubeVirt,
    known: Effective,
    reason: str,
    feature: str,
    message: str,
    severity: Severity = Severity.CRITICAL,
    **facts: Any,
) -> Finding:
    more = {"source": known.source(facts["gate"])} if "gate" in facts else {}
    if kubevirt.managed_by_hco:
        more["change"] = _change(reason, facts.get("gate", ""))
    return Finding(
        reason=reason,
        severity=severity,
        subject=kubevirt.ref,
        message=message,
        feature=feature,
        group=feature,
        next=_TEXTS.next(reason, "hco") if kubevirt.managed_by_hco and reason != "NoKVM" else "",
        commands=_commands(reason, kubevirt),
        evidence=facts | more | {"version": str(known.version)},
    )


def _commands(reason: str, kubevirt: KubeVirt) -> tuple[str, ...]:
    """Those of the reason, with the object that decides."""
    values = {"NAMESPACE": kubevirt.namespace, "NAME": kubevirt.name}
    opens = command("edit_kubevirt")
    return tuple(edit_of(kubevirt) if each == opens else filled(each, values) for each in _REASONS[reason].commands)


def _change(reason: str, gate: str) -> str:
    """What to do where the HyperConverged object decides."""
    way = way_of_gate(gate).sentence(False) if gate else way_of_setting(_SETTINGS[reason]).sentence(None)
    return f"{way} {REVERTED}"


CHECK = Check(
    id="feature_ground",
    title="Settings of KubeVirt whose needs no node meets",
    reads=(KubeVirt.KIND, Node.KIND),
    scope=PER_CLUSTER,
    looks_up=(OFFERED, TAKES),
    cause=Cause.FEATURE,
    reasons=_REASONS,
    find=find,
    fields_read=(Node.KIND,),
    requires=(KubeVirt.KIND,),
)
