"""Commands that findings on features share; each stands in their runbooks."""

from __future__ import annotations

READ_CONFIGURATION = (
    "kubectl get kubevirts.kubevirt.io -A -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name}"
    '{" by "}{.metadata.labels.app\\.kubernetes\\.io/managed-by}{", "}{.status.observedKubeVirtVersion}'
    '{" to "}{.status.targetKubeVirtVersion}{"\\n"}{.spec.configuration}{"\\n"}{end}\''
)
READ_KUBEVIRT = "kubectl get kubevirts.kubevirt.io -n NAMESPACE NAME -o yaml"
READ_VM = "kubectl get virtualmachines.kubevirt.io -n NAMESPACE VMNAME -o yaml"
READ_VMI = "kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE VMNAME -o yaml"
READ_STATE = (
    "kubectl get virtualmachines.kubevirt.io -n NAMESPACE VMNAME -o jsonpath='{.spec.runStrategy} {.spec.running} "
    '{.status.printableStatus} {.status.stateChangeRequests}{"\\n"}{.status.conditions}{"\\n"}\''
)
READ_REPLICA_SET = "kubectl get virtualmachineinstancereplicasets.kubevirt.io -n NAMESPACE NAME -o yaml"
PREVIEW = (
    "kubectl annotate virtualmachines.kubevirt.io -n NAMESPACE VMNAME "
    'steward.kubevirt-steward.io/nudged-at="$(date +%s)" --overwrite --dry-run=server'
)
STORAGE_CLASSES = "kubectl get storageclasses.storage.k8s.io"
NODES = (
    "kubectl get nodes -l kubevirt.io/schedulable=true -o jsonpath='{range .items[*]}{.metadata.name}"
    '{"\\n"}{.metadata.labels}{"\\n"}{.spec.taints}{"\\n"}{.status.allocatable}{"\\n"}{end}\''
)
ALL_NODES = "kubectl get nodes -L kubevirt.io/schedulable"
HANDLERS = "kubectl get pods -A -l kubevirt.io=virt-handler -o wide"
KUBELETS = "kubectl get nodes -o custom-columns='HOST:.metadata.name,KUBELET:.status.nodeInfo.kubeletVersion'"
RESOURCES = (
    "kubectl get network-attachment-definitions.k8s.cni.cncf.io -A -o custom-columns='NS:.metadata.namespace,"
    "NAD:.metadata.name,DEVICE:.metadata.annotations.k8s\\.v1\\.cni\\.cncf\\.io/resourceName'"
)
INJECTORS = (
    "kubectl get mutatingwebhookconfigurations.admissionregistration.k8s.io -o custom-columns="
    "'CONFIGURATION:.metadata.name,WEBHOOKS:.webhooks[*].name' | grep -F -e CONFIGURATION -e resources-injector"
)
