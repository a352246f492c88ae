"""Discovery, the unaggregated form that every server answers: /version, /api, /apis and what is below."""

from collections.abc import Iterable

from .errors import page_not_found
from .resources import Obj, ServedResource

VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def document(path: str, served: Iterable[ServedResource], git_version: str) -> Obj | None:
    """The document under a path, or None where no discovery document is."""
    parts = path.strip("/").split("/")
    if parts == ["version"]:
        return _version(git_version)
    if parts[0] == "api" and len(parts) <= 2:
        if len(parts) == 1:
            return {"kind": "APIVersions", "versions": ["v1"]}
        return _resource_list("", parts[1], served)
    if parts[0] != "apis" or len(parts) > 3:
        return None
    if len(parts) == 1:
        groups = dict.fromkeys(r.group for r in served if r.group)
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(g, served) for g in groups]}
    if len(parts) == 2:
        return {"kind": "APIGroup", "apiVersion": "v1"} | _group(parts[1], served)
    return _resource_list(parts[1], parts[2], served)


def _version(git_version: str) -> Obj:
    major, minor = git_version.removeprefix("v").split(".")[:2]
    return {"major": major, "minor": minor, "gitVersion": git_version, "platform": "linux/amd64"}


def _group(group: str, served: Iterable[ServedResource]) -> Obj:
    versions = sorted({r.version for r in served if r.group == group})  # here "v1" sorts before its alphas and betas
    if not versions:
        raise page_not_found()
    listed = [{"groupVersion": f"{group}/{v}", "version": v} for v in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def _resource_list(group: str, version: str, served: Iterable[ServedResource]) -> Obj:
    rows = [r for r in served if (r.group, r.version) == (group, version)]
    if not rows:
        raise page_not_found()
    resources: list[Obj] = []
    for row in rows:
        entry: Obj = {
            "name": row.plural,
            "singularName": row.kind.lower(),
            "namespaced": row.namespaced,
            "kind": row.kind,
            "verbs": VERBS,
        }
        resources.append(entry | ({"shortNames": list(row.short)} if row.short else {}))
        if row.status:
            resources.append(
                entry | {"name": f"{row.plural}/status", "singularName": "", "verbs": ["get", "patch", "update"]}
            )
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": rows[0].api_version, "resources": resources}


# OpenAPI, as little of it as kubectl needs to know that the server validates fields and takes dry runs.
#
# Not here: schemas.

_ROOT = "/openapi/v3"


def openapi(path: str, served: Iterable[ServedResource]) -> Obj | None:
    """The document under a path, None where no document of OpenAPI is."""
    if path != _ROOT and not path.startswith(f"{_ROOT}/"):
        return None
    homes: dict[str, list[ServedResource]] = {}
    for each in served:
        homes.setdefault(_home(each), []).append(each)
    asked = path.removeprefix(_ROOT).strip("/")
    if not asked:
        return {"paths": {home: {"serverRelativeURL": f"{_ROOT}/{home}"} for home in homes}}
    if asked not in homes:
        raise page_not_found()
    info = {"title": "Kubernetes", "version": "unversioned"}
    return {"openapi": "3.0.0", "info": info, "paths": dict(map(_described, homes[asked]))}


def _home(resource: ServedResource) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _described(resource: ServedResource) -> tuple[str, Obj]:
    place = "/namespaces/{namespace}" if resource.namespaced else ""
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    known = [{"name": name, "in": "query"} for name in ("dryRun", "fieldValidation")]
    operation = {"x-kubernetes-group-version-kind": kind, "parameters": known, "responses": {}}
    return f"/{_home(resource)}{place}/{resource.plural}/{{name}}", {"patch": operation}
