"""Whether KubeVirt's eviction webhook answers.

From 1.5 on the API server has to ask virt-api about each eviction of a launcher pod, and refuses the eviction where it
gets no answer: no node can be drained. That is by design: without the webhook an eviction would shut VMs down. It is
reported once, not for each VM.

Not seen here: a virt-api whose Service is gone with all EndpointSlices, as in a dump without any; one that is ready and
can't be reached; a webhook whose CA bundle is not that of virt-api.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.drains.eviction import webhook_down
from ...facts.naming import counted
from ...facts.record import Ref
from ...findings.causes import Cause
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.partial import known
from ...findings.severity import Severity
from ...store.indexes.drains import LAUNCHERS, VIRT_API
from ...store.kinds.components import EndpointSlice
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.pod import Pod

_TEXTS = Texts("eviction_stack")


def find(view: View) -> Iterator[Finding]:
    slices = view.all(EndpointSlice)
    for kubevirt in sorted(view.all(KubeVirt), key=lambda each: each.ref):
        own = [each for each in slices if each.namespace == kubevirt.namespace]
        if kubevirt.version and webhook_down(own, kubevirt):  # without one it is just being installed
            launchers, whole = known(view.sharing(LAUNCHERS, view.partition))
            held = len(launchers)
            unready = sum(each.endpoints for each in own)
            yield Finding(
                reason="WebhookDown",
                severity=Severity.CRITICAL,
                subject=Ref("Service", kubevirt.namespace, "virt-api"),
                message=_TEXTS.message(
                    "WebhookDown", "" if whole else "uncounted", unready=unready, pods=counted(held, "launcher pod")
                ),
                related=(kubevirt.ref,),
                evidence={"launcherPods": held, "notReady": unready, "release": kubevirt.version},
            )


CHECK = Check(
    id="eviction_stack",
    title="KubeVirt's eviction webhook",
    reads=(EndpointSlice.KIND, KubeVirt.KIND, Pod.KIND),
    scope=Scope("the eviction webhook", VIRT_API, (LAUNCHERS,)),
    cause=Cause.SUBJECT,
    reasons=reasons_of("eviction_stack"),
    find=find,
    fields_read=(Pod.KIND, KubeVirt.KIND),
    requires=(KubeVirt.KIND,),
)
