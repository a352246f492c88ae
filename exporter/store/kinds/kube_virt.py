"""The KubeVirt object: what the whole installation is set to, and its release.

The configuration is kept as a whole, as canonical text, since rules ask for settings that nobody lists here; what many
checks read is a field of its own. `exporter/domain/features` makes of it what is in effect.
"""

from __future__ import annotations

from sys import intern

import msgspec

from ...facts.record import Record, Wire, WireCondition, WireMeta, epoch, identity
from ...facts.specs import canonical
from ...facts.versions import Upstream, begins_like, number_of, parse, upstream_of
from ..kind import ApiKind, Reach

DRAIN_TAINT = "kubevirt.io/drain"
EVEN_PARITY = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
"""An annotation without which the gate AlignCPUs has no effect."""

_SWITCHES = (EVEN_PARITY,)  # annotations that switch something on by being there
_MANAGER, _HCO = "app.kubernetes.io/managed-by", "hco-operator"
_HCO_NAME = "kubevirt-kubevirt-hyperconverged"


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


class _Updates(Wire, frozen=True, gc=False):
    workload_update_methods: list[str | None] | None = None


class _Spec(Wire, frozen=True, gc=False):
    configuration: msgspec.Raw = msgspec.Raw()
    image_tag: str | None = None
    workload_update_strategy: _Updates | None = None


class _Status(Wire, frozen=True, gc=False):
    phase: str | None = None
    observed_kube_virt_version: str | None = None
    target_kube_virt_version: str | None = None
    observed_generation: int | None = None
    default_architecture: str | None = None
    operator_version: str | None = None
    conditions: list[WireCondition | None] | None = None


class _Meta(WireMeta, frozen=True, gc=False):
    generation: int | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None


