"""VMs on a network with a device that no launcher pod requests, since KubeVirt leaves that to a webhook.

While the feature gate ExternalNetResourceInjection is on (the default from KubeVirt 1.9 on), virt-controller reads no
NADs. The network resources injector adds to launcher pods the request for what the annotation
k8s.v1.cni.cncf.io/resourceName of a NAD names (VEP 106 of kubevirt/enhancements). Without it the launcher pod gets no
device, its CNI plugin fails, and the VMI stays in Scheduling.

Not seen here: an injector whose webhook has another name than network-resources-injector, or that leaves out the VM's
namespace; resources of bridge-marker and OVS CNI, without which a launcher pod starts, maybe on a node that lacks the
bridge; a NAD in the place of the pod network (`multus.default`).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ...domain.features.configuration import chosen
from ...domain.features.indexes import DEVICE
from ...findings.causes import Cause
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...store.kinds.components import MutatingWebhookConfiguration
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from .feature_mismatch.evaluation import mismatches

_TEXTS = Texts("feature_networks")


def find(view: View) -> Iterator[Finding]:
    injected = any(each.injects for each in view.all(MutatingWebhookConfiguration))
    kubevirt = chosen(view.all(KubeVirt))
    by_hco = isinstance(kubevirt, KubeVirt) and kubevirt.managed_by_hco
    for found in mismatches(view, injected=injected):
        decided = by_hco and found.reason != "HealsAtRestart"
        yield msgspec.structs.replace(found, next=_TEXTS.next(found.reason, "hco") if decided else "")


CHECK = Check(
    id="feature_networks",
    title="VMs on networks whose device nothing requests",
    reads=(
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        NetworkAttachmentDefinition.KIND,
        MutatingWebhookConfiguration.KIND,
        KubeVirt.KIND,
    ),
    scope=Scope("one VM", DEVICE),
    cause=Cause.FEATURE,
    reasons=reasons_of("feature_networks"),
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
    requires=(VirtualMachine.KIND, NetworkAttachmentDefinition.KIND),
)
