"""VMIs that use a feature of which a bug is known in the cluster's release of KubeVirt.

A distributor's build counts as the release that it is made of, and may have the fix: the message says so.

Not seen here: bugs of releases whose branch got no fix, any bug where the version does not say its patch release
(OpenShift's number alone), VMs that do not run, and whether the bug has struck.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.features.configuration import Effective, chosen
from ...findings.causes import Cause
from ...findings.check import PER_VM, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ._known_bugs import bugs_of, found

_TEXTS = Texts("known_bugs")


def find(view: View) -> Iterator[Finding]:
    kubevirt = chosen(view.all(KubeVirt))
    known = kubevirt if isinstance(kubevirt, str) else Effective.of(kubevirt)
    if isinstance(kubevirt, str) or isinstance(known, str):
        return  # of an unknown version no bug is known
    bugs = bugs_of(kubevirt, known.version)
    for vmi in view.all(VirtualMachineInstance):
        if not (vmi.asks and bugs) or vmi.deleting is not None or vmi.final:
            continue
        asks = {rule for rule, _ in vmi.asks}
        for bug in bugs:
            if not asks.isdisjoint(bug.asks) and len(vmi.name) > bug.long_name:
                yield found(_TEXTS, "KnownBugOfFeature", bug, vmi.ref, kubevirt, known.version)


CHECK = Check(
    id="known_bugs",
    title="VMIs that a known bug of KubeVirt's release concerns",
    reads=(VirtualMachineInstance.KIND, KubeVirt.KIND),
    scope=PER_VM,
    cause=Cause.FEATURE,
    reasons=reasons_of("known_bugs"),
    find=find,
    fields_read=(VirtualMachineInstance.KIND,),
)
