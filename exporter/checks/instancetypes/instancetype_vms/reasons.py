"""What can be wrong with a VM's instancetype or preference: the meanings and what to do."""

from __future__ import annotations

from ....domain.acts import Act, Forbids
from ....findings.causes import Cause
from ....findings.check import Family, Reason
from ....findings.severity import Severity
from .._commands import (
    ALL_REVISIONS,
    CLEAR_PIN,
    CLEAR_REFERENCE,
    COPIES,
    READ_OBJECT,
    READ_POLICY,
    READ_REFERENCE,
    READ_REVISION,
    TOUCH,
)

_BROKEN = Family("kubevirt_vm_instancetype_broken", "KubeVirt cannot find or use a VM's instancetype or preference.")
_REFUSED = Family(
    "kubevirt_vm_instancetype_refused", "A VM's spec and its instancetype or preference do not fit together."
)
_REVISION = Family(
    "kubevirt_vm_instancetype_revision_unfit",
    "The ControllerRevision of a VM's instancetype or preference will be lost or unusable.",
)
# Families of their own for what may hold for all VMs at once: it must not crowd out the others.
_UNVERSIONED = Family(
    "kubevirt_vm_instancetype_unversioned",
    "A VM has no copy of its instancetype or preference, or is to lose its reference to it.",
)
_DRIFTED = Family(
    "kubevirt_vm_instancetype_drifted",
    "A VM has a copy of its instancetype or preference that differs from the live object, or of one that is gone.",
)
_STALE = Family(
    "kubevirt_vm_instancetype_stale_reference",
    "A VM's status has a reference to an instancetype or preference that its spec does not have.",
    aged=False,
)
REASONS = {
    "ObjectMissing": Reason(
        (Severity.CRITICAL, Severity.WARNING),
        "The VM refers to an instancetype or preference that does not exist, and has no copy of it; critical where "
        "the VM should run or runs.",
        _BROKEN,
        grace=60.0,
        next="Create the missing object again, best from a copy of it, or let the VM refer to one that exists.",
        commands=(READ_REFERENCE, READ_OBJECT, "kubectl get RESOURCE -A", COPIES),
        alert="VMInstancetypeMissing",
        cause=Cause.REFERENT,
        forbids=Forbids(
            (Act.START, Act.STOP, Act.RESTART, Act.END),
            "it can't start without the instancetype or preference that is missing",
        ),
    ),
    "RevisionMissing": Reason(
        (Severity.CRITICAL,),
        "The ControllerRevision that the VM refers to does not exist: a VM that runs can neither be stopped nor "
        "restarted through the VM object, and a stopped one cannot start.",
        _BROKEN,
        next="Do not restart the VM, and do not delete its VMI, if it has one: that is the last copy. Create the "
        "ControllerRevision again from another copy of the same object and generation; or let KubeVirt make a new one "
        "from the live object, by which the VM's resources may change: remove revisionName from the VM's spec if it is "
        "there, then controllerRevisionRef of the ROLE from its status by a patch of the subresource status.",
        commands=(READ_REFERENCE, ALL_REVISIONS, COPIES, READ_OBJECT),
        alert="VMInstancetypeMissing",
        remediation="restash_missing_revision",
        forbids=Forbids(
            (Act.START, Act.STOP, Act.RESTART, Act.END), "it can't start without the ControllerRevision that is missing"
        ),
    ),
    "UnknownKind": Reason(
        (Severity.CRITICAL,),
        "The kind in the VM's matcher is none that KubeVirt knows.",
        _BROKEN,
        next="Correct the kind in the VM's spec; what waits meanwhile, such as a stop, then runs.",
        commands=(READ_REFERENCE,),
        alert="VMInstancetypeMissing",
        forbids=Forbids(
            (Act.START, Act.STOP, Act.RESTART, Act.END),
            "it can neither be stopped nor started before the kind is corrected",
        ),
    ),
    "RevisionUndecodable": Reason(
        (Severity.CRITICAL,),
        "KubeVirt's release cannot decode the object in the VM's ControllerRevision.",
        _BROKEN,
        next="Do not restart the VM, and do not delete its VMI. Let KubeVirt make a new ControllerRevision from the "
        "live object, by which the VM's resources may change: remove revisionName from the VM's spec if it is there, "
        "then controllerRevisionRef of the ROLE from its status by a patch of the subresource status.",
        commands=(READ_REFERENCE, READ_REVISION, READ_OBJECT),
        alert="VMInstancetypeMissing",
        forbids=Forbids(
            (Act.START, Act.STOP, Act.RESTART, Act.END),
            "it can't start with a ControllerRevision that can't be decoded",
        ),
    ),
    "FailureStands": Reason(
        (Severity.WARNING,),
        "KubeVirt reports that it cannot find the VM's instancetype or preference, although it is there.",
        _BROKEN,
        grace=600.0,
        next="Annotate the VM so that virt-controller reconciles it; if the condition stays, read "
        "virt-controller's log.",
        commands=(READ_REFERENCE, TOUCH),
        alert="VMInstancetypeMissing",
    ),
    "LabellessPin": Reason(
        (Severity.CRITICAL, Severity.INFO),
        "The ControllerRevision that the VM's spec names has no label object-version: KubeVirt, from 1.5 on, replaces "
        "it and deletes it, and the VM's spec goes on naming it.",
        _REVISION,
        next="Add the five labels instancetype.kubevirt.io/object-* to the ControllerRevision, before anything changes "
        "the VM.",
        commands=(READ_REFERENCE, READ_REVISION),
        alert="VMInstancetypeRevisionUnfit",
        remediation="label_pinned_revision",
        forbids=Forbids(
            (Act.START, Act.STOP, Act.RESTART), "any change of it has KubeVirt delete its ControllerRevision"
        ),
    ),
    "RevisionOutdated": Reason(
        (Severity.WARNING,),
        "The VM's ControllerRevision holds an API version that KubeVirt 1.7 no longer decodes.",
        _REVISION,
        next="Annotate the VM so that KubeVirt, from 1.3 to 1.6, converts the ControllerRevision before KubeVirt is "
        "upgraded to 1.7, or to 1.5 if the VM's spec names it.",
        commands=(READ_REFERENCE, READ_REVISION, TOUCH),
        alert="VMInstancetypeRevisionUnfit",
    ),
    "RevisionOfOtherKind": Reason(
        (Severity.WARNING,),
        "The VM's ControllerRevision is of another kind than its matcher names.",
        _REVISION,
        next="Give the VM's matcher the kind of the object that it is meant to follow.",
        commands=(READ_REFERENCE, READ_REVISION),
        alert="VMInstancetypeRevisionUnfit",
    ),
    "RevisionNotOwned": Reason(
        (Severity.WARNING,),
        "The VM's ControllerRevision does not belong to it: it is deleted together with its owner, or is left behind.",
        _REVISION,
        next="If its owner is gone, make the VM the controller in its ownerReferences. If it belongs to another VM or "
        "to a snapshot, leave it to them, and give this VM a ControllerRevision of its own.",
        commands=(READ_REFERENCE, READ_REVISION),
        alert="VMInstancetypeRevisionUnfit",
        remediation="adopt_revision",
    ),
    "CrashingReference": Reason(
        (Severity.CRITICAL,),
        "The VM's status refers to an instancetype or preference that its spec does not have: KubeVirt's release ends "
        "virt-controller when it starts such a VM, again and again, and with it all that it does for other VMs.",
        _REVISION,
        next="Neither start nor restart the VM. Remove controllerRevisionRef of the ROLE from its status by a patch of "
        "the subresource status, or upgrade KubeVirt to 1.6.4, 1.7.1 or newer.",
        commands=(READ_REFERENCE,),
        alert="VMInstancetypeRevisionUnfit",
        remediation="drop_stale_reference",
        forbids=Forbids((Act.START, Act.RESTART, Act.END), "virt-controller ends when it starts the VM"),
    ),
    "Unversioned": Reason(
        (Severity.WARNING,),
        "The VM has no copy of its instancetype or preference: it changes with the live object, and fails without it.",
        _UNVERSIONED,
        grace=120.0,
        next="Find out why virt-controller has not made a ControllerRevision: whether it runs, and what the VM's "
        "condition Failure says. Do not delete or change the instancetype or preference before.",
        commands=(READ_REFERENCE, "kubectl get pods -A -l kubevirt.io=virt-controller", TOUCH),
        alert="VMInstancetypeUnversioned",
        remediation="nudge_unversioned_vm",
    ),
    "ExpandPending": Reason(
        (Severity.WARNING,),
        "KubeVirt's referencePolicy is to expand the VM: its matchers are replaced by what they stand for.",
        _UNVERSIONED,
        grace=120.0,
        next="Decide whether VMs are to be expanded, which cannot be undone and which GitOps tools revert; else set "
        "referencePolicy to reference.",
        commands=(READ_REFERENCE, READ_POLICY),
        alert="VMInstancetypeUnversioned",
        cause=Cause.CLUSTER,
    ),
    "InferencePending": Reason(
        (Severity.INFO,),
        "The VM's instancetype or preference is still to be inferred from a volume: only KubeVirt's webhook does so.",
        _UNVERSIONED,
        next="Edit the VM, so that the webhook infers it, or give the matcher a name.",
    ),
    "ObjectGone": Reason(
        (Severity.INFO,),
        "The instancetype or preference does not exist; the VM goes on with its copy.",
        _DRIFTED,
        next="Nothing, unless the VM is to be created elsewhere or is to get a new copy: then create the object again.",
        cause=Cause.REFERENT,
    ),
    "Drifted": Reason(
        (Severity.INFO,),
        "The live object differs from the VM's copy of it.",
        _DRIFTED,
        next="Nothing, unless the VM is to follow: that takes a new ControllerRevision and a restart.",
        cause=Cause.REFERENT,
        does=(Act.RESTART,),
    ),
    "ObjectRecreated": Reason(
        (Severity.INFO,),
        "The VM's copy is of an object that was deleted and created again.",
        _DRIFTED,
        next="Nothing, unless the VM is to follow: that takes a new ControllerRevision and a restart.",
        does=(Act.RESTART,),
    ),
    "PinOfOtherObject": Reason(
        (Severity.INFO,),
        "The VM's spec names one object, and pins the VM to a ControllerRevision that is a copy of another one.",
        _DRIFTED,
        next="Nothing, if the VM is to keep that. To have it follow the object that its spec names, remove the pin, "
        "then the reference in its status, to which KubeVirt from 1.5 on copies the pin. The VM gets the resources of "
        "that object with its next start, or at once where KubeVirt hotplugs them. KubeVirt refuses another name in "
        "the spec while revisionName stays.",
        commands=(READ_REFERENCE, READ_REVISION, CLEAR_PIN, CLEAR_REFERENCE),
    ),
    "StaleReference": Reason(
        (Severity.INFO,),
        "The VM's status refers to an instancetype or preference that its spec does not have.",
        _STALE,
        next="Nothing, unless the VM is to be given the same object again: it then gets the old copy.",
        remediation="drop_stale_reference",
    ),
    "FieldConflict": Reason(
        (Severity.CRITICAL,),
        "The VM's template sets fields that its instancetype provides: KubeVirt neither starts nor versions the VM.",
        _REFUSED,
        grace=60.0,
        next="Remove the fields from the VM's template, or the instancetype from its spec.",
        commands=(READ_REFERENCE, READ_OBJECT),
        alert="VMInstancetypeConflict",
        forbids=Forbids((Act.START, Act.STOP, Act.RESTART, Act.END), "KubeVirt does not start it"),
    ),
    "RequirementsUnmet": Reason(
        (Severity.WARNING,),
        "The VM does not meet what its preference requires: KubeVirt refuses the VM's next edit.",
        _REFUSED,
        next="Choose another instancetype or preference, or give the VM the resources.",
        commands=(READ_REFERENCE, READ_OBJECT),
        alert="VMInstancetypeConflict",
    ),
}
