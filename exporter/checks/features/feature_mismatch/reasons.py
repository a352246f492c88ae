"""The states of a VM in a feature that the cluster does not allow: the meanings and what to do."""

from __future__ import annotations

from ....domain.acts import Act, Forbids
from ....findings.causes import Cause
from ....findings.check import Family, Reason
from ....findings.severity import Severity
from .._commands import PREVIEW, READ_CONFIGURATION, READ_STATE, READ_VM, READ_VMI

OR_ALLOWED = ", or have it allowed"
"""Left out of an advice where a release has no way to allow it."""

VM = Family(
    "kubevirt_vm_feature_mismatch", "A VM asks for a feature that the cluster does not allow, or that no node supports."
)
VMI = Family(
    "kubevirt_vmi_feature_mismatch",
    "A VMI uses a feature that the cluster does not allow, or that no other node supports.",
)
_UPGRADE = Family(
    "kubevirt_feature_upgrade_mismatch",
    "A VM or VMI asks for a feature that the release of KubeVirt that is being rolled out does not allow.",
)

_CRITICAL, _WARNING, _INFO = Severity.CRITICAL, Severity.WARNING, Severity.INFO

REASONS = {
    "PendingBlocked": Reason(
        (_CRITICAL,),
        "A pending VMI uses a feature that the cluster does not allow: its launcher pod is not rendered or scheduled.",
        VMI,
        next=f"Take the feature out of the VM, and stop and start that{OR_ALLOWED}.",
        commands=(READ_VMI, READ_CONFIGURATION),
        alert="VMFeatureBlocked",
        does=(Act.RESTART,),
        forbids=Forbids((Act.START,), "its launcher pod is not rendered, or not scheduled"),
    ),
    "PendingStartedBefore": Reason(
        (_WARNING,),
        "A pending VMI was admitted before the feature was switched off: it starts this once, and not again.",
        VMI,
        next=f"Take the feature out of the VM before its next start{OR_ALLOWED}.",
        commands=(READ_VMI, READ_CONFIGURATION),
        alert="VMFeatureMismatch",
        forbids=Forbids((Act.START, Act.STOP, Act.RESTART, Act.END), "its next start is refused, or fails"),
    ),
    "StartBlocked": Reason(
        (_CRITICAL,),
        "The VM should run, and cannot start: it asks for a feature that the cluster does not allow.",
        VM,
        next=f"Take out of the VM all that is refused, in one edit that a dry run accepts{OR_ALLOWED}: it then starts "
        "by itself.",
        commands=(READ_STATE, READ_VM, PREVIEW, READ_CONFIGURATION),
        alert="VMFeatureBlocked",
        forbids=Forbids((Act.START,), "its next start is refused, or fails"),
    ),
    "StoppedRequestsDisabled": Reason(
        (_INFO, _WARNING),
        "A stopped VM asks for a feature that the cluster does not allow: it will not start.",
        VM,
        next=f"Take out of the VM all that is refused, in one edit, before somebody needs it{OR_ALLOWED}.",
        commands=(READ_VM, PREVIEW, READ_CONFIGURATION),
        alert="VMFeatureMismatch",
        forbids=Forbids((Act.START,), "its next start is refused, or fails"),
    ),
    "HealsAtRestart": Reason(
        (_INFO,),
        "The VMI uses a feature that the cluster does not allow, and the VM no longer asks for it: its next restart "
        "settles it.",
        VM,
        next="Restart the VM when it suits its owner.",
        commands=(READ_VMI,),
        cause=Cause.NAMESPACE,
        does=(Act.RESTART,),
    ),
    "WillFailAtRestart": Reason(
        (_WARNING,),
        "The VM runs without a feature that was added to it since it started, and that the cluster does not allow: its "
        "next start fails.",
        VM,
        next=f"Do not restart the VM before the feature is taken out of it{OR_ALLOWED}.",
        commands=(READ_VM, PREVIEW, READ_CONFIGURATION),
        alert="VMFeatureMismatch",
        forbids=Forbids((Act.START, Act.STOP, Act.RESTART, Act.END), "its next start is refused, or fails"),
    ),
    "NotEditable": Reason(
        (_WARNING, _CRITICAL),
        "A VM that runs was started before the feature was switched off: KubeVirt refuses every edit of the VM, labels "
        "and stop included, and will refuse its next start; critical where its live migration or the guest fails too.",
        VM,
        next="Do not restart it and do not delete its VMI: take out of the VM all that is refused, in one edit that a "
        f"dry run accepts{OR_ALLOWED}.",
        commands=(READ_VM, PREVIEW, READ_CONFIGURATION),
        alert="VMFeatureMismatch",
        forbids=Forbids(
            (Act.START, Act.STOP, Act.RESTART, Act.END),
            "KubeVirt refuses edits of it, its stop and its next start among them",
        ),
    ),
    "RunningStartedBefore": Reason(
        (_WARNING, _INFO, _CRITICAL),
        "A VMI that runs uses a feature that the cluster does not allow any more.",
        VMI,
        next=f"Take the feature out of the VM before its next start{OR_ALLOWED}.",
        commands=(READ_VMI, READ_CONFIGURATION),
        alert="VMFeatureMismatch",
        forbids=Forbids((Act.START, Act.STOP, Act.RESTART, Act.END), "its next start is refused, or fails"),
    ),
    "MigrationBlocked": Reason(
        (_CRITICAL,),
        "A VMI counts as live-migratable, and its migration will fail: the target pod needs what the cluster does not "
        "allow. A drain of its node will hang.",
        VMI,
        next=f"Do not drain the node: take the feature out of the VM and restart that{OR_ALLOWED}.",
        commands=(READ_VMI, READ_CONFIGURATION),
        alert="VMFeatureBlocked",
        does=(Act.RESTART,),
        forbids=Forbids(
            (Act.START, Act.STOP, Act.RESTART, Act.END, Act.MIGRATE, Act.DRAIN),
            "its migration will fail, and so will its next start",
        ),
    ),
    "BreaksAtUpgrade": Reason(
        (_WARNING,),
        "KubeVirt is being upgraded to a release that does not allow a feature that the VM asks for.",
        _UPGRADE,
        next=f"Before the upgrade is through, take the feature out of the VM{OR_ALLOWED}.",
        commands=(READ_VM, READ_CONFIGURATION),
        alert="VMFeatureBreaksAtUpgrade",
    ),
    "InvalidVM": Reason(
        (_WARNING,),
        "The VM has no template, or has both running and runStrategy: KubeVirt can neither start nor edit it.",
        VM,
        next="Give the VM a template, and just one of running and runStrategy.",
        commands=(READ_VM,),
        alert="VMFeatureMismatch",
        cause=Cause.NAMESPACE,
        forbids=Forbids((Act.START, Act.STOP, Act.RESTART, Act.END), "KubeVirt can neither start nor edit it"),
    ),
}
