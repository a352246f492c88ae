"""Whether KubeVirt's webhook for evictions can be asked.

From 1.5 on the API server has to ask virt-api about each eviction of a launcher pod, and refuses it where nobody
answers: no node can be drained. That is by design, and better than the contrary. It is reported once, not of each VM.

Not seen here: a virt-api whose Service is gone and all EndpointSlices with it, as in a dump without any; one that is
ready and can't be reached; a webhook whose CA bundle is not that of virt-api.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding, Severity
from ..model.eviction import webhook_down
from ..model.indexes.evictions import LAUNCHERS, VIRT_API
from ..model.kinds import endpoint_slice, kube_virt, pod
from ..model.kinds.endpoint_slice import EndpointSlice
from ..model.kinds.kube_virt import KubeVirt
from ..model.record import Ref
from .base import Check, Family, Reason, Scope, View

__all__ = ["CHECK"]

_REASONS = {
    "WebhookDown": Reason(
        (Severity.CRITICAL,),
        "virt-api has no ready endpoint: no launcher pod can be evicted, and no node drained.",
        Family(
            "kubevirt_eviction_webhook_down",
            "Nobody answers for KubeVirt's webhook, without which no launcher pod can be evicted.",
            ("namespace", "name", "reason"),
        ),
        "WebhookDown",
        120.0,
    ),
}


def find(view: View) -> Iterator[Finding]:
    slices = view.all(EndpointSlice)
    for kubevirt in sorted(view.all(KubeVirt), key=lambda each: each.ref):
        own = [each for each in slices if each.namespace == kubevirt.namespace]
        if kubevirt.version and webhook_down(own, kubevirt):  # without one it is just being installed
            held = sum(1 for _ in view.sharing(LAUNCHERS, view.partition))
            unready = sum(each.endpoints for each in own)
            yield Finding(
                reason="WebhookDown",
                severity=Severity.CRITICAL,
                subject=Ref("Service", kubevirt.namespace, "virt-api"),
                message=f"virt-api has no ready endpoint ({unready} not ready): evictions of {held} launcher pods fail",
                related=(kubevirt.ref,),
                evidence={
                    "launcherPods": held,
                    "notReady": unready,
                    "release": kubevirt.version,
                    "next": "bring virt-api back; don't delete its webhook, without which VMs are shut down",
                },
            )


CHECK = Check(
    id="eviction_stack",
    title="KubeVirt's webhook for evictions",
    reads=(endpoint_slice.KIND, kube_virt.KIND, pod.KIND),
    scope=Scope("the whole cluster", VIRT_API, (LAUNCHERS,)),
    reasons=_REASONS,
    find=find,
    about=(kube_virt.KIND,),
)
