"""The ServiceAccount of the sidecar, and by what its roles and policies are found. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NAME = "steward-reconcile"


@dataclass(frozen=True)
class ServiceAccount:
    """Whom the roles are bound to, and whose writes the policy is for."""

    namespace: str
    name: str = NAME

    @property
    def username(self) -> str:
        """The name by which the API server knows it."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


def metadata_of(name: str) -> dict[str, Any]:
    return {"name": name, "labels": {"app.kubernetes.io/name": NAME}}
