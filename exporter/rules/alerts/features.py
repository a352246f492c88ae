"""Features that VMs use and the cluster doesn't allow, and settings of KubeVirt that its nodes don't support."""

from __future__ import annotations

from ..model import Area, FindingAlert

_OF_KUBEVIRT = ("kind", "namespace", "name", "feature", "reason")
_OF_FEATURE = ("feature", "reason")
_FEATURE, _VALUE = "{{ $labels.feature }}", "{{ $value }}"
_LISTED = f"`steward check --feature {_FEATURE}` lists the VMs."

AREA = Area(
    name="features",
    note="Features that VMs use and the cluster doesn't allow, and settings of KubeVirt that its nodes don't support."
    " One decision of an administrator concerns every VM that uses a feature: alerts whose name begins with VM fire"
    " once for each feature and reason, and their value is the number of VMs. While KubeVirt is being upgraded, only"
    " new findings about the upgrade itself and about an invalid configuration of KubeVirt are reported.",
    quiet=(
        "kubevirt_feature_ground_mismatch",
        "kubevirt_feature_template_mismatch",
        "kubevirt_vm_feature_mismatch",
        "kubevirt_vmi_feature_mismatch",
    ),
    findings=(
        FindingAlert(
            name="KubeVirtConfigurationInvalid",
            by=_OF_KUBEVIRT,
            not_paging={"InvalidConfiguration": "VMs are affected only when a component of KubeVirt restarts."},
            summary="The configuration of KubeVirt {object} is invalid or ambiguous",
            description="",
            wait="15m",  # somebody may be editing it, or deleting one of two
        ),
        FindingAlert(
            name="KubeVirtFeatureGround",
            by=_OF_KUBEVIRT,
            critical=("GateWithoutNodes", "NoKVM", "NoNodeForDefaultModel"),
            impact="critical",
            not_paging={"ImageVolumeUnsupported": "VMs can start on other nodes, and running VMs continue to run."},
            summary="Nodes lack what KubeVirt {object} requires",
            description="",
            wait="15m",  # long enough to finish a change of KubeVirt; most is only reported after 5 minutes
        ),
        FindingAlert(
            name="VMFeatureBlocked",
            by=_OF_FEATURE,
            counted=True,
            cluster_wide=True,
            not_paging={"": "Only VMs that use the feature are affected, after a change of the VMs or of the cluster."},
            summary=f"VMs blocked by feature {_FEATURE}: {_VALUE}",
            description=_LISTED,
            wait="5m",  # somebody may be editing the VM, or the list of feature gates
        ),
        FindingAlert(
            name="VMFeatureNoNode",
            by=_OF_FEATURE,
            counted=True,
            cluster_wide=True,
            not_paging={
                "": "Single VMs need more than nodes offer. Nodes can't be added at night, and other VMs run on."
            },
            summary=f'VMs without a suitable node{{{{ if ne $labels.feature "placement" }}}} for feature {_FEATURE}'
            f"{{{{ end }}}}: {_VALUE}",
            description=_LISTED,
            wait="15m",  # a node may be away for maintenance
        ),
        FindingAlert(
            name="VMFeatureMismatch",
            by=_OF_FEATURE,
            counted=True,
            cluster_wide=True,
            not_paging={"": "The VMs run. Only an edit of them or their next start fails."},
            summary="{{ with $labels.feature }}VMs with the disallowed feature {{ . }}{{ else }}Invalid VMs{{ end }}:"
            f" {_VALUE}",
            description="`steward check {{ with $labels.feature }}--feature {{ . }}{{ else }}--reason InvalidVM{{ end"
            " }}` lists the VMs.",
            wait="15m",  # long enough to finish a change of VMs or of KubeVirt
        ),
        FindingAlert(
            name="VMFeatureBreaksAtUpgrade",
            by=_OF_FEATURE,
            counted=True,
            cluster_wide=True,
            summary=f"VMs that lose feature {_FEATURE} at the KubeVirt upgrade: {_VALUE}",
            description=_LISTED,
            wait="1m",  # an upgrade can take only minutes
        ),
    ),
)
