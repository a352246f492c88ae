"""Whether KubeVirt itself is available, by its own conditions.

While the condition Available of the KubeVirt object is False, its operator is not done with it: at first, in a rollout
that does not end, or though all of its components run (kubevirt/kubevirt#16561). Others ask that condition before they
act on VMs: the HyperConverged Cluster Operator and the interfaces of platforms refuse or wait.

Not seen here: components that are not Ready while the condition is True; what the operator waits for.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.times import Since
from ...findings.causes import Cause
from ...findings.check import PER_CLUSTER, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt

_TEXTS = Texts("kubevirt_available")


def find(view: View) -> Iterator[Finding]:
    for kubevirt in sorted(view.all(KubeVirt), key=lambda each: each.ref):
        if kubevirt.unavailable is None or kubevirt.deleting is not None:
            continue
        parts = ("" if kubevirt.version else "unknown", "because" if kubevirt.unavailable_for else "")
        yield Finding(
            reason="KubeVirtUnavailable",
            severity=Severity.WARNING,
            subject=kubevirt.ref,
            message=_TEXTS.message(
                "KubeVirtUnavailable",
                "_".join(filter(None, parts)),
                version=kubevirt.version,
                why=kubevirt.unavailable_for,
            ),
            since=kubevirt.unavailable or None,
            since_source=Since.CONDITION if kubevirt.unavailable else Since.FIRST_SEEN,
            evidence={"phase": kubevirt.phase, "target": kubevirt.target},
        )


CHECK = Check(
    id="kubevirt_available",
    title="Whether KubeVirt is available",
    reads=(KubeVirt.KIND,),
    scope=PER_CLUSTER,
    cause=Cause.SUBJECT,
    reasons=reasons_of("kubevirt_available"),
    find=find,
    fields_read=(KubeVirt.KIND,),
    requires=(KubeVirt.KIND,),
)
