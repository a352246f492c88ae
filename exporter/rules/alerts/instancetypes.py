"""Instancetypes and preferences that VMs need and KubeVirt can't find, use or keep."""

from __future__ import annotations

from ..model import Area, FindingAlert

_OF_ROLE = ("kind", "namespace", "name", "group", "reason")
_UNCONTROLLED = (
    "It can't start; while it runs it can be neither stopped nor restarted through the VM object, and a deleted VMI"
    " does not come back."
)

AREA = Area(
    name="instancetypes",
    note="Instancetypes and preferences that VMs need and KubeVirt can't find, use or keep. The label group is"
    " instancetype or preference: of a VM both can be broken, and then both are reported.",
    findings=(
        FindingAlert(
            name="VMInstancetypeMissing",
            not_paging={"": "The VM does not start, or not again; what runs goes on, and its owner decides."},
            by=_OF_ROLE,
            summary="KubeVirt can't find or use the {{ $labels.group }} of {{ $labels.kind }} {object}"
            " ({{ $labels.reason }})",
            description="",
            wait="15m",  # a VM may be created before its instancetype, and a restore may still be writing
            says={
                "ObjectMissing": "The {{ $labels.group }} of VM {object} does not exist, and the VM has no copy of it."
                f" {_UNCONTROLLED} Create it again, best from another VM's copy, or let the VM refer to one that"
                " exists.",
                "RevisionMissing": "The ControllerRevision that VM {object} refers to for its {{ $labels.group }} does"
                f" not exist. {_UNCONTROLLED} The running VMI is the last copy: do not restart the VM before the"
                " ControllerRevision is created again.",
                "UnknownKind": "VM {object} refers to a kind of {{ $labels.group }} that KubeVirt does not know."
                f" {_UNCONTROLLED} Correct the kind in the VM's spec.",
                "RevisionUndecodable": "This release of KubeVirt can't decode the copy that VM {object} has of its"
                f" {{{{ $labels.group }}}}. {_UNCONTROLLED} Let KubeVirt make a new copy from the live object before"
                " you restart the VM.",
                "FailureStands": "KubeVirt reports that it can't find the {{ $labels.group }} of VM {object}, although"
                f" it is there. {_UNCONTROLLED} Annotate the VM, so that virt-controller reconciles it.",
                "PoolObjectMissing": "The {{ $labels.group }} in the template of VirtualMachinePool {object} does not"
                " exist: VMs that the pool creates can't start. Create it again, or let the template refer to one that"
                " exists.",
            },
        ),
        FindingAlert(
            name="VMInstancetypeConflict",
            not_paging={"": "The VM does not start until its owner edits it; all others run on."},
            by=_OF_ROLE,
            summary="VM {object} does not fit its {{ $labels.group }} ({{ $labels.reason }})",
            description="KubeVirt refuses every edit of VM {object} that leaves it so.",
            wait="15m",  # long enough to finish a change of the VM
            says={
                "FieldConflict": "Its template sets fields that its {{ $labels.group }} provides: KubeVirt neither"
                " starts it nor copies the {{ $labels.group }}. Remove the fields from the template, or the"
                " {{ $labels.group }} from its spec.",
                "RequirementsUnmet": "It does not have the CPUs, memory or architecture that its preference requires."
                " Choose another instancetype or preference, or give it the resources.",
            },
        ),
        FindingAlert(
            name="VMInstancetypeRevisionUnfit",
            not_paging={"": "What runs goes on; the VM does not start again."},
            by=_OF_ROLE,
            summary="{{ $labels.kind }} {object}: the copy of an instancetype or preference is not safe"
            " ({{ $labels.reason }})",
            description="",
            wait="15m",  # KubeVirt converts what is outdated itself when it reconciles the VM
            says={
                "LabellessPin": "The ControllerRevision to which VM {object} is pinned for its {{ $labels.group }} has"
                " no labels: with the VM's next event KubeVirt replaces and deletes it, and the VM can then be neither"
                " stopped nor restarted. Before anything changes the VM, add the labels, or do what `steward check`"
                " says instead.",
                "RevisionOutdated": "The copy that VM {object} has of its {{ $labels.group }} is of an API version that"
                " KubeVirt 1.7 does not decode. Have KubeVirt convert it before the upgrade: `steward check` says how,"
                " which depends on KubeVirt's release and on whether the VM is pinned to it.",
                "RevisionOfOtherKind": "The copy that VM {object} has of its {{ $labels.group }} is of another kind"
                " than its spec names. Give the matcher the kind of the object that the VM is meant to follow.",
                "RevisionNotOwned": "The copy that VM {object} has of its {{ $labels.group }} does not belong to the"
                " VM, and is deleted together with its owner. Make the VM its owner if that is gone, else give the VM a"
                " copy of its own.",
                "CrashingReference": "The status of VM {object} has a reference to its earlier {{ $labels.group }}, of"
                " which this release of KubeVirt ends virt-controller when it starts the VM, and nothing is done for"
                " any VM then. Don't start the VM before that is removed from its status.",
                "SharedRevision": "Several VMs refer to ControllerRevision {object}. It is deleted together with the"
                " one that owns it, and the others can then be neither started nor stopped. Give each a copy of its"
                " own.",
            },
        ),
        FindingAlert(
            name="VMInstancetypeUnversioned",
            not_paging={"": "Nothing fails before somebody deletes the object."},
            by=_OF_ROLE,
            summary="{{ $labels.kind }} {object}: VMs depend on a live instancetype or preference"
            " ({{ $labels.reason }})",
            description="",
            wait="10m",  # KubeVirt makes the copy of a new VM within seconds
            says={
                "Unversioned": "VM {object} has no copy of its {{ $labels.group }}: it changes with the live object,"
                " and can neither start nor be stopped once that is deleted. Find out why virt-controller has not made"
                " one, and keep the object as it is until then.",
                "ExpandPending": "KubeVirt's referencePolicy has VM {object} expanded: its {{ $labels.group }} is"
                " written into its spec and no longer referred to, which can't be undone. If that is not wanted, set"
                " the policy to reference.",
                "DeletableInUse": "VMs without a copy of {{ $labels.kind }} {object} depend on it, and nothing prevents"
                " its deletion, if it is not already being deleted: without it they can neither start nor be stopped."
                " See to it that KubeVirt copies it for them, before anybody deletes or changes it.",
            },
        ),
        FindingAlert(
            name="VMSnapshotInstancetypeMissing",
            by=_OF_ROLE,
            summary="A restore of a snapshot ({{ $labels.kind }} {object}) would not find its {{ $labels.group }}"
            " ({{ $labels.reason }})",
            description="",
            wait="60m",  # nothing is lost meanwhile
            says={
                "SnapshotRevisionMissing": "The copy of its {{ $labels.group }} that the snapshot with {{ $labels.kind"
                " }} {object} needs does not exist: a restore of it fails. Create it again from another copy, or take a"
                " new snapshot.",
                "SnapshotObjectMissing": "The snapshot with {{ $labels.kind }} {object} has no copy of its"
                " {{ $labels.group }}, and that does not exist: a VM that is restored from it can't start. Create it"
                " again before anybody restores the snapshot.",
            },
        ),
        FindingAlert(
            name="VMIPresetInUse",
            by=("kind", "namespace", "name", "reason"),
            summary="A deprecated preset was merged into VMI {object}",
            description="A VirtualMachineInstancePreset was merged into VMI {object}. KubeVirt is to drop presets, and"
            " its VM then starts with other settings. Write what the preset sets into the VM's template.",
            wait="60m",  # nothing is urgent before KubeVirt is upgraded
        ),
    ),
)
