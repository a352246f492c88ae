"""Whether SecurityContextConstraints admit a pod: what they leave open is filled in, what they forbid is refused.

After https://github.com/openshift/apiserver-library-go (securitycontextconstraints). The ranges of user ids and groups
are those of a namespace's annotations, which OpenShift gives it when it is created; nobody knows them before.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.case_files import read_yaml
from tests.manifests import Object

__all__ = ["RANGE", "RESTRICTED", "refused"]

RESTRICTED: Object = read_yaml((Path(__file__).parent / "restricted_v2.yaml").read_text(encoding="utf-8"))
RANGE = range(1_000_680_000, 1_000_690_000)  # openshift.io/sa.scc.uid-range: 1000680000/10000
_HOSTS = {"hostIPC": "allowHostIPC", "hostNetwork": "allowHostNetwork", "hostPID": "allowHostPID"}


def refused(pod: Object, constraints: Object = RESTRICTED) -> list[str]:
    """Why the spec of a pod is refused, field by field; nothing where it is admitted."""
    return [*_of_pod(pod, constraints), *(each for one in _containers(pod) for each in _of_container(one, constraints))]


def _containers(pod: Object) -> Iterator[Object]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod.get(kind) or ()


def _of_pod(pod: Object, constraints: Object) -> Iterator[str]:
    yield from (field for field, allowed in _HOSTS.items() if pod.get(field) and not constraints[allowed])
    context = pod.get("securityContext") or {}
    yield from _users("pod", context, constraints)
    yield from _seccomp("pod", context, constraints)
    if (
        context.get("fsGroup") is not None
        and constraints["fsGroup"]["type"] == "MustRunAs"
        and context["fsGroup"] not in RANGE
    ):
        yield f"fsGroup {context['fsGroup']} is not of the namespace's range"
    if context.get("seLinuxOptions") and constraints["seLinuxContext"]["type"] == "MustRunAs":
        yield "seLinuxOptions are the namespace's"
    if context.get("sysctls"):
        yield "sysctls"
    for volume in pod.get("volumes") or ():
        (kind,) = volume.keys() - {"name"}
        if kind not in constraints["volumes"]:
            yield f"volume {volume['name']} is a {kind}"


def _of_container(container: Object, constraints: Object) -> Iterator[str]:
    name, context = container["name"], container.get("securityContext") or {}
    yield from _users(name, context, constraints)
    yield from _seccomp(name, context, constraints)
    if context.get("privileged") and not constraints["allowPrivilegedContainer"]:
        yield f"{name} is privileged"
    if context.get("allowPrivilegeEscalation") and not constraints["allowPrivilegeEscalation"]:
        yield f"{name} allows privilege escalation"  # one that says nothing gets false
    if context.get("seLinuxOptions") and constraints["seLinuxContext"]["type"] == "MustRunAs":
        yield f"{name} has seLinuxOptions"
    added = (context.get("capabilities") or {}).get("add") or ()
    yield from (f"{name} adds {each}" for each in added if each not in constraints["allowedCapabilities"])
    ports = [each for each in container.get("ports") or () if each.get("hostPort")]
    yield from (f"{name} has hostPort {each['hostPort']}" for each in ports if not constraints["allowHostPorts"])


def _users(where: str, context: Object, constraints: Object) -> Iterator[str]:
    user = context.get("runAsUser")
    if user is not None and constraints["runAsUser"]["type"] == "MustRunAsRange" and user not in RANGE:
        yield f"{where} runs as user {user}, which is not of the namespace's range"


def _seccomp(where: str, context: Object, constraints: Object) -> Iterator[str]:
    profile = (context.get("seccompProfile") or {}).get("type")
    if (
        profile is not None
        and {"RuntimeDefault": "runtime/default"}.get(profile, profile) not in constraints["seccompProfiles"]
    ):
        yield f"{where} has seccomp profile {profile}"
