"""Networks that are not created or run out of addresses, and the components behind persistent IPs."""

from __future__ import annotations

from ..model import Area, FindingAlert
from ..pools import PRESSURE, pool_alerts, pool_usage

_BY = ("kind", "namespace", "name", "network", "reason")
_FAILS = (
    "so it is not created, and the control plane of all networks fails at its next start. Do not restart the control"
    " plane before this is repaired:"
)
_IN = "network {{ $labels.network }}"

AREA = Area(
    name="networks",
    note="Networks that are not created or run out of addresses, and the components behind persistent IPs: KubeVirt's"
    " IPAM controller, its webhook, OVN-Kubernetes' control plane.",
    before=pool_usage,
    families=(PRESSURE.family,),
    findings=(
        FindingAlert(
            name="VMNetworkBlocksNamespace",
            by=_BY,
            critical=("BadJson", "SubnetsNotString"),
            summary="NAD {object} prevents the VMs of its namespace from starting",
            description="KubeVirt's IPAM controller can't decode NAD {object}, so it rejects the pods of all VMs in"
            " namespace {{ $labels.namespace }}, which can't start or migrate. Repair spec.config of the NAD, or"
            " delete the NAD only if nothing uses it.",
            wait="10m",  # long enough to change NADs
        ),
        FindingAlert(
            name="VMNetworkMisconfigured",
            by=_BY,
            # The control plane of all networks fails over these at its next start, which nobody has to order.
            critical=("ExcludesGateway", "MultiplePrimary", "OverlappingExcludes", "PersistentWithoutSubnets"),
            impact="critical",
            not_paging={"": "One network is not created, and nothing that runs uses it."},
            summary="{{ $labels.kind }} {object} is misconfigured",
            description="{{ $labels.kind }} {object} is misconfigured.",
            wait="15m",  # a UserDefinedNetwork takes a while to come up in many namespaces
            says={
                "MultiplePrimary": f"Its namespace already has another primary network, {_FAILS} make one of the two"
                " networks secondary, or delete one.",
                "PersistentWithoutSubnets": f"It allows persistent IPs and has no subnets, {_FAILS} add subnets, or"
                " remove allowPersistentIPs.",
                "PersistentLocalnetWithoutSubnets": "It allows persistent IPs and has no subnets, so its IPAMClaims"
                " stay empty: add subnets, or remove allowPersistentIPs.",
                "PersistentLayer3": "It is layer 3, which does not support persistent IPs, so it is not created: remove"
                " allowPersistentIPs.",
                "NameMismatch": "netAttachDefName is not the NAD's own namespace and name, so the network is not"
                " created. Set netAttachDefName to them.",
                "Conflist": "allowPersistentIPs is in only one of the two places where it is read, so its IPAMClaims"
                " are not created or stay empty. Set it in both places.",
                "NotOvn": "allowPersistentIPs is set for a CNI plugin that does not support it, so its IPAMClaims stay"
                " empty: remove it.",
                "FlagOff": "It requests persistent IPs, but OVN-Kubernetes runs without --enable-persistent-ips, so it"
                " is not created. First repair every finding that says that ovnkube-control-plane fails at its next"
                " start. Then have the flag set.",
                "OverlappingExcludes": f"Its excluded, reserved or infrastructure ranges overlap, {_FAILS} change the"
                " ranges.",
                "ExcludeOutsideSubnets": "An excluded range is outside its subnets, so it is not created: correct the"
                " range.",
                "ExcludesGateway": f"An excluded range covers its gateway or management address, {_FAILS} start the"
                " range after these addresses.",
                "NetworkNotCreated": "OVN-Kubernetes could not create it: fix the error in the message of its"
                " condition.",
                "NetworkWithoutAddresses": "A subnet has no allocatable address, so no pod starts on it. Write a"
                " larger subnet into all NADs of the network, or exclude fewer addresses.",
            },
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
            summary="The deletion of {{ $labels.kind }} {object} does not finish",
            description="{{ $labels.kind }} {object} is being deleted.",
            wait="5m",  # the steward reports it after 10 minutes, in which pods end
            says={
                "NetworkDeletionHeld": f"Pods on {_IN} hold it. With the last pod the network is deleted, and VMs that"
                " refer to it can no longer start. Give these VMs another network before they stop.",
                "NetworkDeletionStuck": "No pod is on it, but a finalizer holds it. Do not remove the finalizer: leave"
                " it to its controller. Check the object's condition and the log of ovnkube-control-plane.",
            },
        ),
        FindingAlert(
            name="VMNamespaceWithoutNetwork",
            by=("kind", "name", "network", "reason"),
            # Whoever makes a namespace without its network, or VMs before it, would wake the platform up.
            not_paging={"": "VMs of one namespace do not start; running VMs continue to run. A control plane pages."},
            cluster_wide=True,
            summary="VMs in namespace {{ $labels.name }} wait for a network that does not exist",
            description="",
            wait="10m",  # a namespace is created before its network, and that takes a while to come up in many of them
            says={
                "PrimaryNetworkMissing": "Namespace {{ $labels.name }} asks for a primary network of its own and has"
                " none, so its pods get no address. Create a primary UserDefinedNetwork in the namespace, or let a"
                " primary ClusterUserDefinedNetwork select it.",
                "NetworkNotRendered": "OVN-Kubernetes has rendered no NAD of network {{ $labels.network }} in"
                " namespace {{ $labels.name }}: fix the error that the condition of the network reports.",
            },
        ),
        FindingAlert(
            name="VMNADMissing",
            # A name that its owner mistyped in the VM brings it about as well.
            not_paging={"": "One VM can't start or migrate; running VMs continue to run."},
            summary="{{ $labels.kind }} {object} refers to a NAD that does not exist",
            description="A network of {{ $labels.kind }} {object} refers to a NAD that does not exist, so the VM can"
            " neither start nor migrate. Create the NAD again as it was, or stop the VM and remove the network and its"
            " interface from its template.",
            wait="10m",  # long enough to create a network again
        ),
        FindingAlert(
            name="VMNetworkPersistenceDisabled",
            by=_BY,
            not_paging={"PersistenceDisabled": "Traffic continues; addresses are at risk once their VMs are stopped."},
            summary="Network {{ $labels.network }} of {object} no longer allows persistent IPs",
            description="IPAMClaims hold addresses of network {{ $labels.network }}, which no longer allows persistent"
            " IPs. The addresses of stopped VMs can be allocated to others. Do not stop VMs of this network. Set"
            " allowPersistentIPs again in all its NADs.",
            wait="10m",  # long enough to create a network again
        ),
        FindingAlert(
            name="KubeVirtIPAMControllerDown",
            critical=("ControllerNotReady",),
            impact="critical",
            summary="Deployment {object} of KubeVirt's IPAM controller has no ready replica",
            description="The webhook of KubeVirt's IPAM controller rejects the pods of all VMs: no VM starts or"
            " migrates, and VMs that are deleted meanwhile leave IPAMClaims behind. Check the events and logs of the"
            " pods of Deployment {object}.",
            wait="5m",  # the steward reports it after 5 minutes, which an update needs
        ),
        FindingAlert(
            name="KubeVirtIPAMWebhookBroken",
            by=("kind", "name", "reason"),
            critical=("WebhookMissing", "WebhookUntrusted", "ControllerMissing"),
            impact="critical",
            cluster_wide=True,
            summary="Webhook {{ $labels.name }} of KubeVirt's IPAM controller does not work",
            description="",
            wait="5m",  # the steward reports it after 5 minutes, which an update needs
            says={
                "WebhookMissing": "No webhook {{ $labels.name }} is registered, although the controller exists: VMs"
                " start without a reference to their IPAMClaims, and lose their addresses when they stop. Apply the"
                " manifests of the installed version again.",
                "ControllerMissing": "NADs allow persistent IPs, and neither KubeVirt's IPAM controller nor its"
                " webhook {{ $labels.name }} is installed: VMs lose their addresses when they stop. Install the"
                " controller, or remove allowPersistentIPs from the NADs.",
                "WebhookUntrusted": "MutatingWebhookConfiguration {{ $labels.name }} has no CA bundle, so the API"
                " server can't call it: the pods of all VMs are rejected, and no VM starts or migrates. Check"
                " cert-manager or the operator that injects the CA bundle.",
            },
        ),
        FindingAlert(
            name="VMNetworkControlPlaneDown",
            critical=("ControlPlaneNotReady",),
            summary="Deployment {object} of OVN-Kubernetes' control plane has no ready replica",
            description="No address is allocated to pods or released: VMs that start or migrate hang. The last lines"
            " of the log of Deployment {object} name the network or IPAMClaim that makes it fail: repair that object.",
            wait="5m",  # the steward reports it after 5 minutes, which an update needs
        ),
    ),
    after=pool_alerts,
)
