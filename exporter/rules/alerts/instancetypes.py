"""Instancetypes and preferences that VMs need and KubeVirt can't find, use or keep."""

from __future__ import annotations

from ..model import Area, FindingAlert

_OF_ROLE = ("kind", "namespace", "name", "group", "reason")
_UNCONTROLLED = (
    "The VM can't start. While it runs, it can be neither stopped nor restarted through the VM object, and a deleted"
    " VMI does not come back."
)

AREA = Area(
    name="instancetypes",
    note="Instancetypes and preferences that VMs need and KubeVirt can't find, use or keep. The label group is"
    " instancetype or preference: of a VM both can be broken, and then both are reported.",
    findings=(
        FindingAlert(
            name="VMInstancetypeMissing",
            not_paging={
                "": "The VM does not start, or not again; a running VM continues to run, and its owner decides."
            },
            by=_OF_ROLE,
            summary="KubeVirt can't find or use the {{ $labels.group }} of {{ $labels.kind }} {object}"
            " ({{ $labels.reason }})",
            description="",
            wait="15m",  # a VM may be created before its instancetype, and a restore may still be writing
            says={
                "ObjectMissing": "The {{ $labels.group }} of VM {object} does not exist, and the VM has no copy of it."
                f" {_UNCONTROLLED} Create the {{{{ $labels.group }}}} again, preferably from another VM's copy, or let"
                " the VM refer to one that exists.",
                "RevisionMissing": "The ControllerRevision that VM {object} refers to for its {{ $labels.group }} does"
                " not exist. Do not restart the VM before the ControllerRevision is created again: the running VMI is"
                f" the last copy. {_UNCONTROLLED}",
                "UnknownKind": "KubeVirt does not recognize the kind of {{ $labels.group }} that VM {object} refers"
                f" to. {_UNCONTROLLED} Correct the kind in the VM's spec.",
                "RevisionUndecodable": "This release of KubeVirt can't decode the copy that VM {object} has of its"
                " {{ $labels.group }}. Do not restart the VM before KubeVirt has made a new copy from the live object."
                f" {_UNCONTROLLED}",
                "FailureStands": "KubeVirt reports that it can't find the {{ $labels.group }} of VM {object}, although"
                f" it exists. {_UNCONTROLLED} Annotate the VM, so that virt-controller reconciles it.",
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
            description="KubeVirt rejects every edit of VM {object} that leaves the conflict in place.",
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
            not_paging={"": "A running VM continues to run; it does not start again."},
            by=_OF_ROLE,
            summary="{{ $labels.kind }} {object}: the copy of an instancetype or preference is not safe"
            " ({{ $labels.reason }})",
            description="",
            wait="15m",  # KubeVirt converts what is outdated itself when it reconciles the VM
            says={
                "LabellessPin": "The ControllerRevision to which VM {object} is pinned for its {{ $labels.group }} has"
                " no labels. With the VM's next event KubeVirt replaces and deletes the ControllerRevision, and the VM"
                " can then be neither stopped nor restarted. Before anything changes the VM, add the labels, or do"
                " what `steward check` says instead.",
                "RevisionOutdated": "The copy that VM {object} has of its {{ $labels.group }} is of an API version"
                " that KubeVirt 1.7 does not decode. KubeVirt has to convert the copy before the upgrade. `steward"
                " check` says how, which depends on KubeVirt's release and on whether the VM is pinned to the copy.",
                "RevisionOfOtherKind": "The copy that VM {object} has of its {{ $labels.group }} is of another kind"
                " than its spec names. Give the matcher the kind of the object that the VM is meant to follow.",
                "RevisionNotOwned": "The copy that VM {object} has of its {{ $labels.group }} does not belong to the"
                " VM, and is deleted together with its owner. If that owner is gone, make the VM the owner. Otherwise"
                " give the VM a copy of its own.",
                "CrashingReference": "Do not start VM {object} before the reference to its earlier {{ $labels.group }}"
                " is removed from its status. With this release of KubeVirt virt-controller ends when it starts a VM"
                " with such a reference, and nothing is done for any VM then.",
                "SharedRevision": "Several VMs refer to ControllerRevision {object}. It is deleted together with the"
                " VM that owns it, and the other VMs can then be neither started nor stopped. Give each VM a copy of"
                " its own.",
            },
        ),
        FindingAlert(
            name="VMInstancetypeUnversioned",
            not_paging={"": "Nothing fails before the object is deleted."},
            by=_OF_ROLE,
            summary="{{ $labels.kind }} {object}: VMs depend on a live instancetype or preference"
            " ({{ $labels.reason }})",
            description="",
            wait="10m",  # KubeVirt makes the copy of a new VM within seconds
            says={
                "Unversioned": "VM {object} has no copy of its {{ $labels.group }}. The VM changes with the live"
                " object, and can neither start nor be stopped once that object is deleted. Do not change or delete"
                " the object before the VM has a copy. Find out why virt-controller has not made one.",
                "ExpandPending": "By its referencePolicy KubeVirt expands VM {object}: the {{ $labels.group }} is"
                " written into the VM's spec and no longer referred to. That can't be undone. If it is not wanted, set"
                " the policy to reference.",
                "DeletableInUse": "VMs without a copy of {{ $labels.kind }} {object} depend on it. Without it they can"
                " neither start nor be stopped. Nothing prevents its deletion, if it is not already being deleted."
                " Before it is deleted or changed, make sure that KubeVirt copies it for these VMs.",
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
                "SnapshotRevisionMissing": "The copy of its {{ $labels.group }} that the snapshot with"
                " {{ $labels.kind }} {object} needs does not exist: a restore of the snapshot fails. Create the copy"
                " again from another one, or take a new snapshot.",
                "SnapshotObjectMissing": "The snapshot with {{ $labels.kind }} {object} has no copy of its"
                " {{ $labels.group }}, and the {{ $labels.group }} does not exist. A VM that is restored from the"
                " snapshot can't start. Create the {{ $labels.group }} again before the snapshot is restored.",
            },
        ),
        FindingAlert(
            name="VMIPresetInUse",
            by=("kind", "namespace", "name", "reason"),
            summary="A deprecated preset was merged into VMI {object}",
            description="A VirtualMachineInstancePreset was merged into VMI {object}. KubeVirt is to drop presets, and"
            " its VM then starts with other settings. Write the settings of the preset into the VM's template.",
            wait="60m",  # nothing is urgent before KubeVirt is upgraded
        ),
    ),
)
