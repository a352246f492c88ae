"""What the API server answers when it refuses: the Status object, in the words of the real one.

Texts are those that kube-apiserver 1.36 was seen to send. Clients decide by them, so a
wrong word here would hide a mistake there.
"""

import json
from collections.abc import Mapping

from .resources import Obj, ServedResource

CAUSES = {
    "Forbidden": "FieldValueForbidden",
    "Invalid value": "FieldValueInvalid",
    "Required value": "FieldValueRequired",
    "Unsupported value": "FieldValueNotSupported",
}
"""How a field's complaint begins, and the reason that goes with it."""


class ApiError(Exception):
    """A request that ends in something else than 2xx."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Obj | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = dict(headers or {})
        self.metadata: Obj = {}

    def status(self) -> Obj:
        """The Status object; an ERROR event of a watch carries it too."""
        status: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return status | {"code": self.code}

    def body(self) -> bytes:
        return json.dumps(self.status(), separators=(",", ":")).encode()

    @property
    def content_type(self) -> str:
        return "application/json"


class PlainError(ApiError):
    """A refusal from below the API: text, not a Status."""

    def __init__(self, code: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(code, "", message, headers=headers)

    def body(self) -> bytes:
        return f"{self.message}\n".encode()

    @property
    def content_type(self) -> str:
        return "text/plain"


def named(resource: ServedResource, name: str) -> Obj:
    details: Obj = {"name": name, "kind": resource.plural}
    return details | {"group": resource.group} if resource.group else details


def page_not_found() -> ApiError:
    """The path leads nowhere: no such group, version or resource."""
    return PlainError(404, "404 page not found")


def no_such_subresource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed() -> ApiError:
    text = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", text, details={})


def not_found(resource: ServedResource, name: str) -> ApiError:
    text = f'{resource.qualified} "{name}" not found'
    return ApiError(404, "NotFound", text, details=named(resource, name))


def already_exists(resource: ServedResource, name: str) -> ApiError:
    text = f'{resource.qualified} "{name}" already exists'
    return ApiError(409, "AlreadyExists", text, details=named(resource, name))


def invalid(kind: str, name: str, field: str, text: str) -> ApiError:
    """422 with a cause; `kind` with its group, as `IPAMClaim.k8s.cni.cncf.io`."""
    message = f'{kind} "{name}" is invalid: {field}: {text}'
    cause = {"reason": CAUSES[text.partition(":")[0]], "message": text, "field": field}
    return ApiError(422, "Invalid", message, details={"name": name, "kind": kind, "causes": [cause]})


def bad_request(text: str) -> ApiError:
    return ApiError(400, "BadRequest", text)


def too_old(asked: int, oldest: int) -> ApiError:
    return ApiError(410, "Expired", f"too old resource version: {asked} ({oldest})")


def too_new(asked: int, current: int) -> ApiError:
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    text = f"Timeout: Too large resource version: {asked}, current: {current}"
    return ApiError(504, "Timeout", text, details=details, headers={"Retry-After": "1"})


def continue_expired(token: str) -> ApiError:
    """410 of a paged list; the token in it goes on with today's state instead of the snapshot's."""
    text = (
        "The provided continue parameter is too old to display a consistent list result. You can start a new "
        "list without the continue parameter, or use the continue token in this response to retrieve the "
        "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
        "that were created, modified, or deleted between the time the first chunk was returned and now may show "
        "up in the list."
    )
    error = ApiError(410, "Expired", text)
    error.metadata = {"continue": token}
    return error


def modified(resource: ServedResource, name: str) -> ApiError:
    """A write that carries the resourceVersion of an older state."""
    text = (
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return ApiError(409, "Conflict", text, details=named(resource, name))


def precondition(resource: ServedResource, name: str, text: str) -> ApiError:
    """A DELETE whose preconditions don't hold. The real server puts the kind where the plural belongs."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = named(resource, name) | {"kind": resource.kind}
    return ApiError(409, "Conflict", f'Operation cannot be fulfilled on {kind} "{name}": {text}', details=details)


def invalid_object(resource: ServedResource, name: str, field: str, text: str) -> ApiError:
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
