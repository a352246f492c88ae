"""Who else decides what a write would change, so that the write would be reverted: pure.

A GitOps tool or an operator restores the spec of the objects that it owns, and the objects themselves. Annotations and
finalizers that it does not know, the status, and objects that controllers made of its own are in nobody's way, unless
managedFields say that somebody owns these very fields by server-side apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from exporter.domain.features.hco import HYPERCONVERGED, REVERTED, way_of_setting

from .managed_fields import applied, entries, touches
from .plan import Create, Delete, Op, Patch, Plan, Proposal, Remove, Step, Test
from .requests import MANAGER

# GitOps tools and operators, each known by what it writes on the objects that it owns.
#
# What was copied onto an object from its owner says nothing: Argo CD takes an object for its own only if the tracking
# annotation names it (util/argo/resource_tracking.go of argoproj/argo-cd), and charts put their labels into templates.

JSON_PATCH = "kubevirt.kubevirt.io/jsonpatch"
"""The annotation of HyperConverged with a JSON patch of the KubeVirt object."""

_GIT = "Change it in the Git repository of"
_HELM_NAME, _HELM_NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
_MANAGED_BY = "app.kubernetes.io/managed-by"
_CONFIGURATION = "/spec/configuration/"
# Groups whose controllers leave alone what somebody changes in the objects that they made.
_LENIENT = ("kubevirt.io", "pool.kubevirt.io", "snapshot.kubevirt.io", "clone.kubevirt.io", "apps")


class KnownOwner(NamedTuple):
    name: str
    where: str
    metadata: bool = False  # whether it reverts labels and annotations that it does not know, too


def in_git(owner: str) -> bool:
    """Whether an owner, by its name, is one that makes its objects of manifests: Argo CD, Flux or Helm."""
    return owner.startswith(("Argo CD ", "Flux ", "Helm"))


class _Object(NamedTuple):
    whole: Mapping[str, Any]
    kind: str
    namespace: str
    name: str
    labels: Mapping[str, Any]
    notes: Mapping[str, Any]
    owners: tuple[Mapping[str, Any], ...]

    @property
    def group(self) -> str:
        return _group(self.whole.get("apiVersion"))

    def text(self, name: str) -> str:
        """Of a label, else of an annotation."""
        found = self.labels.get(name) or self.notes.get(name)
        return found if isinstance(found, str) else ""


def known_owners(whole: Mapping[str, Any], written: list[str]) -> Iterator[KnownOwner]:
    """Those that an object bears traces of. `written` are the paths that are to be written."""
    seen = _object(whole)
    yield from (owner for find in _FINDERS if (owner := find(seen, written)) is not None)


# Each finds one owner by what an object bears.


def _argo(seen: _Object, _written: list[str]) -> KnownOwner | None:
    app, _, tracked = seen.text("argocd.argoproj.io/tracking-id").partition(":")
    if tracked:
        kind, _, place = tracked.partition(":")
        namespace, _, name = place.rpartition("/")
        mine = kind == f"{seen.group}/{seen.kind}" and name == seen.name and seen.namespace in ("", namespace)
        app = app if mine else ""  # copied from another object
    else:
        evident = any(str(note).startswith("argocd.argoproj.io/") for note in (*seen.notes, *seen.labels))
        managed = any(str(each.get("manager")).startswith("argocd") for each in entries(seen.whole))
        app = seen.text("argocd.argoproj.io/instance")
        app = app or (seen.text("app.kubernetes.io/instance") if evident or managed else "")
    name = app.replace("_", "/")  # of one that is in another namespace than Argo CD
    return KnownOwner(f"Argo CD application `{name}`", f"{_GIT} Argo CD application {name}.") if name else None


def _flux(seen: _Object, _: list[str]) -> KnownOwner | None:
    for group, kind in (("kustomize", "Kustomization"), ("helm", "HelmRelease")):
        domain = f"{group}.toolkit.fluxcd.io"
        name = seen.text(f"{domain}/name")
        left = seen.text(f"{domain}/reconcile").lower() == "disabled" or seen.text(f"{domain}/ssa").lower() == "ignore"
        if name and not left:
            path = f"{seen.text(f'{domain}/namespace') or 'flux-system'}/{name}"
            source = f"{_GIT} Flux {kind} {path}." if kind == "Kustomization" else f"Change it in Flux {kind} {path}."
            return KnownOwner(f"Flux {kind} `{path}`", source)
    return None


def _helm(seen: _Object, _: list[str]) -> KnownOwner | None:
    name = seen.text(_HELM_NAME)
    if not name and (seen.text(_MANAGED_BY) != "Helm" or seen.owners):
        return None  # charts put the label into templates too
    release = f"{seen.text(_HELM_NAMESPACE) or seen.namespace}/{name}".lstrip("/")
    title = f"Helm release `{release}`" if name else "Helm"
    return KnownOwner(title, f"Change the values or templates of {title.replace('`', '')}.")


def _hco(seen: _Object, written: list[str]) -> KnownOwner | None:
    named = seen.kind == "KubeVirt" and seen.name == f"kubevirt-{HYPERCONVERGED}"
    owned = any(each.get("kind") == "HyperConverged" for each in seen.owners)
    if not (named or owned or seen.text(_MANAGED_BY) == "hco-operator"):
        return None
    paths = [path.removeprefix(_CONFIGURATION) for path in written if path.startswith(_CONFIGURATION)]
    if seen.kind == "KubeVirt" and paths:
        where = f"{way_of_setting(paths[0].replace('/', '.')).sentence(None)} {REVERTED}"
    else:
        where = f"Change it in HyperConverged {HYPERCONVERGED}."
    return KnownOwner("the HyperConverged Cluster Operator", where)


def _operator(seen: _Object, _: list[str]) -> KnownOwner | None:
    if seen.text(_MANAGED_BY) != "virt-operator":
        return None
    where = "Make a copy of it under another name and use that: virt-operator restores its own."
    return KnownOwner("virt-operator", where, metadata=True)


def _cluster_api(seen: _Object, _: list[str]) -> KnownOwner | None:
    infrastructure = seen.text("capk.cluster.x-k8s.io/kubevirt-machine-name")
    owners = [each for each in seen.owners if _group(each.get("apiVersion")).endswith("cluster.x-k8s.io")]
    cluster = seen.text("cluster.x-k8s.io/cluster-name")
    if infrastructure or owners:
        name = infrastructure or str(owners[0].get("name"))
        kind = "KubevirtMachine" if infrastructure else str(owners[0].get("kind"))
        return KnownOwner(f"Cluster API's {kind} `{name}`", f"Change the template of Cluster API's {kind} {name}.")
    if cluster:
        return KnownOwner(f"Cluster API's cluster `{cluster}`", f"Change it in Cluster API's cluster {cluster}.")
    return None


def _olm(seen: _Object, _: list[str]) -> KnownOwner | None:
    name = seen.text("olm.owner")
    owners = [str(each.get("name")) for each in seen.owners if each.get("kind") == "ClusterServiceVersion"]
    if not name and not owners:
        return None
    version = name or owners[0]
    return KnownOwner(
        f"OLM's ClusterServiceVersion `{version}`", f"Change ClusterServiceVersion {version} or its operator."
    )


def _controller(seen: _Object, written: list[str]) -> KnownOwner | None:
    """Any other controller, which is taken to keep the spec of what it made as it wants it."""
    for each in seen.owners:
        if each.get("controller") is True and written and _group(each.get("apiVersion")) not in _LENIENT:
            title = f"{each.get('kind')} {each.get('name')}"
            return KnownOwner(f"the controller of {title}", f"Change {title}, from which its controller makes it.")
    return None


_FINDERS: tuple[Callable[[_Object, list[str]], KnownOwner | None], ...] = (
    _argo,
    _flux,
    _helm,
    _hco,
    _operator,
    _cluster_api,
    _olm,
    _controller,
)


def _group(version: Any) -> str:
    return version.rpartition("/")[0] if isinstance(version, str) else ""


def _object(whole: Mapping[str, Any]) -> _Object:
    meta = _map(whole.get("metadata"))
    owners = meta.get("ownerReferences")
    return _Object(
        whole,
        str(whole.get("kind") or ""),
        str(meta.get("namespace") or ""),
        str(meta.get("name") or ""),
        _map(meta.get("labels")),
        _map(meta.get("annotations")),
        tuple(each for each in owners if isinstance(each, dict)) if isinstance(owners, list) else (),
    )


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def claimed(plan: Plan, whole: Mapping[str, Any]) -> Proposal | None:
    """Who would revert this write on this object, and what to change instead; None where nobody would.

    `whole` is the object that the plan is bound to. The first that is found is named.
    """
    step = plan.step
    ops = step.ops if isinstance(step, Patch) else ()
    if isinstance(step, Create) or not (ops or isinstance(step, Delete)):
        return None  # a new object is nobody's, and of the rest nothing is kept in a spec
    written = [op.path for op in ops if not isinstance(op, Test)]
    status = isinstance(step, Patch) and bool(step.subresource)
    deep = isinstance(step, Delete) or any(not path.startswith("/metadata/") for path in written)
    owners = known_owners(whole, written) if not status else ()
    owner = next((each for each in owners if deep or each.metadata), None)
    owner = owner or _applying(step, ops, whole)
    return Proposal(owner=owner.name, where=owner.where, patch=_text(step, ops, owner)) if owner is not None else None


def rival(before: Mapping[str, Any], after: Mapping[str, Any], ops: tuple[Op, ...]) -> str:
    """The field manager that took back what a write had changed; empty where managedFields do not say.

    `before` is the object before the write or right after it, `after` as it was found again. Of several it is the
    newest one that owns what the write would change anew; where what it took back has no owner, the newest one that
    wrote since.
    """
    known = entries(before)
    since = [each for each in entries(after) if each not in known and each.get("manager") != MANAGER]
    if not all(op.path.startswith("/status/") for op in ops):
        since = [each for each in since if not each.get("subresource")]  # a write of the status changes nothing else
    try:
        again = applied(after, ops)
    except ValueError:
        again = after
    owning = [each for each in since if touches(each.get("fieldsV1"), after, again)]
    newest = max(owning or since, key=lambda each: str(each.get("time") or ""), default={})
    return str(newest.get("manager") or "")


def _applying(step: Step, ops: tuple[Op, ...], whole: Mapping[str, Any]) -> KnownOwner | None:
    """Whoever owns by server-side apply what the step writes, or spec or data of what it deletes."""
    subresource = step.subresource if isinstance(step, Patch) else ""
    for each in entries(whole):
        manager = str(each.get("manager") or "")
        person = manager == "kubectl" or manager.startswith("kubectl-")
        ours = manager == MANAGER or manager.startswith("virt-")  # KubeVirt's, which know what they share
        if each.get("operation") != "Apply" or person or ours or str(each.get("subresource") or "") != subresource:
            continue
        if _contested(each.get("fieldsV1"), step, ops, whole):
            return KnownOwner(f"field manager `{manager}`", f"Change it where {manager} has it from.")
    return None


def _contested(fields: Any, step: Step, ops: tuple[Op, ...], whole: Mapping[str, Any]) -> bool:
    if isinstance(step, Delete):
        return isinstance(fields, dict) and ("f:spec" in fields or "f:data" in fields)
    try:
        return touches(fields, whole, applied(whole, ops))
    except ValueError:
        return True  # nobody knows what it would change


def _text(step: Step, ops: tuple[Op, ...], owner: KnownOwner) -> str:
    """The change as a merge patch, else as a JSON patch; empty for a deletion."""
    changes = [op for op in ops if not isinstance(op, Test)]
    if owner.name.startswith("the HyperConverged"):
        if JSON_PATCH not in owner.where:
            return ""
        text = msgspec.json.encode(changes).decode()
        return _pretty({"metadata": {"annotations": {JSON_PATCH: text}}})
    paths = [[token.replace("~1", "/").replace("~0", "~") for token in op.path.split("/")[1:]] for op in changes]
    if any(each == "-" or each.isdecimal() for path in paths for each in path):
        return _pretty(msgspec.to_builtins(ops))
    merged: dict[str, Any] = {}
    for op, (*path, last) in zip(changes, paths, strict=True):
        holder = merged
        for token in path:
            holder = holder.setdefault(token, {})
        holder[last] = None if isinstance(op, Remove) else op.value
    return _pretty(merged) if merged and not isinstance(step, Delete) else ""


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
