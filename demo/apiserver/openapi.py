"""OpenAPI, as little of it as kubectl needs to know that the server validates fields and takes dry runs.

Not here: schemas.
"""

from collections.abc import Iterable

from .errors import page_not_found
from .resources import Obj, ServedResource

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
