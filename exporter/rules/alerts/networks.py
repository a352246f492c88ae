"""Networks that are not created or run out of addresses, and the components behind persistent IPs."""

from __future__ import annotations

from ..model import Area, FindingAlert
from ..pools import PRESSURE, pool_alerts, pool_usage

_BY = ("kind", "namespace", "name", "network", "reason")
_IN = "network {{ $labels.network }}"

AREA = Area(
    name="networks",
    note="Networks that aren't created or run out of addresses, and the components behind persistent IPs: KubeVirt's"
    " IPAM controller, its webhook, OVN-Kubernetes' control plane.",
    before=pool_usage,
    families=(PRESSURE.family,),
    findings=(
        FindingAlert(
            name="VMNetworkBlocksNamespace",
            by=_BY,
            critical=("BadJson", "SubnetsNotString"),
            summary="NAD {object} prevents the VMs of its namespace from starting",
            description="",
            wait="10m",  # long enough to change NADs
        ),
        FindingAlert(
            name="VMNetworkMisconfigured",
            by=_BY,
            # ovnkube-control-plane fails over these at its next start, which a lost node is enough for. Their repair
            # interrupts no VM, so it does not have to wait for an owner.
            critical=("ExcludesGateway", "MultiplePrimary", "OverlappingExcludes", "PersistentWithoutSubnets"),
            impact="critical",
            not_paging={"": "One network isn't created, and no running VM uses it."},
            summary="{{ $labels.kind }} {object} is misconfigured",
            description="",
            wait="15m",  # a UserDefinedNetwork takes a while to come up in many namespaces
        ),
        FindingAlert(
            name="VMNetworkConfigConflict",
            by=_BY,
            critical=("NetworkConfigConflict",),
            summary=f"NAD {{object}} conflicts with another NAD of {_IN}",
            description="",
            wait="10m",  # NADs of one network are changed one after the other
        ),
        FindingAlert(
            name="VMNetworkDeletionStuck",
            by=_BY,
            summary="The deletion of {{ $labels.kind }} {object} doesn't finish",
            description="",
            wait="5m",  # the steward reports it after 10 minutes, in which pods end
        ),
        FindingAlert(
            name="VMNamespaceWithoutNetwork",
            by=("kind", "name", "network", "reason"),
            # A namespace without its network, or with VMs before its network, is made by its owner.
            not_paging={
                "": "VMs of one namespace don't start. Running VMs continue to run, and a failed control plane pages."
            },
            cluster_wide=True,
            summary="VMs in namespace {{ $labels.name }} wait for a network that doesn't exist",
            description="",
            wait="10m",  # a namespace is created before its network, and that takes a while to come up in many of them
        ),
        FindingAlert(
            name="VMNADMissing",
            # A mistyped name in the VM is enough.
            not_paging={"": "One VM can't start or migrate. A running VM continues to run."},
            summary="{{ $labels.kind }} {object} refers to a NAD that doesn't exist",
            description="",
            wait="10m",  # long enough to create a network again
        ),
        FindingAlert(
            name="VMNetworkPersistenceDisabled",
            by=_BY,
            not_paging={
                "PersistenceDisabled": "Traffic continues. Only addresses of stopped VMs can be assigned to other VMs."
            },
            summary="Network {{ $labels.network }} of {object} no longer allows persistent IPs",
            description="",
            wait="10m",  # long enough to create a network again
        ),
        FindingAlert(
            name="KubeVirtIPAMControllerDown",
            critical=("ControllerNotReady",),
            impact="critical",
            summary="Deployment {object} of KubeVirt's IPAM controller has no ready replica",
            description="",
            wait="5m",  # the steward reports it after 5 minutes, which an update needs
        ),
        FindingAlert(
            name="KubeVirtIPAMWebhookBroken",
            by=("kind", "name", "reason"),
            critical=("WebhookMissing", "WebhookUntrusted", "ControllerMissing"),
            impact="critical",
            cluster_wide=True,
            summary="Webhook {{ $labels.name }} of KubeVirt's IPAM controller doesn't work",
            description="",
            wait="5m",  # the steward reports it after 5 minutes, which an update needs
        ),
        FindingAlert(
            name="VMNetworkControlPlaneDown",
            critical=("ControlPlaneNotReady",),
            summary="Deployment {object} of OVN-Kubernetes' control plane has no ready replica",
            description="",
            wait="5m",  # the steward reports it after 5 minutes, which an update needs
        ),
    ),
    after=pool_alerts,
)
