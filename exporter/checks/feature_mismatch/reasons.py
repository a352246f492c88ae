"""The states of a VM in a feature that the cluster does not allow: the meanings and what to do."""

from __future__ import annotations

from ...findings import Severity
from ..base import Family, Reason

__all__ = ["REASONS", "VM", "VMI"]

VM = Family(
    "kubevirt_vm_feature_mismatch",
    "A VM asks for a feature that the cluster does not allow, or that no node supports.",
)
VMI = Family(
    "kubevirt_vmi_feature_mismatch",
    "A VMI uses a feature that the cluster does not allow, or that no other node supports.",
)
_UPGRADE = Family(
    "kubevirt_feature_upgrade_mismatch",
    "A VM or VMI asks for a feature that the release of KubeVirt that is being rolled out does not allow.",
)

_GATES = (
    "kubectl get kubevirts.kubevirt.io -A -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name}"
    '{"\\n"}{.spec.configuration.developerConfiguration}{"\\n"}{end}\''
)
_SPEC = "kubectl get virtualmachines.kubevirt.io -n NAMESPACE VMNAME -o yaml"
_VMI_SPEC = "kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE VMNAME -o yaml"
_PREVIEW = "kubectl patch virtualmachines.kubevirt.io -n NAMESPACE VMNAME --type merge -p '{}' --dry-run=server"

_CRITICAL, _WARNING, _INFO = Severity.CRITICAL, Severity.WARNING, Severity.INFO

REASONS = {
    "PendingBlocked": Reason(
        (_CRITICAL,),
        "A pending VMI uses a feature that the cluster does not allow: its launcher pod is not rendered or scheduled.",
        VMI,
        next="Allow the feature again, or take it out of the VM and start it anew.",
        commands=(_VMI_SPEC, _GATES),
        alert="VMIFeatureBlocked",
    ),
    "PendingStartedBefore": Reason(
        (_WARNING,),
        "A pending VMI was admitted before the feature was switched off: it starts this once, and not again.",
        VMI,
        next="Allow the feature again, or take it out of the VM before its next start.",
        commands=(_VMI_SPEC, _GATES),
        alert="VMIFeatureMismatch",
    ),
    "StartBlocked": Reason(
        (_CRITICAL,),
        "The VM should run, and cannot start: it asks for a feature that the cluster does not allow.",
        VM,
        next="Allow the feature again, or take it out of the VM: all that is refused at once, since KubeVirt refuses "
        "every edit that leaves something of it.",
        commands=(_SPEC, _PREVIEW, _GATES),
        alert="VMFeatureStartBlocked",
    ),
    "StoppedRequestsDisabled": Reason(
        (_INFO, _WARNING),
        "A stopped VM asks for a feature that the cluster does not allow: it will not start.",
        VM,
        next="Take the feature out of the VM, or allow it again before somebody needs the VM.",
        commands=(_SPEC, _PREVIEW, _GATES),
    ),
    "HealsAtRestart": Reason(
        (_INFO,),
        "The VMI uses a feature that the cluster does not allow, and the VM no longer asks for it: its next restart "
        "settles it.",
        VM,
        next="Restart the VM when it suits its owner.",
        commands=(_VMI_SPEC,),
    ),
    "WillFailAtRestart": Reason(
        (_WARNING,),
        "The VM runs without a feature that was added to it since it started, and that the cluster does not allow: its "
        "next start fails.",
        VM,
        next="Take the feature out of the VM, or allow it again, before the VM is restarted.",
        commands=(_SPEC, _PREVIEW, _GATES),
        alert="VMFeatureMismatch",
    ),
    "NotEditable": Reason(
        (_WARNING, _CRITICAL),
        "A VM that runs was started before the feature was switched off: KubeVirt refuses every edit of the VM, labels "
        "and stop included, and will refuse its next start; critical where its live migration or the guest fails too.",
        VM,
        next="Do not restart it and do not delete its VMI: allow the feature again, or take out of the VM all that is "
        "refused, in one edit.",
        commands=(_SPEC, _PREVIEW, _GATES),
        alert="VMFeatureMismatch",
    ),
    "RunningStartedBefore": Reason(
        (_WARNING, _INFO, _CRITICAL),
        "A VMI that runs uses a feature that the cluster does not allow any more.",
        VMI,
        next="Allow the feature again, or take it out of the VM before its next start.",
        commands=(_VMI_SPEC, _GATES),
        alert="VMIFeatureMismatch",
    ),
    "MigrationBlocked": Reason(
        (_CRITICAL,),
        "A VMI counts as live-migratable, and its migration will fail: the target pod needs what the cluster does not "
        "allow. A drain of its node will hang.",
        VMI,
        next="Do not drain its node: allow the feature again, or take it out of the VM and restart it.",
        commands=(_VMI_SPEC, _GATES),
        alert="VMIFeatureBlocked",
    ),
    "BreaksAtUpgrade": Reason(
        (_WARNING,),
        "KubeVirt is being upgraded to a release that does not allow a feature that the VM asks for.",
        _UPGRADE,
        next="Have the feature allowed in the new release, or take it out of the VM, before the upgrade is through.",
        commands=(_SPEC, _GATES),
        alert="VMFeatureBreaksAtUpgrade",
    ),
    "InvalidVM": Reason(
        (_WARNING,),
        "The VM has no template, or has both running and runStrategy: KubeVirt can neither start nor edit it.",
        VM,
        next="Give the VM a template, and just one of running and runStrategy.",
        commands=(_SPEC,),
        alert="VMFeatureMismatch",
    ),
}
