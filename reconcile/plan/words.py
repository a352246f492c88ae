"""Whose word counts for a write: what a user of one namespace can write brings nothing about in another.

Who has the role `edit` in a namespace can make there whatever a plan may look for: pods on any node, evicted or with
any label, VMs and VMIs, IPAMClaims and NADs of any network, ControllerRevisions with any content. So a plan is one to
carry out only where the same plan is made without the objects of other namespaces, but KubeVirt's own and the NADs of
the namespaces that Multus lets all others use (`default`, and those of Kubernetes and OpenShift). Otherwise it is a
proposal. Objects of the target's own namespace are the word of its owners, who could do the same by themselves. To hold
a write back, every object counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exporter.store.kind import ApiKind
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.network_attachment_definition import NetworkAttachmentDefinition

from .annotations import annotations_of
from .plan import Plan, Proposal, Refused
from .remediation import Remediation

PLATFORM = (KubeVirt.KIND,)
"""Kinds with namespaces that none of the roles for users of a namespace may write."""

_SHARED = ("kube-", "openshift-")  # how the namespaces begin that Kubernetes and OpenShift keep for themselves


def of_platform(kind: ApiKind[Any]) -> bool:
    """Whether it takes permissions for cluster-wide objects, or for KubeVirt itself, to write objects of the kind."""
    return not kind.namespaced or kind in PLATFORM


def of_strangers(target: str) -> Callable[[str, str], bool]:
    """Whether objects of a kind, by its name, in a namespace are the word of others than the owners of the `target`
    namespace and those who run the cluster.
    """
    names = {kind.name for kind in PLATFORM}

    def of_others(kind: str, namespace: str) -> bool:
        shared = namespace == "default" or namespace.startswith(_SHARED)
        nad = kind == NetworkAttachmentDefinition.KIND.name
        return namespace not in ("", target) and kind not in names and not (nad and shared)

    return of_others


def allowed(remediation: Remediation, whole: Mapping[str, Any] | None) -> bool:
    """Whether the owner of the object lets the word of other namespaces count too."""
    note = remediation.heeds_others
    return bool(note) and (annotations_of(whole) or {}).get(note) == "true"


def unsupported(plan: Plan, without: Plan | Refused) -> Proposal | None:
    """By the plan that is made without the objects of strangers; None where it is the same one."""
    if isinstance(without, Plan) and without.hash == plan.hash:
        return None
    why = without.why if isinstance(without, Refused) else "the plan would be different"
    return Proposal(
        owner="a cluster administrator",
        where=f"Users of other namespaces can cause this write. Without their objects: {why}. Check that it is"
        " right, and carry it out by hand.",
        precondition="own_word",
    )
