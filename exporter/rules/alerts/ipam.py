"""IPAMClaims, and VMs whose interfaces do not have what an IPAMClaim is for."""

from __future__ import annotations

from ..model import Area, FindingAlert

_BY = ("kind", "namespace", "name", "vm", "network", "reason")
_IN = "network {{ $labels.network }}"

AREA = Area(
    name="ipam",
    note="IPAMClaims, and VMs whose interfaces can't get or keep a persistent IP. No alert: what is normal while a VM"
    " is deleted, addresses that are only reserved, and IPAMClaims that KubeVirt did not create.",
    findings=(
        FindingAlert(
            name="VMIPAMClaimLeftBehind",
            not_paging={"": "Addresses are kept from others; no VM loses traffic. A full network pages."},
            by=_BY,
            summary=f"IPAMClaim {{object}} keeps addresses of {_IN} that nothing releases",
            description=f"The addresses of IPAMClaim {{object}} in {_IN} stay allocated.",
            wait="10m",  # garbage collection takes minutes after kube-controller-manager failed over
            says={
                "OrphanClaim": "Its VM no longer exists, and garbage collection has not deleted the IPAMClaim. Check"
                " garbage collection, then delete the IPAMClaim.",
                "OwnerlessClaim": "It has no owner reference, so garbage collection never deletes it. If its VM"
                " exists, add the reference. Otherwise delete the IPAMClaim.",
                "LeakedClaim": "Its VM no longer has the interface, and 80 % of the network's addresses are in use."
                " Delete the IPAMClaim.",
                "StuckTerminatingOwnerGone": "It is terminating, its VM no longer exists, and nothing removes"
                " KubeVirt's finalizer. Remove the finalizer only if no pod uses the IPAMClaim.",
            },
        ),
        FindingAlert(
            name="VMIPAMClaimStuckTerminating",
            not_paging={"": "A deletion waits; nothing that runs is touched."},
            by=_BY,
            summary="IPAMClaim {object} is terminating, and a finalizer holds it",
            description=f"The deletion of IPAMClaim {{object}} in {_IN} does not end.",
            wait="5m",  # the steward reports it after 10 minutes
            says={
                "StuckTerminatingBlocksOwnerDeletion": "Its VM has stopped, and can't be deleted before the IPAMClaim."
                " Annotate the VM so that KubeVirt's IPAM controller reconciles it.",
                "StuckTerminatingDeletedByHand": "It was deleted while its VM exists, and only KubeVirt's finalizer"
                " protects the addresses. Do not remove the finalizer while the VM runs. Agree on a stop with the VM's"
                " owner.",
                "StuckTerminatingForeignFinalizer": "The finalizer is not KubeVirt's. Find the controller that set it,"
                " and let that controller finish.",
            },
        ),
        FindingAlert(
            name="VMIPAMClaimDuplicateIP",
            by=("kind", "namespace", "name", "vm", "network", "group", "reason"),
            critical=("DuplicateIP",),
            summary=f"An address of IPAMClaim {{object}} in {_IN} has a second holder",
            description=f"Another IPAMClaim or pod in {_IN} also holds an address of IPAMClaim {{object}}. Alerts with"
            " group {{ $labels.group }} are for the same address. Do not delete either of them. Decide with the owners"
            " which VM gets another address, then stop that VM.",
            mild={
                "DuplicateIP": f"Another IPAMClaim in {_IN} also holds an address of IPAMClaim {{object}}, and none of"
                " their VMs runs. Alerts with group {{ $labels.group }} are for the same address. Do not delete either"
                " of them. Decide with the owners which VM gets another address, before one of the VMs is started."
            },
            wait="5m",  # an IPAMClaim and its pod arrive on different watches, seconds apart
        ),
        FindingAlert(
            name="VMIPAMClaimAddressInvalid",
            by=_BY,
            critical=("IpOutsidePool",),
            not_paging={"IpDrift": "Traffic continues; the addresses change with the VM's next start."},
            summary=f"The addresses of IPAMClaim {{object}} do not fit {_IN} or its pod",
            description="",
            mild={
                "IpOutsidePool": f"IPAMClaim {{object}} holds two addresses in one subnet of {_IN}, which accepts only"
                " one of them. Replace the IPAMClaim while its VM is stopped."
            },
            wait="10m",  # an IPAMClaim and NADs that are changed arrive on different watches
            says={
                "IpOutsidePool": f"IPAMClaim {{object}} holds an address that {_IN} can't allocate. The control plane"
                " of all networks fails at its next start. Do not restart the control plane before this is repaired.",
                "IpExcluded": f"IPAMClaim {{object}} holds an address that {_IN} excludes or reserves. Before you"
                " replace the IPAMClaim, check whether another host uses the address.",
                "IpDrift": f"The pod of the VM has other addresses in {_IN} than IPAMClaim {{object}}. At its next"
                " start the VM gets the addresses of the IPAMClaim. Decide with the VM's owner which addresses are"
                " right.",
                "PrefixMismatch": "IPAMClaim {object} and the pod of its VM have the same address with different prefix"
                f" lengths: compare both with the subnet of {_IN}.",
                "FamilyIncomplete": f"IPAMClaim {{object}} holds an address of one IP family only, and {_IN} is"
                " dual-stack. If the VM needs the other family, replace the IPAMClaim while the VM is stopped.",
            },
        ),
        FindingAlert(
            name="VMIPAMClaimNetworkMismatch",
            not_paging={"": "One VM can't start or migrate; running VMs continue to run."},
            by=_BY,
            summary=f"IPAMClaim {{object}} is of {_IN}, which its VM can't use it on",
            description="",
            wait="5m",  # the steward reports it after 5 or 15 minutes
            says={
                "NetworkMismatch": f"IPAMClaim {{object}} was created for {_IN}, but the interface of its VM refers to"
                " another network, where its pod hangs or gets the wrong addresses. Revert the change, or replace the"
                " IPAMClaim while the VM is stopped.",
                "NetworkMissing": f"The cluster has no NAD of {_IN}, in which IPAMClaim {{object}} holds addresses."
                " Its VM can't start or migrate. Do not delete the IPAMClaim. Create the network again under the same"
                " name.",
                "NetworkNotInNamespace": "Namespace {{ $labels.namespace }} no longer has a NAD of "
                f"{_IN}, in which IPAMClaim {{object}} holds addresses: its VM can't start or migrate. Restore the"
                " label that the network's selector matches, or create the NAD.",
            },
        ),
        FindingAlert(
            name="VMIPAMClaimUnprotected",
            not_paging={"": "The address is lost at the VM's next stop, not before."},
            by=_BY,
            summary=f"IPAMClaim {{object}} might lose its VM's addresses in {_IN}",
            description="",
            wait="10m",  # import and restore write an IPAMClaim in several steps
            says={
                "NotReferenced": f"A pod of the VM of IPAMClaim {{object}} is on {_IN} without referring to the"
                " IPAMClaim, so its address is released when the pod ends. Annotate the pod before the VM stops.",
                "UnprotectedClaim": "IPAMClaim {object} lacks KubeVirt's finalizer, so deleting it releases addresses"
                " that its VM might be using. Add the finalizer.",
                "UnlabelledClaim": "IPAMClaim {object} lacks the label by which KubeVirt finds it, and gets stuck when"
                " its VM is deleted: set the label.",
                "OwnerUidMismatch": "The VM that owned IPAMClaim {object} no longer exists. Another VM has its name"
                " and gets its addresses. Make that VM the owner of the IPAMClaim before garbage collection deletes"
                " it.",
            },
        ),
        FindingAlert(
            name="VMPersistentIPBroken",
            not_paging={
                "": "One VM does not start, or loses its address when it stops; full networks and controllers page."
            },
            by=_BY,
            summary=f"The persistent IP of {{{{ $labels.kind }}}} {{object}} in {_IN} does not work",
            description="",
            wait="10m",  # VMs may still be being created or changed
            says={
                "MissingClaim": f"{{{{ $labels.kind }}}} {{object}} has no IPAMClaim in {_IN}: its pod hangs, or it"
                " gets another address at its next start. Annotate the VMI so that KubeVirt's IPAM controller creates"
                " the IPAMClaim.",
                "EmptyClaim": "Network {{ $labels.network }} has allocated no address to IPAMClaim {object}, although"
                " its VM runs or starts. Check the events of its pod, and ovnkube-control-plane.",
                "NameTooLong": "The name of {{ $labels.kind }} {object} is too long for an IPAMClaim in "
                f"{_IN}: create it again under a shorter name, with the same disks.",
                "NameCollision": f"An IPAMClaim of {{{{ $labels.kind }}}} {{object}} in {_IN} has the same name as the"
                " IPAMClaim of another interface, and both might get one address. Rename the interface that does not"
                " own the IPAMClaim.",
                "CrossNamespaceNad": f"An interface of {{{{ $labels.kind }}}} {{object}} refers to a NAD of {_IN} in"
                " another namespace, where its IPAMClaim is not found. Let the interface refer to a NAD in its own"
                " namespace.",
                "StaticRequestConflict": "{{ $labels.kind }} {object} requests addresses that its IPAMClaim or"
                f" {_IN} does not have, and gets no address at its next start. Correct the annotation"
                " network.kubevirt.io/addresses in its template.",
            },
        ),
    ),
)
