"""GitOps tools and operators, each known by what it writes on the objects that it owns.

What was copied onto an object from its owner says nothing: Argo CD takes an object for its own only if the tracking
annotation names it (util/argo/resource_tracking.go of argoproj/argo-cd), and charts put their labels into templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from exporter.domain.features.hco import HYPERCONVERGED, REVERTED, way_of_setting

from .managed_fields import entries

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