class _KubeVirt(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
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
    configuration: str  # spec.configuration as canonical text
    target: str  # the version that is being installed; usually the observed one
    annotations: tuple[str, ...]  # those that are there of the few which switch something on, sorted
    generation: int
    observed_generation: int
    phase: str  # empty before the operator has seen it
    deleting: float | None
    managed_by_hco: bool  # by the HyperConverged Cluster Operator, which reverts what others write
    default_architecture: str
    unavailable: float | None  # since when its condition Available is False: 0 where that is not known
    unavailable_for: str  # the reason and message of that condition
    updates: tuple[str, ...]  # by what it replaces launchers of an earlier release: LiveMigrate, Evict; sorted
    assumed: str = ""  # the upstream version that we were configured to take it for
    built: str = ""  # what virt-operator was built of, as v1.4.1-75-gb3a54913fd; empty where it installs another build
    counts: Upstream = Upstream()  # as which version of upstream the observed one counts; itself where nobody knows
    coming: str = ""  # likewise the target; empty where nobody knows

    @property
    def evicts_outdated(self) -> bool:
        """Whether it evicts VMIs whose launcher is of an earlier release."""
        return "Evict" in self.updates

    @property
    def upstream(self) -> str:
        """The version by which KubeVirt's behaviour is known; the observed one where it counts as none of upstream."""
        return self.assumed or self.counts.version

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor of that version; (0, 0) of an unknown one."""
        return number_of(self.upstream)

    @property
    def patch(self) -> tuple[int, int, int]:
        """Major, minor and patch of the version; (0, 0, 0) of an unknown one."""
        known = parse(self.upstream) if self.assumed or self.counts.patch else None
        known = known or (begins_like(self.upstream) if self.counts.patch else None)
        return (known.major, known.minor, known.patch) if known is not None else (0, 0, 0)

    @property
    def own(self) -> bool:
        """Whether it is upstream's own build of a tag, which has no more and no less than that tag."""
        found = parse(self.version)
        return found is not None and not found.commits and self.version == self.upstream


def changed(record: KubeVirt, *, configuration: str | None = None, version: str | None = None) -> KubeVirt:
    """The record as it would be with another configuration, or after an upgrade to a version.

    Raises ValueError for a configuration that is undecodable.
    """
    if version is not None:
        record = msgspec.structs.replace(record, version=version, target=version, upgrading=False, assumed="", built="")
        record = _counted(record)
    text = record.configuration if configuration is None else canonical(configuration.encode())
    return _configured(record, text)


def assuming(record: KubeVirt, version: str) -> KubeVirt:
    """The record taken for one of an upstream version; of the observed one where that is empty."""
    if record.assumed == version:
        return record
    return _configured(msgspec.structs.replace(record, assumed=version), record.configuration)


_CONFIGURATION = msgspec.json.Decoder(_Configuration)


def _configured(record: KubeVirt, text: str) -> KubeVirt:
    """With what follows from the configuration in this release."""
    wire = _CONFIGURATION.decode(text or "{}")
    migrations = wire.migrations or _Migrations()
    return msgspec.structs.replace(
        record,
        configuration=text,
        strategy=intern(wire.eviction_strategy or ""),
        per_cluster=migrations.parallel_migrations_per_cluster or 5,
        per_node=migrations.parallel_outbound_migrations_per_node or 2,
        drain_taint=migrations.node_drain_taint_key or DRAIN_TAINT,
        reference_policy=_policy(wire, record.release),
    )


def _counted(record: KubeVirt) -> KubeVirt:
    """With what its versions count as. While it is upgraded the operator is of the target already."""
    of = record.managed_by_hco
    counts = upstream_of(record.version, "" if record.upgrading else record.built, openshift=of)
    coming = upstream_of(record.target, record.built, openshift=of).version
    counts = counts if counts.version else Upstream(record.version)
    return msgspec.structs.replace(record, counts=counts, coming=coming)


def _policy(configuration: _Configuration, release: tuple[int, int]) -> str:
    """As configured, where its feature gate is on: listed, and from 1.6 on always."""
    developer, policy = configuration.developer_configuration or _Developer(), configuration.instancetype
    on = release >= (1, 6) or "InstancetypeReferencePolicy" in (developer.feature_gates or ())
    return intern((on and policy and policy.reference_policy) or "reference")


def _reduce(wire: _KubeVirt) -> KubeVirt:
    meta, spec, status = wire.metadata, wire.spec or _Spec(), wire.status or _Status()
    observed, target = status.observed_kube_virt_version or "", status.target_kube_virt_version or ""
    updates = spec.workload_update_strategy
    conditions = (each for each in status.conditions or () if each is not None and each.type == "Available")
    missing = next((each for each in conditions if each.status == "False"), None)
    record = KubeVirt(
        *identity(meta),
        version=observed,
        upgrading=bool(target) and observed != target,
        strategy="",
        per_cluster=0,
        per_node=0,
        drain_taint="",
        reference_policy="",
        configuration="",
        target=target,
        annotations=tuple(name for name in _SWITCHES if name in (meta.annotations or ())),
        generation=meta.generation or 0,
        observed_generation=status.observed_generation or 0,
        phase=intern(status.phase or ""),
        deleting=epoch(meta.deletion_timestamp),
        managed_by_hco=meta.name == _HCO_NAME or (meta.labels or {}).get(_MANAGER) == _HCO,
        default_architecture=intern(status.default_architecture or ""),
        unavailable=(epoch(missing.last_transition_time) or 0.0) if missing is not None else None,
        unavailable_for=": ".join(filter(None, (missing.reason, (missing.message or "")[:256]))) if missing else "",
        updates=tuple(sorted(filter(None, (updates and updates.workload_update_methods) or ()))),
        built="" if spec.image_tag else status.operator_version or "",
    )
    return _configured(_counted(record), canonical(spec.configuration))


KIND = ApiKind(
    KubeVirt,
    Reach.CLUSTER,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="kubevirts",
    wire=_KubeVirt,
    reduce=_reduce,
)
KubeVirt.KIND = KIND
