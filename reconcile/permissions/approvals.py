"""A ValidatingAdmissionPolicy for everybody: who lets the sidecar write may do so, and says their own name. Pure.

Whoever may annotate an object could else approve of its repair, under any name. The policy asks the API server's own
authorization for the verb `approve` on `repairs.steward.kubevirt-steward.io`, in the namespace of the object, and for
the Lease in all of them. No such API is served: it is a name to grant.

What sets none of our annotations is let through by the match condition, before anything is evaluated or asked: that is
each write of virt-handler, of the kubelet, and of an owner. Taking an approval off is free. So is whatever is on an
object when it is created, but for the Lease: no approval is of an object that had no UID yet, and a backup must be
restorable whatever was once approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..plan.annotations import ACCEPT, APPROVALS, APPROVED_PLAN, PAUSED, RESUMED
from ..plan.patterns import quoted
from ..plan.remediation import Remediation
from ..plan.requests import NOT_APPROVED, PROBE
from .accounts import metadata_of
from .policy import denying

APPROVER = "steward-approver"
GROUP, RESOURCE, VERB = "steward.kubevirt-steward.io", "repairs", "approve"
_NEW, _OLD = "object.metadata.?annotations", "oldObject.metadata.?annotations"
_CREATED = "request.operation == 'CREATE'"
_LEASE, _NAMESPACE = "request.resource.resource == 'leases'", "request.resource.resource == 'namespaces'"
_USER = "request.userInfo.username"
_PAUSE_ENDS = f"!{_NEW}[?{quoted(PAUSED)}].hasValue()"
_PAUSE_CHANGES = (
    f"({_CREATED} ? {_NEW}[?{quoted(PAUSED)}].hasValue()"
    f" : {_NEW}[?{quoted(PAUSED)}].hasValue() != {_OLD}[?{quoted(PAUSED)}].hasValue()"
    f" || {_NEW}[?{quoted(PAUSED)}].orValue('') != {_OLD}[?{quoted(PAUSED)}].orValue(''))"
)


def _set(key: str) -> str:
    """Whether an annotation, by its name in CEL, is set or changed; an empty one says nothing."""
    new, old = f"{_NEW}[?{key}].orValue('')", f"{_OLD}[?{key}].orValue('')"
    return f"({new} != '' && ({_CREATED} || {new} != {old}))"


def _on_lease(key: str) -> str:
    """Whether it is one that the Lease alone has: it resumes a remediation, or takes the ledger as it is."""
    return f"(k.startsWith({quoted(f'{RESUMED}-')}) || {key} == {quoted(ACCEPT)})"


_SETS = (
    f"{quoted([APPROVED_PLAN, RESUMED])}.exists(k, {_set('k')})"
    f"\n|| {_LEASE} && {_NEW}.orValue({{}}).exists(k, {_on_lease('k')} && {_set('k')})"
)
_VARIABLES: Mapping[str, str] = {
    "sets": _SETS,
    "within": f"{_LEASE} ? '' : request.?namespace.orValue('')",
    "by": f"' by ' + {_USER}",
    "approval": f"{_set(quoted(APPROVED_PLAN))} ? {_NEW}[?{quoted(APPROVED_PLAN)}].orValue('') : ''",
    # Of those of the Lease, the part behind the first ` by `; without one they name nobody.
    "named": f"{_LEASE} ? {_NEW}.orValue({{}}).filter(k, {_on_lease('k')} && {_set('k')} && {_NEW}[?k].orValue('')"
    f".contains(' by ')).map(k, {_NEW}[?k].orValue('').substring({_NEW}[?k].orValue('').indexOf(' by '))) : []",
    "own_pause": f"!variables.sets && {_PAUSE_ENDS} && {_OLD}[?{quoted(PAUSED)}].orValue('')"
    f".endsWith(' (' + {_USER} + ')')",
    "may": f"authorizer.group({quoted(GROUP)}).resource({quoted(RESOURCE)}).namespace(variables.within)"
    f".check({quoted(VERB)}).allowed()",
}
_OWN_NAME = (
    "variables.approval == '' || variables.approval.size() > 16"
    " && variables.approval.substring(16).startsWith(variables.by)"
    " && variables.approval.substring(16 + variables.by.size()).matches('^( at [^ ]+)?( until [^ ]+)?$')"
)
_OWN_NAMES = "variables.named.all(n, n == variables.by || n.startsWith(variables.by + ': '))"

Manifest = dict[str, Any]


def approvals(remediations: Iterable[Remediation], lease: str) -> Iterator[Manifest]:
    """The policy, its binding, and a ClusterRole with what it asks for, which nobody is bound to."""
    says = f"{_USER} + ' {NOT_APPROVED}"
    needed = f"{VERB} {RESOURCE}.{GROUP}"
    where = "(variables.within == '' ? ', in all namespaces' : ', in namespace ' + variables.within)"
    validations = [
        ("variables.own_pause || variables.may", f"{says}: RBAC has to allow {needed}' + {where}"),
        (_OWN_NAME, f"{says} under another name: annotation {APPROVED_PLAN} has to be HASH' + variables.by + ' …'"),
        (_OWN_NAMES, f"{says} under another name: the annotation has to say' + variables.by"),
    ]
    condition = {"name": "approves", "expression": f"{_SETS}\n|| ({_LEASE} || {_NAMESPACE}) && {_PAUSE_CHANGES}"}
    yield from denying(APPROVALS, _matched(remediations, lease), condition, _VARIABLES.items(), validations)
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata_of(APPROVER),
        "rules": [{"apiGroups": [GROUP], "resources": [RESOURCE], "verbs": [VERB]}],
    }


def _matched(remediations: Iterable[Remediation], lease: str) -> Iterator[Manifest]:
    """What bears approvals and pauses. Annotations of some kinds can be changed by a subresource, too."""
    groups: dict[str, set[str]] = {"": {"namespaces"}}
    for write in (each for remediation in remediations for each in remediation.writes if each.admitted):
        groups.setdefault(write.group, set()).add(write.resource.partition("/")[0])
    for group, resources in sorted(groups.items()):
        yield _rule(group, ["UPDATE"], [*sorted(resources), *(f"{each}/*" for each in sorted(resources))])
    yield _rule("coordination.k8s.io", ["CREATE", "UPDATE"], ["leases"]) | {"resourceNames": sorted({lease, PROBE})}


def _rule(group: str, operations: list[str], resources: list[str]) -> Manifest:
    return {"apiGroups": [group], "apiVersions": ["*"], "operations": operations, "resources": resources}
