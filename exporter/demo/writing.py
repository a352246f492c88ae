"""Create, replace, patch and delete over HTTP: what the request may say, and which part of it counts.

Two traps of the real server are kept. A DELETE with a body takes `dryRun` and preconditions
from the body alone: `?dryRun=All` beside it does nothing, and the object is really deleted.
And `status` sent to the resource itself, or metadata sent to `/status`, is dropped without a word: 200.
"""

import uuid

from .calls import Call, Target
from .errors import ApiError, bad_request, invalid, invalid_object, method_not_allowed, not_found
from .patching import patched
from .registry import DeleteOptions, Registry
from .resources import RESOURCES, Obj, Resource
from .storage import Stored

NAMESPACES = RESOURCES[0]
ON_CREATE = ("uid", "creationTimestamp", "resourceVersion", "generation", "deletionTimestamp")
"""Metadata that a new object doesn't bring along."""


def write(registry: Registry, call: Call, target: Target) -> tuple[int, bytes]:
    """Carries out a writing request: HTTP status and body."""
    if call.method == "POST" and not target.name:
        return 201, _create(registry, call, target).encoded
    if not target.name:
        raise method_not_allowed()
    if call.method == "PUT":
        return 200, _replace(registry, call, target, call.json()).encoded
    if call.method == "PATCH":
        old = registry.read(target.resource, target.key).body
        content_type = call.headers.get("Content-Type", "").partition(";")[0].strip()
        new = patched(old, content_type, call.body)
        return 200, _replace(registry, call, target, new).encoded
    if call.method == "DELETE" and not target.subresource:
        return 200, _delete(registry, call, target)
    raise method_not_allowed()


def _create(registry: Registry, call: Call, target: Target) -> Stored:
    resource, obj = target.resource, call.json()
    _same_type(resource, obj)
    meta = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in ON_CREATE}
    if "name" not in meta and "generateName" in meta:
        meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
    if "name" not in meta:
        text = "Required value: name or generateName is required"
        raise invalid_object(resource, "", "metadata.name", text)
    if resource.namespaced:
        if meta.setdefault("namespace", target.namespace) != target.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        try:
            registry.read(NAMESPACES, ("", target.namespace))
        except ApiError as err:
            raise not_found(NAMESPACES, target.namespace) from err
    body = obj | {"metadata": meta}
    if resource.status:
        body.pop("status", None)
    return registry.create(resource, body, dry_run=_dry_run(call.query.get("dryRun"), "CreateOptions"))


def _replace(registry: Registry, call: Call, target: Target, new: Obj) -> Stored:
    """PUT and PATCH, once the new object is known."""
    resource = target.resource
    old = registry.read(resource, target.key).body
    _same_type(resource, new)
    meta = new.get("metadata") or {}
    if meta.get("name", target.name) != target.name or meta.get("namespace", target.namespace) != target.namespace:
        raise bad_request("the name of the object does not match the name on the URL")
    if call.method == "PUT" and resource.custom and not meta.get("resourceVersion"):
        text = "Invalid value: 0: must be specified for an update"
        raise invalid_object(resource, target.name, "metadata.resourceVersion", text)
    body = new | {"metadata": {"name": target.name, "namespace": target.namespace} | meta}
    if not resource.namespaced:
        body["metadata"].pop("namespace")
    dry_run = _dry_run(call.query.get("dryRun"), "UpdateOptions" if call.method == "PUT" else "PatchOptions")
    return registry.update(resource, _counted(target, old, body), dry_run=dry_run)


def _counted(target: Target, old: Obj, new: Obj) -> Obj:
    """The part of a write that counts: of /status the status, of the resource the rest."""
    if not target.resource.status:
        return new
    if target.subresource == "status":
        claimed = {k: v for k, v in new["metadata"].items() if k in ("resourceVersion", "uid")}
        rest = {k: v for k, v in old.items() if k != "status"} | {"metadata": old["metadata"] | claimed}
        return rest | ({"status": new["status"]} if "status" in new else {})
    rest = {k: v for k, v in new.items() if k != "status"}
    return rest | ({"status": old["status"]} if "status" in old else {})


def _delete(registry: Registry, call: Call, target: Target) -> bytes:
    options: Obj = call.json() if call.body else {"dryRun": call.query.get("dryRun")}
    conditions = options.get("preconditions") or {}
    row, gone = registry.delete(
        target.resource,
        target.key,
        DeleteOptions(
            uid=conditions.get("uid"),
            version=conditions.get("resourceVersion"),
            propagation=options.get("propagationPolicy") or call.query.get("propagationPolicy", ""),
            dry_run=_dry_run(options.get("dryRun"), "DeleteOptions"),
        ),
    )
    if not gone or target.resource.kind == "Pod":
        return row.encoded
    details = f'"name":"{target.name}","group":"{target.resource.group}","kind":"{target.resource.plural}"'
    uid = row.body["metadata"]["uid"]
    return (
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",'
        f'"details":{{{details},"uid":"{uid}"}}}}'
    ).encode()


def _dry_run(asked: str | list[str] | None, options: str) -> bool:
    """Only "All" is a dry run; the query says it as a string, a body as a list."""
    values = [asked] if isinstance(asked, str) else asked or []
    if any(value != "All" for value in values):
        listed = ", ".join(f'"{value}"' for value in values)
        raise invalid(f"{options}.meta.k8s.io", "", "dryRun", f'Unsupported value: [{listed}]: supported values: "All"')
    return bool(values)


def _same_type(resource: Resource, obj: Obj) -> None:
    given = obj.get("apiVersion", resource.api_version)
    if given != resource.api_version:
        raise bad_request(
            f"the API version in the data ({given}) does not match the expected API version ({resource.api_version})"
        )
    if obj.get("kind", resource.kind) != resource.kind:
        raise bad_request(f"the kind in the data ({obj['kind']}) does not match the expected kind ({resource.kind})")
