"""The first request to an API server: what is wrong with every request is said once, before anything is watched."""

from __future__ import annotations

import msgspec

from .body import whole
from .errors import MALFORMED, KubeError, StatusError, UnreachableError, refusal_of
from .transport import Transport

_SECONDS = 10.0
_BYTES = 65536
_LOOK = "`kubectl cluster-info` asks the same one"


class GreetingError(KubeError):
    """No request will be answered. Its text is one sentence, with what to do."""


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str


async def greet(transport: Transport) -> str:
    """The version of the API server, such as v1.34.1; empty where one may not ask for it. Raises GreetingError for what
    is wrong with the server or the credentials, and ConfigError.
    """
    try:
        async with transport.open("GET", "/version", read_seconds=_SECONDS) as response:
            body = await whole(response, _BYTES)
        return msgspec.json.decode(body, type=_Version).git_version
    except UnreachableError as error:
        raise GreetingError(_unreachable(transport.server, error)) from error
    except StatusError as error:
        if error.code == 403:
            return ""
        raise GreetingError(_refused(transport.server, error)) from error
    except MALFORMED as error:
        raise GreetingError(_no_api(transport.server, "another answer than a version")) from error


def _unreachable(server: str, error: UnreachableError) -> str:
    why = refusal_of(error)
    what = f"{server} is not reachable: {why}" if why else str(error)
    return f"{what}; check the server that your kubeconfig names, and the way to it: {_LOOK}"


def _refused(server: str, error: StatusError) -> str:
    if error.code == 401:
        return (
            f"{server} does not accept your credentials (401 Unauthorized): they have expired, or are for another "
            "cluster; log in again, and look with `kubectl auth whoami`"
        )
    if error.code < 500:
        return _no_api(server, str(error))
    return f"{server} can't answer now: {error}; try again later, or look with `kubectl get --raw /readyz?verbose`"


def _no_api(server: str, answer: str) -> str:
    return f"{server} is not a Kubernetes API: it answers /version with {answer}; check the server of your kubeconfig"
