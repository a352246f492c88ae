"""Which safeguards are not needed alone here, and why: another one covers them, or nothing is written without them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COVERED"]


@dataclass(frozen=True)
class Covered:
    """What begins with `of` is not needed alone: `why`, and `by` which mutants; without both an invariant is broken."""

    of: str
    why: str
    by: tuple[str, ...] = ()
    invariant: str = ""


_VERSION, _CHECK = ("the test of the resourceVersion",), ("that the check is asked",)
_GRACE, _HAD_TIME = ("that its grace is over",), ("release_ipam_claim: controller_had_time",)
_NO_PLAN = "nothing is planned without it"
COVERED = (
    Covered("the test of the UID", "an object made anew has another resourceVersion", _VERSION, "same object"),
    Covered("the tests of the content", "what changes it changes the resourceVersion", _VERSION, "content"),
    Covered(
        "the second plan",
        "what was read for the first is too old",
        ("that what was read is young",),
        "nobody of its name lives",
    ),
    Covered("that users are read last", "the object is read first: its resourceVersion is older", _VERSION),
    Covered("that any IPAMClaim is seen", _NO_PLAN),
    Covered("that IPAMClaim is read afresh", "its resourceVersion is old then", _VERSION),
    Covered("that any NetworkAttachmentDefinition is seen", "an address of an unknown network refuses"),
    Covered("that NetworkAttachmentDefinition is read afresh", "here no NAD changes"),
    Covered("that any MutatingWebhookConfiguration is seen", "one that is not seen is missing, which refuses"),
    Covered("that MutatingWebhookConfiguration is read afresh", "here it does not change"),
    Covered("release_ipam_claim: same_object", _NO_PLAN),
    Covered("release_ipam_claim: finding_holds", _NO_PLAN),
    Covered("that its grace is over", "release_ipam_claim asks for the same", _HAD_TIME, "controllers come first"),
    Covered("release_ipam_claim: controller_had_time", "its grace is as long", _GRACE, "controllers come first"),
    Covered("release_ipam_claim: vm_gone", "the check sees the VM", _CHECK, "nobody of its name lives"),
    Covered("release_ipam_claim: vmi_gone", "the check sees the VMI", _CHECK, "nobody of its name lives"),
    Covered("delete_orphan_ipam_claim: same_object", _NO_PLAN),
    Covered("delete_orphan_ipam_claim: not_being_deleted", "deleting it again changes nothing"),
    Covered("delete_orphan_ipam_claim: vm_gone", "the check sees the VM", _CHECK, "nobody of its name lives"),
    Covered("repair_ipam_claim_metadata: same_object", _NO_PLAN),
    Covered("repair_ipam_claim_metadata: finding_holds", "a patch without operations changes nothing"),
    Covered("repair_ipam_claim_metadata: not_being_deleted", "the API server takes no finalizer then", _CHECK),
    Covered("repair_ipam_claim_metadata: created_by_kubevirt", "the check reports another reason"),
    Covered("repair_ipam_claim_metadata: owner_lives (1, in _owner)", _NO_PLAN),
    Covered("repair_ipam_claim_metadata: name_fits_label", "the API server takes no longer label"),
    Covered("_ipam_claims: everything_seen", "here every annotation can be read"),
    Covered("_grounds: not_being_deleted", "the check reports nothing of it then", _CHECK, "what ends is left"),
    Covered("_firmware: has_domain", "the API server adds nothing below what is not there"),
    Covered("persist_firmware_uuid: same_object", _NO_PLAN),
    Covered("reassign_firmware_uuid: same_object", _NO_PLAN),
    Covered("reassign_firmware_uuid: is_a_vm", _NO_PLAN),
)
