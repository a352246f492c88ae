"""Commands that findings on IPAMClaims, VMs' interfaces and their networks share; each stands in their runbooks."""

from __future__ import annotations

READ_CLAIM = "kubectl get ipamclaims.k8s.cni.cncf.io -n NAMESPACE NAME -o yaml"
READ_VM = "kubectl get virtualmachines.kubevirt.io -n NAMESPACE VMNAME -o yaml"
READ_VMI = "kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE VMNAME -o yaml"
READ_NAD = "kubectl get network-attachment-definitions.k8s.cni.cncf.io -n NAMESPACE NAME -o yaml"
UDNS = "kubectl get userdefinednetworks.k8s.ovn.org -A -o yaml"
CUDNS = "kubectl get clusteruserdefinednetworks.k8s.ovn.org -o yaml"
CLAIM_CONTROLLER = "kubectl get deployments.apps -A | grep -F kubevirt-ipam-controller"
NETWORK_STACK = "kubectl get deployments.apps -A | grep -F -e kubevirt-ipam-controller -e ovnkube-control-plane"

_NETWORKS = r"NETWORKS:.metadata.annotations.k8s\.ovn\.org/pod-networks"
_ALL_PODS = "kubectl get pods -A -o custom-columns='NS:.metadata.namespace,POD:.metadata.name,PHASE:.status.phase,"
USERS = (
    f"{_ALL_PODS}ANNOTATIONS:.metadata.annotations' "
    """| grep -F -e 'NAME' -e '"ADDRESS/' -e 'kubevirt.io/domain:VMNAME'"""
)
PODS_WITH_ADDRESS = f"""{_ALL_PODS}{_NETWORKS}' | grep -F -e '"ADDRESS/'"""
PODS_ON_NAD = f"""{_ALL_PODS}{_NETWORKS}' | grep -F -e '"NAMESPACE/NAME'"""
PODS_ON_NETWORK = f"""{_ALL_PODS}{_NETWORKS}' | grep -F -e '/NAME"'"""
NETWORK_NADS = (
    "kubectl get network-attachment-definitions.k8s.cni.cncf.io -A -o custom-columns='NS:.metadata.namespace,"
    "NAD:.metadata.name,DELETED:.metadata.deletionTimestamp,FINALIZERS:.metadata.finalizers,"
    "OWNER:.metadata.ownerReferences[*].kind' | grep -F -e ' NAME '"
)
VM_PODS = (
    "kubectl get pods -n NAMESPACE -o custom-columns='POD:.metadata.name,PHASE:.status.phase,"
    rf"DOMAIN:.metadata.annotations.kubevirt\.io/domain,{_NETWORKS}' | grep -F -e 'VMNAME'"
)
CLAIMS_WITH_ADDRESS = (
    "kubectl get ipamclaims.k8s.cni.cncf.io -A -o custom-columns='NS:.metadata.namespace,IPAMCLAIM:.metadata.name,"
    "OF:.spec.network,CREATED:.metadata.creationTimestamp,IPS:.status.ips' | grep -F -e 'ADDRESS/'"
)
NETWORK_CLAIMS = (
    "kubectl get ipamclaims.k8s.cni.cncf.io -A -o custom-columns='NS:.metadata.namespace,IPAMCLAIM:.metadata.name,"
    "OF:.spec.network,DELETED:.metadata.deletionTimestamp,IPS:.status.ips' | grep -F -e ' NETWORK '"
)
NADS = (
    "kubectl get network-attachment-definitions.k8s.cni.cncf.io -A -o go-template='{{range .items}}"
    '{{.metadata.namespace}}/{{.metadata.name}} {{with .spec}}{{printf "%q" .config}}{{end}}{{"\\n"}}{{end}}\' '
    "| grep -F -e '\\\"NETWORK\\\"'"
)

_NOW = 'steward.kubevirt-steward.io/nudged-at="$(date +%s)" --overwrite'
ANNOTATE_POD = f"kubectl annotate pods -n NAMESPACE LAUNCHERPOD {_NOW}"
ANNOTATE_VM = f"kubectl annotate virtualmachines.kubevirt.io -n NAMESPACE VMNAME {_NOW}"
ANNOTATE_VMI = f"kubectl annotate virtualmachineinstances.kubevirt.io -n NAMESPACE VMNAME {_NOW}"
