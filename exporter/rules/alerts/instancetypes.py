"""Instancetypes and preferences that VMs need and KubeVirt can't find, use or keep."""

from __future__ import annotations

from ..model import Area, FindingAlert

_OF_ROLE = ("kind", "namespace", "name", "group", "reason")

AREA = Area(
    name="instancetypes",
    note="Instancetypes and preferences that VMs need and KubeVirt can't find, use or keep. The label group is"
    " instancetype or preference: of a VM both can be broken, and then both are reported.",
    findings=(
        FindingAlert(
            name="VMInstancetypeMissing",
            not_paging={
                "": "The VM does not start, or not again. A running VM continues to run, and its owner decides."
            },
            by=_OF_ROLE,
            summary="{{ $labels.kind }} {object}: {{ $labels.group }} not found or not usable",
            description="",
            wait="15m",  # a VM may be created before its instancetype, and a restore may still be writing
        ),
        FindingAlert(
            name="VMInstancetypeConflict",
            not_paging={"": "The VM does not start until its owner edits it. All other VMs run on."},
            by=_OF_ROLE,
            summary="VM {object} does not fit its {{ $labels.group }}",
            description="",
            wait="15m",  # long enough to finish a change of the VM
        ),
        FindingAlert(
            name="VMInstancetypeRevisionUnfit",
            not_paging={
                "": "A running VM continues to run. It does not start again.",
                "CrashingReference": "Nothing fails before the VM starts. Then KubeVirt's own alerts page.",
            },
            by=_OF_ROLE,
            summary="{{ $labels.kind }} {object}: {{ with $labels.group }}{{ . }} {{ end }}ControllerRevision"
            " isn't safe",
            description="",
            wait="15m",  # KubeVirt converts what is outdated itself when it reconciles the VM
        ),
        FindingAlert(
            name="VMInstancetypeUnversioned",
            not_paging={"": "Nothing fails before the object is deleted."},
            by=_OF_ROLE,
            summary="{{ $labels.kind }} {object}: VMs without ControllerRevision",
            description="",
            wait="10m",  # KubeVirt makes the copy of a new VM within seconds
        ),
        FindingAlert(
            name="VMSnapshotInstancetypeMissing",
            by=_OF_ROLE,
            summary="Snapshot content {object}: {{ $labels.group }} missing for a restore",
            description="",
            wait="60m",  # nothing is lost meanwhile
        ),
        FindingAlert(
            name="VMIPresetInUse",
            by=("kind", "namespace", "name", "reason"),
            summary="VMI {object} was created with a deprecated preset",
            description="",
            wait="60m",  # nothing is urgent before KubeVirt is upgraded
        ),
    ),
)
