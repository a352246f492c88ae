"""The KubeVirt object: what the whole installation is set to, and its release."""

from __future__ import annotations

import re
from sys import intern

from ..kind import ApiKind, Reach
from ..record import Record, Wire, WireMeta, identity

__all__ = ["KIND", "KubeVirt", "release_of"]

DRAIN_TAINT = "kubevirt.io/drain"


class _Migrations(Wire, frozen=True, gc=False):
    parallel_migrations_per_cluster: int | None = None
    parallel_outbound_migrations_per_node: int | None = None
    node_drain_taint_key: str | None = None


class _InstancetypePolicy(Wire, frozen=True, gc=False):
    reference_policy: str | None = None


class _Developer(Wire, frozen=True, gc=False):
    feature_gates: list[str | None] | None = None


class _Configuration(Wire, frozen=True, gc=False):
    eviction_strategy: str | None = None
    migrations: _Migrations | None = None
    instancetype: _InstancetypePolicy | None = None
    developer_configuration: _Developer | None = None


class _Spec(Wire, frozen=True, gc=False):
    configuration: _Configuration | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    observed_kube_virt_version: str | None = None
    target_kube_virt_version: str | None = None


class _KubeVirt(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None
    status: _Status | None = None


class KubeVirt(Record, frozen=True, gc=False):
    version: str  # observed, such as v1.7.0; empty where it is not known
    upgrading: bool
    strategy: str  # the default evictionStrategy; empty where it is not set, which means None
    per_cluster: int  # migrations at once
    per_node: int  # outbound migrations of a node at once
    drain_taint: str
    reference_policy: str  # what becomes of the references to instancetypes: reference, expand or expandAll

    @property
    def release(self) -> tuple[int, int]:
        return release_of(self.version)

    @property
    def patch(self) -> tuple[int, int, int]:
        """Major, minor and patch of the version; (0, 0, 0) of an unknown one."""
        match = re.match(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})", self.version, re.ASCII)
        return (int(match[1]), int(match[2]), int(match[3])) if match else (0, 0, 0)


def release_of(version: str) -> tuple[int, int]:
    """Major and minor of a version text; (0, 0) of one that has none."""
    match = re.match(r"v?(\d{1,6})\.(\d{1,6})", version, re.ASCII)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _policy(configuration: _Configuration, release: tuple[int, int]) -> str:
    """As configured, where its feature gate is on: listed, and from 1.6 on always."""
    developer, policy = configuration.developer_configuration or _Developer(), configuration.instancetype
    on = release >= (1, 6) or "InstancetypeReferencePolicy" in (developer.feature_gates or ())
    return intern((on and policy and policy.reference_policy) or "reference")


def _reduce(wire: _KubeVirt) -> KubeVirt:
    status = wire.status or _Status()
    configuration = (wire.spec and wire.spec.configuration) or _Configuration()
    migrations = configuration.migrations or _Migrations()
    observed, target = status.observed_kube_virt_version or "", status.target_kube_virt_version or ""
    return KubeVirt(
        *identity(wire.metadata),
        version=observed,
        upgrading=bool(target) and observed != target,
        strategy=intern(configuration.eviction_strategy or ""),
        per_cluster=migrations.parallel_migrations_per_cluster or 5,
        per_node=migrations.parallel_outbound_migrations_per_node or 2,
        drain_taint=migrations.node_drain_taint_key or DRAIN_TAINT,
        reference_policy=_policy(configuration, release_of(observed)),
    )


KIND = ApiKind(
    KubeVirt,
    Reach.CLUSTER,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="kubevirts",
    wire=_KubeVirt,
    reduce=_reduce,
)
