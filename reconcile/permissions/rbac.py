"""What RBAC has to allow the sidecar, by what its configuration enables, as manifests. Pure.

One ClusterRole is for reads. Each remediation that writes has one of its own, with what it writes and the Events of it:
those of `approve` and `auto` are bound, and where only single namespaces have such a mode, they are bound there alone.
Where namespaces are selected by labels they are bound everywhere, and the policy alone holds them to the labels.
RBAC knows no dry run: whoever may ask for one may also write. So a remediation that only plans, or shadows, asks for
none, and where all of them do the sidecar needs no Lease either: in mode `shadow` it reads the one that there may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from exporter.facts.selector import Selector
from exporter.findings.check import Check
from exporter.store.kind import ApiKind
from exporter.store.kinds import kube_virt, namespace, virtual_machine
from exporter.store.reader import Reader

from ..config.settings import Mode, SidecarConfig, may_write, mode_of, modes_of, shadows
from ..plan.remediation import Remediation
from ..plan.remediations import undo_of
from ..plan.undo import Undo
from .accounts import NAME, ServiceAccount, metadata_of
from .approvals import approvals
from .policy import Enabled, Lease, policy

_WRITE = frozenset({Mode.APPROVE, Mode.AUTO})
_RBAC = "rbac.authorization.k8s.io"
# Read for the gates: KubeVirt's upgrade, and the annotations of namespaces and VMs.
_FOR_GATES = (kube_virt.KIND, namespace.KIND, virtual_machine.KIND)

Manifest = dict[str, Any]


def base_roles(remediations: Iterable[Remediation], checks: Iterable[Check]) -> Iterator[Manifest]:
    """Every role that any configuration may need."""
    remediations = tuple(remediations)
    yield read_role(remediations, checks)
    yield lease_role(SidecarConfig().lease.name)
    yield from (write_role(each) for each in remediations if each.writes)


def needed(
    config: SidecarConfig, remediations: Iterable[Remediation], checks: Iterable[Check], account: ServiceAccount
) -> Iterator[Manifest]:
    """Exactly what a configuration needs: roles and bindings."""
    enabled = [each for each in remediations if modes_of(config, each.id) != {Mode.OFF}]
    role = read_role(enabled, checks)
    yield from (role, _binding(role, account))
    writes = may_write(config, enabled)
    if writes or shadows(config, enabled):
        within = config.lease.namespace or account.namespace
        role = lease_role(config.lease.name, only_read=not writes)
        role["metadata"]["namespace"] = within
        yield from (role, _binding(role, account, within))
    for remediation in enabled:
        role = write_role(remediation)
        where = [each for each, mode in _modes(config, remediation).items() if mode in _WRITE]
        selected = _selected(config, remediation)
        if not remediation.writes or not (where or any(allowed for _, allowed in selected)):
            continue
        yield role
        # RBAC knows no labels: the policy has them.
        if "" in where or any(allowed for _, allowed in selected):
            yield _binding(role, account)
        else:
            yield from (_binding(role, account, each) for each in where)


def guarded(config: SidecarConfig, remediations: Iterable[Remediation], account: ServiceAccount) -> Iterator[Manifest]:
    """The policies by which the API server refuses the ServiceAccount what no plan makes, and everybody else an
    approval that is not theirs to give.
    """
    remediations = tuple(remediations)
    lease = Lease(config.lease.namespace or account.namespace, config.lease.name)
    yield from policy(_enabled(config, remediations), remediations, account, lease)
    yield from approvals(remediations, lease.name)


def _enabled(config: SidecarConfig, remediations: Iterable[Remediation]) -> Iterator[Enabled]:
    """Those that write anywhere, each with where."""
    for each in remediations:
        modes = _modes(config, each)
        writing = tuple(name for name, mode in modes.items() if mode in _WRITE)
        selected = _selected(config, each)
        never = tuple(name for name in modes if name not in writing)
        if each.writes and selected and (writing or any(allowed for _, allowed in selected)):
            named = tuple(filter(None, writing))
            yield Enabled(each, named, tuple(filter(None, never)), selected, elsewhere="" in writing)
        elif each.writes and writing:
            yield Enabled(each, None, never) if "" in writing else Enabled(each, writing)


def read_role(remediations: Iterable[Remediation], checks: Iterable[Check]) -> Manifest:
    """What the remediations, their undos and the checks that they answer read, and what the gates do."""
    remediations = tuple(remediations)
    answered = {check for each in remediations for check in each.answers}
    undos = (undo_of(each.id) for each in remediations)
    readers: list[Reader] = [*remediations, *(each for each in undos if isinstance(each, Undo))]
    readers += (each for each in checks if each.id in answered)
    kinds = [*_FOR_GATES, *(kind for each in readers for kind in (*each.reads, *each.requires))]
    groups: dict[str, set[str]] = {}
    for kind in kinds:
        if isinstance(kind, ApiKind):
            groups.setdefault(kind.group, set()).add(kind.plural)
    return _role("ClusterRole", NAME, [_rule(group, plurals, ("get", "list")) for group, plurals in groups.items()])


def write_role(remediation: Remediation) -> Manifest:
    """What one remediation writes, dry run or not. `steward-reconcile-` and its id, with hyphens."""
    grouped: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for write in remediation.writes:
        grouped.setdefault((write.group, write.verbs), set()).add(write.resource)
    rules = [_rule(group, resources, verbs) for (group, verbs), resources in grouped.items()]
    events = _rule("", ("events",), ("create",))
    return _role("ClusterRole", f"{NAME}-{remediation.id.replace('_', '-')}", [events, *rules])


def lease_role(lease: str, *, only_read: bool = False) -> Manifest:
    """In the Lease's namespace. RBAC can't limit `create` to a name."""
    group, resource = "coordination.k8s.io", ("leases",)
    if only_read:
        return _role("Role", NAME, [_rule(group, resource, ("get",), lease)])
    rules = [_rule(group, resource, ("get", "update"), lease), _rule(group, resource, ("create",))]
    return _role("Role", NAME, rules)


def _modes(config: SidecarConfig, remediation: Remediation) -> Mapping[str, Mode]:
    """By namespace, the empty one for all that have none of their own."""
    namespaces = ("", *sorted(config.of(remediation.id).namespaces))
    return {each: mode_of(config, remediation.id, each) for each in namespaces}


def _selected(config: SidecarConfig, remediation: Remediation) -> tuple[tuple[Selector, bool], ...]:
    """The selectors of namespaces, each with whether something is written there."""
    return tuple(
        (each.selector, each.mode is not None and Mode(each.mode) in _WRITE)
        for each in config.of(remediation.id).namespace_selectors
    )


def _role(kind: str, name: str, rules: list[Manifest]) -> Manifest:
    rules = sorted(rules, key=lambda rule: (rule["apiGroups"], rule["resources"], rule["verbs"]))
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata_of(name), "rules": rules}


def _rule(group: str, resources: Iterable[str], verbs: tuple[str, ...], name: str = "") -> Manifest:
    named = {"resourceNames": [name]} if name else {}
    return {"apiGroups": [group], "resources": sorted(resources), **named, "verbs": list(verbs)}


def _binding(role: Manifest, account: ServiceAccount, within: str = "") -> Manifest:
    kind = "RoleBinding" if within else "ClusterRoleBinding"
    name = role["metadata"]["name"]
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata_of(name) | ({"namespace": within} if within else {}),
        "roleRef": {"apiGroup": _RBAC, "kind": role["kind"], "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": account.namespace, "name": account.name}],
    }
