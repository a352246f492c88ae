"""The lists of feature gates and the settings of the KubeVirt object: what in them does not do what it seems to.

KubeVirt takes any name for a gate without a warning, and from 1.9 on it ignores those that it does not know. Which
gates a release knows and in which stage stands in domain/features/gates.py, for all releases from 1.0 on. One
invalid value makes KubeVirt ignore the whole configuration: its components go on with the last valid one, and with the
defaults once they restart. While an upgrade is under way, each gate that it switches on or off is reported: 1.9
switches on every Beta gate that nobody disables.

Not seen here: whether a VM asks for what is off (feature_mismatch); gates of releases that are newer than the table; a
downstream build that registers gates of its own; of the names in one list that no release knows, more than the first
hundred.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ...domain.features.configuration import Effective, chosen, forecast, understood
from ...domain.features.hco import HYPERCONVERGED, REVERTED, way_of_gate, way_of_setting
from ...domain.features.settings import Switch, problems, settings
from ...facts.record import UnansweredError
from ...findings.causes import Cause
from ...findings.check import PER_CLUSTER, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, command, reasons_of
from ...findings.severity import Severity
from ...store.kinds.kube_virt import EVEN_PARITY, KubeVirt

__all__ = ["CHECK"]

_TEXTS = Texts("feature_configuration")

_ELSE = "Change HyperConverged, as evidence `change` says."
_READ_HYPERCONVERGED = f"kubectl get hyperconvergeds.hco.kubevirt.io -n NAMESPACE {HYPERCONVERGED} -o yaml"


# Advice where the HyperConverged Cluster Operator owns the KubeVirt object: it reverts what others write there.


def advised_by_hco(finding: Finding, kubevirt: KubeVirt) -> Finding:
    """The finding with where its gate or setting is decided, if that is not in the KubeVirt object."""
    if not kubevirt.managed_by_hco:
        return finding
    namespace = kubevirt.namespace
    invalid = finding.reason == "InvalidConfiguration"
    way = way_of_setting(finding.feature) if invalid else way_of_gate(finding.feature)
    return msgspec.structs.replace(
        finding,
        next=_TEXTS.next(finding.reason, "hco") if invalid else f"{way.brief(None) or _ELSE} {REVERTED}",
        evidence={**finding.evidence, "change": f"{way.sentence(None)} {REVERTED}"},
        commands=tuple(
            each.replace("NAMESPACE", namespace).replace("NAME", kubevirt.name)
            # any value may be invalid
            for each in (
                _READ_HYPERCONVERGED,
                command("show_kubevirt" if invalid else "feature_gates"),
                command("edit_hyperconverged"),
            )
        ),
    )


# Each gate of the two lists: whether it does there what it seems to.

_LISTED, _DISABLED = "featureGates", "disabledFeatureGates"
# While one is listed, KubeVirt before 1.8 takes edits of VMs that still have such an interface.
_EDITABLE = ("Macvtap", "Passt")
_HYPERVISOR = "ConfigurableHypervisor"

_WITHOUT_EFFECT = ("MultiArchitecture",)  # of the deprecated ones: nothing asks for them any more
_INSTEAD = {
    "HotplugVolumes": "DeclarativeHotplugVolumes",
    "DisableMDEVConfiguration": "mediatedDevicesConfiguration.enabled: false",
    "ExperimentalVirtiofsSupport": "EnableVirtioFsConfigVolumes and EnableVirtioFsStorageVolumes",
}


class _Said(NamedTuple):
    reason: str
    message: str


def _say(reason: str, variant: str, **fields: object) -> _Said:
    return _Said(reason, _TEXTS.message(reason, variant, **fields))


def of_the_lists(kubevirt: KubeVirt, known: Effective, coming: Effective | None) -> Iterator[Finding]:
    """`coming` is what an upgrade that is under way leads to: what has an effect there is listed for it."""
    gates = known.gates
    for gate in sorted({*gates.enabled, *gates.disabled}):
        if coming is not None and not gates.known(gate) and coming.gates.known(gate):
            continue
        said = _said(gate, known)
        if said is not None and said.reason == "InertGate" and coming is not None and _serves(gate, coming):
            continue
        if said is not None:
            lists = {_LISTED: gate in gates.enabled, _DISABLED: gate in gates.disabled}
            nearest = "" if gates.known(gate) else gates.nearest(gate)
            yield Finding(
                reason=said.reason,
                severity=Severity.INFO,
                subject=kubevirt.ref,
                message=said.message,
                next=_next(said, gate, known, nearest),
                feature=gate,
                group=gate,
                evidence={
                    "gate": gate,
                    "lists": [name for name, there in lists.items() if there],
                    "stage": gates.stage(gate),
                    "on": known.on(gate),
                    "release": known.version.tag,
                    **({"nearest": nearest} if nearest else {}),
                },
            )
    hypervisors = [each.name for each in known.settings.hypervisors or () if each is not None and each.name]
    if hypervisors not in ([], ["kvm"]) and not gates.on(_HYPERVISOR):
        yield Finding(
            reason="InertGate",
            severity=Severity.INFO,
            subject=kubevirt.ref,
            message=_TEXTS.message("InertGate", "hypervisors"),
            feature="hypervisors",
            group="hypervisors",
            evidence={"gate": _HYPERVISOR, "hypervisors": hypervisors},
        )


def _next(said: _Said, gate: str, known: Effective, nearest: str) -> str:
    """Empty where it is the one that the reason declares."""
    if said.reason == "InertGate" and gate not in known.gates.enabled:
        return _TEXTS.next("InertGate", "disabled")
    return _TEXTS.next("UnknownGate", "nearest", nearest=nearest) if nearest and said.reason == "UnknownGate" else ""


def _serves(gate: str, coming: Effective) -> bool:
    said = _said(gate, coming)
    return said is None or said.reason != "InertGate"


def _said(gate: str, known: Effective) -> _Said | None:
    gates = known.gates
    if not gates.known(gate):
        return _unknown(gate, known)
    if gate in gates.enabled and gate in gates.disabled:
        return _say("GateInBothLists", "", gate=gate, state="on" if gates.on(gate) else "off")
    return _enabled(gate, known) if gate in gates.enabled else _disabled(gate, known)


def _unknown(gate: str, known: Effective) -> _Said | None:
    nearest = known.gates.nearest(gate)
    if known.gates.newer and nearest.lower() != gate.strip().lower():
        return None  # it can be a gate that is newer than the table
    variant = "nearest" if nearest else ""
    return _say("UnknownGate", variant, version=known.version.tag, gate=gate[:80], nearest=nearest)


def _enabled(gate: str, known: Effective) -> _Said | None:
    gates, version = known.gates, known.version.tag
    if gate in _EDITABLE and gates.state(gate) == "DISC" and known.version.release < (1, 8):
        return _say("DeprecatedGate", "editable", gate=gate)
    if inert := _inert(gate, known):
        return inert
    if gates.state(gate) == "GA":
        if known.source(gate) == "listed":
            return None  # the list decides although it is GA
        return _say("RedundantGate", "", gate=gate, version=version)
    if gates.state(gate) == "DEP":
        instead = _INSTEAD.get(gate, "")
        return _say("DeprecatedGate", "instead" if instead else "", gate=gate, version=version, instead=instead)
    return None


def _inert(gate: str, known: Effective) -> _Said | None:
    """Why a gate has no effect although it is listed; None where it has one."""
    gates, version = known.gates, known.version.tag
    if gates.state(gate) == "DISC":
        return _say("InertGate", "discontinued", gate=gate, version=version)
    if gates.state(gate) == "DEP" and gate in _WITHOUT_EFFECT:
        return _say("InertGate", "always_on", gate=gate, version=version)
    if setting := _decides(gate, known):
        return _say("InertGate", "setting", gate=gate, setting=setting)
    if gate == "DeclarativeHotplugVolumes" and gates.on("HotplugVolumes"):
        return _say("InertGate", "overruled", gate=gate)
    if gate == "AlignCPUs" and EVEN_PARITY not in known.annotations:
        return _say("InertGate", "annotation", gate=gate, annotation=EVEN_PARITY)
    return None


def _decides(gate: str, known: Effective) -> str:
    """The path of the setting that decides in the place of a listed gate; empty where the list decides."""
    of, state = known.settings, known.gates.state(gate)
    if gate == "ClusterProfiler" and known.source(gate) == "off":
        return "developerConfiguration.clusterProfiler"
    if gate == "CommonInstancetypesDeploymentGate" and not known.on(gate):
        return "commonInstancetypesDeployment.enabled"
    if gate == "Template" and not known.on(gate):
        return "virtTemplateDeployment.enabled"
    if gate == "DisableMDEVConfiguration" and state == "DEP" and _set(of.mediated_devices_configuration):
        return "mediatedDevicesConfiguration.enabled"
    if gate == "PersistentReservation" and state == "GA" and _set(of.persistent_reservation_configuration):
        return "persistentReservationConfiguration.enabled"
    return ""


def _set(section: Switch | None) -> bool:
    return section is not None and section.enabled is not None


def _disabled(gate: str, known: Effective) -> _Said | None:
    gates = known.gates
    if known.on(gate) and gates.state(gate) == "GA":
        return _say("GateNotDisabled", "", gate=gate, version=known.version.tag)
    if not gates.disabling:
        return _say("InertGate", "no_list", gate=gate)
    return None if gates.source(gate) == "disabled" else _say("InertGate", "off_anyway", gate=gate)


# What an upgrade that is under way switches on or off.

_NEXT = {"default": "stays_off", "always": "always"}
_SOURCES = {"default": "", "off": "unlisted"}  # variants of the message, where they are not named as the source


def at_upgrade(kubevirt: KubeVirt, now: Effective, coming: Effective | None) -> Iterator[Finding]:
    if coming is None:
        return
    for gate in sorted({*now.gates.names, *coming.gates.names}):
        before, after = now.on(gate), coming.on(gate)
        if before != after:
            source = coming.source(gate)
            yield Finding(
                reason="ChangesAtUpgrade",
                severity=Severity.INFO,
                subject=kubevirt.ref,
                message=_TEXTS.message(
                    "ChangesAtUpgrade",
                    _SOURCES.get(source, source),
                    gate=gate,
                    now=now.version.tag,
                    target=coming.version.tag,
                ),
                feature=gate,
                group=gate,
                next=_TEXTS.next("ChangesAtUpgrade", _NEXT[source], gate=gate) if source in _NEXT else "",
                evidence={
                    "gate": gate,
                    "before": "on" if before else "off",
                    "after": "on" if after else "off",
                    "stage": coming.gates.stage(gate),
                    "target": kubevirt.target,
                },
            )


def find(view: View) -> Iterator[Finding]:
    kubevirts = sorted(view.all(KubeVirt), key=lambda each: each.ref)
    kubevirt = chosen(kubevirts)
    if not isinstance(kubevirt, str):
        yield from (advised_by_hco(finding, kubevirt) for finding in _of(kubevirt))
        return
    deployed = [each for each in kubevirts if not isinstance(chosen([each]), str)]
    for each in deployed:
        yield Finding(
            reason="SeveralKubeVirts",
            severity=Severity.WARNING,
            subject=each.ref,
            message=_TEXTS.message("SeveralKubeVirts", several=kubevirt),
            related=tuple(other.ref for other in deployed if other is not each),
            evidence={"kubeVirts": [other.ref.path for other in deployed]},
        )


def _of(kubevirt: KubeVirt) -> Iterator[Finding]:
    """Of a configuration that KubeVirt ignores only that. Raises UnansweredError where nobody knows the gates of its
    version.
    """
    invalid = list(_invalid(kubevirt))
    if invalid:
        yield from invalid
        return
    known = understood(kubevirt)
    if isinstance(known, str):
        raise UnansweredError(known)
    coming = forecast(kubevirt)
    yield from of_the_lists(kubevirt, known, coming)
    yield from at_upgrade(kubevirt, known, coming)


def _invalid(kubevirt: KubeVirt) -> Iterator[Finding]:
    try:
        found = problems(settings(kubevirt.configuration))
    except msgspec.DecodeError:
        return  # nobody knows, and `understood` says so
    for path, why in found:
        yield Finding(
            reason="InvalidConfiguration",
            severity=Severity.CRITICAL,
            subject=kubevirt.ref,
            message=_TEXTS.message("InvalidConfiguration", path=path, why=why),
            feature=path,
            group=path,
            evidence={"why": why} | ({"hyperConverged": way_of_setting(path).place} if kubevirt.managed_by_hco else {}),
        )


CHECK = Check(
    id="feature_configuration",
    title="Feature gates and settings of KubeVirt that do not do what they seem to",
    reads=(KubeVirt.KIND,),
    scope=PER_CLUSTER,
    cause=Cause.FEATURE,
    reasons=reasons_of("feature_configuration"),
    find=find,
    requires=(KubeVirt.KIND,),
)
