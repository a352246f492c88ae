"""What is wrong with lists and settings of the KubeVirt object: the meanings and what to do."""

from __future__ import annotations

from dataclasses import replace

from ....domain.features.hco import HYPERCONVERGED
from ....findings.causes import Cause
from ....findings.check import Family, Reason
from ....findings.finding import Severity
from .._commands import READ_KUBEVIRT

_FAMILY = Family(
    "kubevirt_feature_configuration",
    "A feature gate or a setting of the KubeVirt object does not do what it seems to, or an upgrade changes it.",
)

READ_LISTS = (
    "kubectl get kubevirts.kubevirt.io -n NAMESPACE NAME -o jsonpath='{.status.observedKubeVirtVersion}"
    '{"\\n"}{.spec.configuration.developerConfiguration}{"\\n"}\''
)
_READ_ALL = "kubectl get kubevirts.kubevirt.io -A"
READ_HYPERCONVERGED = f"kubectl get hyperconvergeds.hco.kubevirt.io -n NAMESPACE {HYPERCONVERGED} -o yaml"

_EDITED = 60.0  # who owns the object reverts an edit within seconds


def _info(meaning: str, next_: str, remediation: str = "") -> Reason:
    made = Reason((Severity.INFO,), meaning, _FAMILY, grace=_EDITED, next=next_, commands=(READ_LISTS,))
    return replace(made, remediation=remediation)


REASONS = {
    "UnknownGate": _info(
        "A name in the lists of feature gates is none of this release: KubeVirt does not say so, and ignores it.",
        "Correct the name, which is case-sensitive, or remove it from the list.",
        remediation="clean_feature_gates",
    ),
    "InertGate": _info(
        "A gate is listed, or a setting made, and has no effect.",
        "Remove it, or set up what it needs: see the message.",
        remediation="clean_feature_gates",
    ),
    "GateInBothLists": _info(
        "A gate is in featureGates and in disabledFeatureGates; KubeVirt refuses the next edit of the lists that "
        "leaves it so.",
        "Remove it from one of the lists; several such gates at once, in one edit.",
        remediation="clean_feature_gates",
    ),
    "DeprecatedGate": _info(
        "A gate is listed that works and is deprecated: it has no effect in a later release.",
        "Prepare for a release without it.",
    ),
    "RedundantGate": _info(
        "A gate is listed that is always on in this release.",
        "Remove it from featureGates; nothing changes by that.",
        remediation="clean_feature_gates",
    ),
    "GateNotDisabled": _info(
        "A gate is in disabledFeatureGates and stays on: what is GA can't be disabled.",
        "Remove it from disabledFeatureGates, and do not rely on it being off.",
        remediation="clean_feature_gates",
    ),
    "InvalidConfiguration": Reason(
        (Severity.CRITICAL,),
        "A value is invalid, and KubeVirt ignores its whole configuration: its components go on with the last valid "
        "one, and with the defaults once they restart.",
        _FAMILY,
        grace=_EDITED,
        next="Correct the value before a component of KubeVirt restarts.",
        commands=(READ_KUBEVIRT,),
        alert="KubeVirtConfigurationInvalid",
        cause=Cause.SUBJECT,
    ),
    "ChangesAtUpgrade": _info(
        "KubeVirt is being upgraded to a release in which a gate is on or off unlike now.",
        "Add the gate to a list before the upgrade is through, if it is to stay as it is.",
    ),
    "SeveralKubeVirts": Reason(
        (Severity.WARNING,),
        "More than one KubeVirt object is deployed, and nobody knows which one counts.",
        _FAMILY,
        grace=_EDITED,
        next="Find out which of them is to stay. Deleting one may remove KubeVirt from the cluster.",
        commands=(_READ_ALL,),
        alert="KubeVirtConfigurationInvalid",
        cause=Cause.CLUSTER,
    ),
}
