"""What VMs ask for and the cluster does not allow, and what KubeVirt is set to and its nodes do not support."""

from __future__ import annotations

from ..model import Area, FindingAlert

_OF_KUBEVIRT = ("kind", "namespace", "name", "feature", "reason")
_OF_FEATURE = ("feature", "reason")
_HOW_MANY = "({{ $labels.reason }}): {{ $value }}"
# All that a VM asks of a node together has no feature's name.
_WITHOUT_A_NODE = (
    '{{ if eq $labels.feature "placement" }}that no node can take, by all that they ask of it{{ else }}whose feature'
    " {{ $labels.feature }} no node offers that takes launcher pods{{ end }}"
)
_WITHOUT_ANOTHER = (
    '{{ if eq $labels.feature "placement" }}that no node can take but their own{{ else }}whose feature'
    " {{ $labels.feature }} no node offers but their own{{ end }}"
)
_NAMES_THEM = "`steward check --feature {{ $labels.feature }}` lists them and says what to do about each."

AREA = Area(
    name="features",
    note="What VMs ask for and the cluster does not allow, and what KubeVirt is set to and its nodes do not support."
    " One decision of an admin concerns every VM that asks for a feature: alerts whose name begins with VM fire once"
    " for each feature and reason, and their value is the number of VMs. While KubeVirt is upgraded nothing new is"
    " reported but what the upgrade itself breaks and what is invalid in KubeVirt's configuration.",
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
            not_paging={"InvalidConfiguration": "Nothing fails before components of KubeVirt restart."},
            summary="The configuration of KubeVirt {object} can't be relied on ({{ $labels.reason }})",
            description="",
            wait="15m",  # somebody may be editing it, or deleting one of two
            says={
                "InvalidConfiguration": "{{ $labels.feature }} of KubeVirt {object} is invalid, and KubeVirt ignores"
                " its whole configuration without a word: its components go on with the last valid one, and take the"
                " defaults once they restart. Correct the value before anything restarts them, an upgrade included.",
                "SeveralKubeVirts": "KubeVirt {object} is not the only one that is deployed: which of them KubeVirt's"
                " components read is up to chance. Find out which one is to stay before you delete any.",
            },
        ),
        FindingAlert(
            name="KubeVirtFeatureGround",
            by=_OF_KUBEVIRT,
            critical=("GateWithoutNodes", "NoKVM", "NoNodeForDefaultModel"),
            impact="critical",
            not_paging={"ImageVolumeUnsupported": "VMs start on the nodes that support it, and those that run go on."},
            summary="Nodes do not support what KubeVirt {object} is set to ({{ $labels.reason }})",
            description="",
            wait="15m",  # long enough to finish a change of KubeVirt; most is only reported after 5 minutes
            says={
                "GateWithoutNodes": "Feature gate {{ $labels.feature }} of KubeVirt {object} has every launcher pod ask"
                " for a device that no node offers: no VM starts or migrates. Switch the gate off until nodes offer the"
                " device.",
                "NoKVM": "Launcher pods ask for KVM, which no node offers: no VM starts or migrates. Find out why nodes"
                " have no /dev/kvm: their firmware, virt-handler, or nodes that are VMs themselves.",
                "NoNodeForDefaultModel": "No node offers the cpuModel that KubeVirt {object} gives to VMs without one"
                " of their own: they do not start. Set it to a model that nodes have a label of.",
                "ImageVolumeUnsupported": "KubeVirt {object} mounts container disks as image volumes, which kubelets of"
                " some nodes do not have, or not by default: VMs with a container disk may not start there. Switch the"
                " feature gate ImageVolume off until all nodes support them.",
            },
        ),
        FindingAlert(
            name="VMFeatureBlocked",
            by=_OF_FEATURE,
            counted=True,
            cluster_wide=True,
            not_paging={
                "": "Of VMs that ask for the feature, and for somebody who changed them or the cluster just now."
            },
            summary=f"VMs that feature {{{{ $labels.feature }}}} blocks {_HOW_MANY}",
            description="",
            wait="5m",  # somebody may be editing the VM, or the list of feature gates
            says={
                "StartBlocked": "VMs that should run and can't start, since they ask for feature {{ $labels.feature }},"
                " which the cluster does not allow: {{ $value }}. Take all that is refused out of each VM in one edit,"
                f" or have the feature allowed. {_NAMES_THEM}",
                "PendingBlocked": "VMIs that stay pending, since they use feature {{ $labels.feature }}, which the"
                " cluster does not allow: {{ $value }}. Have the feature allowed, or take it out of each VM, and stop"
                f" and start that. {_NAMES_THEM}",
                "MigrationBlocked": "VMIs that count as live-migratable and can't be migrated, since they use feature"
                " {{ $labels.feature }}, which the cluster does not allow: {{ $value }}. A drain of their nodes hangs:"
                " have the feature allowed, or take it out of each VM and restart that, before you drain."
                f" {_NAMES_THEM}",
            },
        ),
        FindingAlert(
            name="VMFeatureNoNode",
            by=_OF_FEATURE,
            counted=True,
            cluster_wide=True,
            not_paging={"": "Single VMs that ask for more than nodes have, which nobody adds at night; others run on."},
            summary='VMs that lack a node{{ if ne $labels.feature "placement" }} for feature {{ $labels.feature }}'
            f"{{{{ end }}}} {_HOW_MANY}",
            description="",
            wait="15m",  # a node may be away for maintenance
            says={
                "NoNodeSupports": f"VMIs {_WITHOUT_A_NODE}:"
                " {{ $value }}. Pending ones are not scheduled; those that run can neither migrate nor start anew."
                " Uncordon a node that could take them, find out why the others can't, or have the VMs ask for less."
                f" {_NAMES_THEM}",
                "NoNodeForStart": f"VMs {_WITHOUT_A_NODE}, and"
                " that can't start: {{ $value }}. Uncordon a node that could take them, find out why the others can't,"
                f" or have the VMs ask for less. {_NAMES_THEM}",
                "NoMigrationTarget": f"VMIs that count as live-migratable, and {_WITHOUT_ANOTHER}:"
                " {{ $value }}. Their migration fails, and a drain of their node hangs. Have"
                f" another node offer what they ask for, or plan to shut them down for the drain. {_NAMES_THEM}",
            },
        ),
        FindingAlert(
            name="VMFeatureMismatch",
            by=_OF_FEATURE,
            counted=True,
            cluster_wide=True,
            not_paging={"": "The VMs run; only their next start or edit fails."},
            summary="{{ with $labels.feature }}VMs that ask for feature {{ . }}, which is not allowed{{ else }}Invalid"
            f" VMs{{{{ end }}}} {_HOW_MANY}",
            description="",
            wait="15m",  # long enough to finish a change of VMs or of KubeVirt
            says={
                "NotEditable": "VMs that run with feature {{ $labels.feature }}, which the cluster does not allow any"
                " more: {{ $value }}. KubeVirt refuses every edit of them and their next start: do not restart them and"
                " do not delete their VMIs, before the feature is taken out of them in one edit, or allowed."
                f" {_NAMES_THEM}",
                "WillFailAtRestart": "VMs that run without feature {{ $labels.feature }}, which was added to them and"
                " which the cluster does not allow: {{ $value }}. Their next start fails: do not restart them before it"
                f" is taken out of them, or allowed. {_NAMES_THEM}",
                "StoppedRequestsDisabled": "Stopped VMs that ask for feature {{ $labels.feature }}, which the cluster"
                " does not allow: {{ $value }}. They will not start: take it out of them before somebody needs them, or"
                f" have it allowed. {_NAMES_THEM}",
                "RunningStartedBefore": "VMIs that run with feature {{ $labels.feature }}, which the cluster does not"
                " allow any more: {{ $value }}. Most can't be created again: do not restart or delete them before the"
                f" feature is taken out of their VMs, or allowed. {_NAMES_THEM}",
                "PendingStartedBefore": "Pending VMIs that were admitted with feature {{ $labels.feature }} before it"
                " was switched off: {{ $value }}. They start this once: before their next start, take the feature out"
                f" of their VMs, or have it allowed. {_NAMES_THEM}",
                "TemplateRequestsDisabled": "VirtualMachineInstanceReplicaSets whose template asks for feature"
                " {{ $labels.feature }}, which the cluster does not allow: {{ $value }}. They get no further VMI: take"
                f" the feature out of the template, or have it allowed. {_NAMES_THEM}",
                "InvalidVM": "VMs without a template, or with both running and runStrategy: {{ $value }}. KubeVirt can"
                " neither start nor edit them. `steward check --check feature_mismatch` lists them.",
            },
        ),
        FindingAlert(
            name="VMFeatureBreaksAtUpgrade",
            by=_OF_FEATURE,
            counted=True,
            cluster_wide=True,
            summary=f"VMs that lose feature {{{{ $labels.feature }}}} with KubeVirt's upgrade {_HOW_MANY}",
            description="VMs and VMIs that ask for feature {{ $labels.feature }}, which the release that KubeVirt is"
            " being upgraded to does not allow: {{ $value }}. Before the upgrade is through, take the feature out of"
            f" the VMs, or have it allowed in the new release. {_NAMES_THEM}",
            wait="1m",  # an upgrade may take only minutes
        ),
    ),
)
