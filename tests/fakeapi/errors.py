"""What the API server answers to writes that it refuses, in the words of the real one."""

from exporter.fakeapi.errors import ApiError, invalid, named
from exporter.fakeapi.resources import Resource


def modified(resource: Resource, name: str) -> ApiError:
    """A write that carries the resourceVersion of an older state."""
    text = (
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return ApiError(409, "Conflict", text, details=named(resource, name))


def precondition(resource: Resource, name: str, text: str) -> ApiError:
    """A DELETE whose preconditions don't hold. The real server puts the kind where the plural belongs."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = named(resource, name) | {"kind": resource.kind}
    return ApiError(409, "Conflict", f'Operation cannot be fulfilled on {kind} "{name}": {text}', details=details)


def invalid_object(resource: Resource, name: str, field: str, text: str) -> ApiError:
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    return invalid(kind, name, field, text)


def patch_failed() -> ApiError:
    """A JSON patch with a failed `test`, or one that can't be applied: the answer doesn't say which."""
    text = "the server rejected our request due to an error in our request"
    return ApiError(422, "Invalid", text, details={})


def unsupported_patch() -> ApiError:
    text = (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json"
    )
    return ApiError(415, "UnsupportedMediaType", text)
