"""How somebody who is not served is answered: what is missing, and the command that grants it."""

from __future__ import annotations

import shlex

from aiohttp import web

from ...kube.reviews import User
from ..server.answers import error

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_BASIC = 'Basic realm="kubevirt-steward: the password is a token", charset="UTF-8"'
_UNKNOWN = (
    "a bearer token that the API server accepts is needed, such as that of `kubectl create token NAME -n NAMESPACE` "
    "for a ServiceAccount; a browser takes it as the password, with any user name"
)


def unknown(request: web.Request) -> web.Response:
    response = error(request, 401, _UNKNOWN)
    response.headers.add("WWW-Authenticate", 'Bearer realm="kubevirt-steward"')
    if not request.path.startswith("/api/") and request.path != "/metrics":
        response.headers.add("WWW-Authenticate", _BASIC)  # a browser then asks for it
    return response


def denied(request: web.Request, user: User, what: str, command: str) -> web.Response:
    return error(request, 403, f"{user.name} may not {what}; an admin of the cluster can grant it: {command}")


def cluster_binding(user: User, role: str) -> str:
    return f"kubectl create clusterrolebinding {role}-{_short(user)} --clusterrole={role} {_subject(user)}"


def binding(user: User) -> str:
    role = "kubevirt.io:view"
    return f"kubectl create rolebinding view-vms-{_short(user)} -n NAMESPACE --clusterrole={role} {_subject(user)}"


def _subject(user: User) -> str:
    kind, _, rest = user.name.removeprefix("system:").partition(":")
    if kind == "serviceaccount" and rest.count(":") == 1 and user.name.startswith("system:"):
        return shlex.quote(f"--serviceaccount={rest}")
    return shlex.quote(f"--user={user.name}")


def _short(user: User) -> str:
    """What of the name can be in the name of an object. ServiceAccounts of many namespaces have the same name."""
    name = user.name.removeprefix("system:serviceaccount:")
    plain = "".join(each if each in _PLAIN else " " for each in name.lower())
    return "-".join(plain.split())[:130].strip("-") or "user"
