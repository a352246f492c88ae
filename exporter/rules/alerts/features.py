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
                "InvalidConfiguration": "{{ $labels.feature }} of KubeVirt {object} is invalid, and KubeVirt silently"
                " ignores its whole configuration. Its components continue with the last valid configuration, and take"
                " the defaults once they restart. Correct the value before anything restarts them, an upgrade"
                " included.",
                "SeveralKubeVirts": "KubeVirt {object} is not the only KubeVirt object that is deployed. Which one"
                " KubeVirt's components read is up to chance. Do not delete any before you know which one is to stay.",
            },
        ),
        FindingAlert(
            name="KubeVirtFeatureGround",
            by=_OF_KUBEVIRT,
            critical=("GateWithoutNodes", "NoKVM", "NoNodeForDefaultModel"),
            impact="critical",
            not_paging={
                "ImageVolumeUnsupported": "VMs start on the nodes that support it, and running VMs continue to run."
            },
            summary="Nodes do not support what KubeVirt {object} is set to ({{ $labels.reason }})",
            description="",
            wait="15m",  # long enough to finish a change of KubeVirt; most is only reported after 5 minutes
            says={
                "GateWithoutNodes": "With feature gate {{ $labels.feature }} of KubeVirt {object} every launcher pod"
                " asks for a device that no node offers: no VM starts or migrates. Disable the feature gate until"
                " nodes offer the device.",
                "NoKVM": "Launcher pods ask for KVM, which no node offers: no VM starts or migrates. Find out why nodes"
                " have no /dev/kvm: their firmware, virt-handler, or nodes that are VMs themselves.",
                "NoNodeForDefaultModel": "No node offers the cpuModel that KubeVirt {object} gives to VMs without one"
                " of their own: these VMs do not start. Set cpuModel to a model that nodes have a label of.",
                "ImageVolumeUnsupported": "KubeVirt {object} mounts container disks as image volumes, which kubelets"
                " of some nodes do not support, or not by default. VMs with a container disk might not start there."
                " Disable feature gate ImageVolume until all nodes support image volumes.",
            },
        ),
        FindingAlert(
            name="VMFeatureBlocked",
            by=_OF_FEATURE,
            counted=True,
            cluster_wide=True,
            not_paging={
                "": "Only VMs that ask for the feature are concerned, right after a change of them or of the cluster."
            },
            summary=f"VMs that feature {{{{ $labels.feature }}}} blocks {_HOW_MANY}",
            description="",
            wait="5m",  # somebody may be editing the VM, or the list of feature gates
            says={
                "StartBlocked": "VMs that should run but can't start, since they ask for feature"
                " {{ $labels.feature }}, which the cluster does not allow: {{ $value }}. Remove all rejected fields"
                f" from each VM in one edit, or enable the feature. {_NAMES_THEM}",
                "PendingBlocked": "VMIs that stay pending, since they use feature {{ $labels.feature }}, which the"
                " cluster does not allow: {{ $value }}. Enable the feature, or remove it from each VM, then stop and"
                f" start the VM. {_NAMES_THEM}",
                "MigrationBlocked": "VMIs that count as live-migratable but can't be migrated, since they use feature"
                " {{ $labels.feature }}, which the cluster does not allow: {{ $value }}. A drain of their nodes hangs."
                f" Before you drain, enable the feature, or remove it from each VM and restart the VM. {_NAMES_THEM}",
            },
        ),
        FindingAlert(
            name="VMFeatureNoNode",
            by=_OF_FEATURE,
            counted=True,
            cluster_wide=True,
            not_paging={
                "": "Single VMs that ask for more than nodes have, which can't be added at night; other VMs run on."
            },
            summary='VMs that lack a node{{ if ne $labels.feature "placement" }} for feature {{ $labels.feature }}'
            f"{{{{ end }}}} {_HOW_MANY}",
            description="",
            wait="15m",  # a node may be away for maintenance
            says={
                "NoNodeSupports": f"VMIs {_WITHOUT_A_NODE}: {{{{ $value }}}}. Pending VMIs are not scheduled. Running"
                " VMIs can neither migrate nor start again. Uncordon a node that could take them, find out why the"
                f" other nodes can't, or reduce the VMs' requirements. {_NAMES_THEM}",
                "NoNodeForStart": f"VMs {_WITHOUT_A_NODE}, and that can't start: {{{{ $value }}}}. Uncordon a node"
                " that could take them, find out why the other nodes can't, or reduce the VMs' requirements."
                f" {_NAMES_THEM}",
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
                "NotEditable": "VMs that run with feature {{ $labels.feature }}, which the cluster no longer allows:"
                " {{ $value }}. Do not restart them and do not delete their VMIs, before the feature is removed from"
                " them in one edit, or enabled. KubeVirt rejects every other edit of them, and their next start."
                f" {_NAMES_THEM}",
                "WillFailAtRestart": "VMs that run without feature {{ $labels.feature }}, which was added to them and"
                " which the cluster does not allow: {{ $value }}. Do not restart them before the feature is removed"
                f" from them, or enabled: their next start fails. {_NAMES_THEM}",
                "StoppedRequestsDisabled": "Stopped VMs that ask for feature {{ $labels.feature }}, which the cluster"
                " does not allow: {{ $value }}. They will not start. Remove the feature from them before they are"
                f" needed, or enable it. {_NAMES_THEM}",
                "RunningStartedBefore": "VMIs that run with feature {{ $labels.feature }}, which the cluster no longer"
                " allows: {{ $value }}. Do not restart or delete them before the feature is removed from their VMs, or"
                f" enabled: most can't be created again. {_NAMES_THEM}",
                "PendingStartedBefore": "Pending VMIs that were admitted with feature {{ $labels.feature }} before it"
                " was disabled: {{ $value }}. They start this once. Before their next start, remove the feature from"
                f" their VMs, or enable it. {_NAMES_THEM}",
                "TemplateRequestsDisabled": "VirtualMachineInstanceReplicaSets whose template asks for feature"
                " {{ $labels.feature }}, which the cluster does not allow: {{ $value }}. They get no further VMI."
                f" Remove the feature from the template, or enable it. {_NAMES_THEM}",
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
            " being upgraded to does not allow: {{ $value }}. Before the upgrade completes, remove the feature from"
            f" the VMs, or enable it in the new release. {_NAMES_THEM}",
            wait="1m",  # an upgrade may take only minutes
        ),
    ),
)
