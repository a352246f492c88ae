"""IPAMClaims, and VMs whose interfaces do not have what an IPAMClaim is for."""

from __future__ import annotations

from ..model import Area, FindingAlert

_BY = ("kind", "namespace", "name", "vm", "network", "reason")
_IN = "network {{ $labels.network }}"

AREA = Area(
    name="ipam",
    note="IPAMClaims, and VMs whose interfaces can't get or keep a persistent IP. No alert: deletions that wait for"
    " their VM as expected, addresses that are only reserved, and IPAMClaims that KubeVirt didn't create.",
    findings=(
        FindingAlert(
            name="VMIPAMClaimLeftBehind",
            not_paging={"": "Addresses stay allocated, and no VM loses traffic. A full network pages."},
            by=_BY,
            summary=f"IPAMClaim {{object}} keeps addresses of {_IN} that nothing releases",
            description="",
            wait="10m",  # garbage collection takes minutes after kube-controller-manager failed over
        ),
        FindingAlert(
            name="VMIPAMClaimStuckTerminating",
            not_paging={"": "A deletion waits, and no running VM is affected."},
            by=_BY,
            summary="IPAMClaim {object} is terminating, and a finalizer holds it",
            description="",
            wait="5m",  # the steward reports it after 10 minutes
        ),
        FindingAlert(
            name="VMIPAMClaimDuplicateIP",
            by=("kind", "namespace", "name", "vm", "network", "group", "reason"),
            critical=("DuplicateIP",),
            summary=f"An address of IPAMClaim {{object}} in {_IN} has a second holder",
            description="Alerts of the same address: group {{ $labels.group }}.",
            wait="5m",  # an IPAMClaim and its pod arrive on different watches, seconds apart
        ),
        FindingAlert(
            name="VMIPAMClaimAddressInvalid",
            by=_BY,
            not_paging={
                # The repair waits for a stop of the VM, on which its owner decides.
                "IpOutsidePool": "Nothing is lost before ovnkube-control-plane restarts. A failed start pages.",
                "IpDrift": "Traffic continues. The addresses change at the VM's next start.",
            },
            summary=f"The addresses of IPAMClaim {{object}} don't fit {_IN} or its pod",
            description="",
            wait="10m",  # an IPAMClaim and NADs that are changed arrive on different watches
        ),
        FindingAlert(
            name="VMIPAMClaimNetworkMismatch",
            not_paging={"": "One VM can't start or migrate. A running VM continues to run."},
            by=_BY,
            summary=f"The VM of IPAMClaim {{object}} can't use the IPAMClaim in {_IN}",
            description="",
            wait="5m",  # the steward reports it after 5 or 15 minutes
        ),
        FindingAlert(
            name="VMIPAMClaimUnprotected",
            not_paging={"": "The address is lost at the VM's next stop, not before."},
            by=_BY,
            summary=f"IPAMClaim {{object}} might lose its VM's addresses in {_IN}",
            description="",
            wait="10m",  # import and restore write an IPAMClaim in several steps
        ),
        FindingAlert(
            name="VMPersistentIPBroken",
            not_paging={
                "": "One VM doesn't start, or loses its address when it stops. Full networks and controllers page."
            },
            by=_BY,
            summary=f"The persistent IP of {{{{ $labels.kind }}}} {{object}} in {_IN} doesn't work",
            description="",
            wait="10m",  # long enough to create or change VMs
        ),
    ),
)
