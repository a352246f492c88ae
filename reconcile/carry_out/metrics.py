"""The sidecar's own metrics. All labels are from closed sets, so their number does not grow with the fleet.

`ShownRepairs` is what is known of each repair now, for all that show it: the API, the page, the metrics.
"""

from __future__ import annotations

import asyncio
from collections import Counter as Count
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import get_args

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from exporter.config.reloading import ReloadStatus
from exporter.facts.times import Skew

from ..config.settings import SidecarConfig, may_write, mode_of
from ..decide.canary import CanaryState, ShownCanary
from ..decide.repair import Repair
from ..plan.annotations import APPROVALS
from ..plan.remediation import Remediation


class ShownRepairs:
    """The repairs by finding and remediation. `changed` is notified when one differs."""

    def __init__(self) -> None:
        self._repairs: dict[tuple[str, str], Repair] = {}
        self.generation = 0
        self.changed = asyncio.Condition()

    def all(self) -> list[Repair]:
        return list(self._repairs.values())

    def get(self, fingerprint: str, remediation: str) -> Repair | None:
        return self._repairs.get((fingerprint, remediation))

    async def put(self, repair: Repair) -> None:
        key = repair.fingerprint, repair.remediation
        before = self._repairs.get(key)
        self._repairs[key] = repair
        if before is None or msgspec.structs.replace(before, at=repair.at) != repair:
            await self._notify()

    async def keep(self, keys: Iterable[tuple[str, str]]) -> None:
        """Forgets all others."""
        wanted = set(keys)
        gone = [key for key in self._repairs if key not in wanted]
        for key in gone:
            del self._repairs[key]
        if gone:
            await self._notify()

    async def _notify(self) -> None:
        self.generation += 1
        async with self.changed:
            self.changed.notify_all()


PREFIX = "kubevirt_steward_repair"
_MODES = ("off", "plan", "shadow", "approve", "auto")
_WRITING = ("approve", "auto")
_OUTCOMES = ("done", "failed", "unclear")
_CANARY: tuple[CanaryState, ...] = get_args(CanaryState)
_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class RepairTotals:
    """What holds for all repairs now; the loop writes it."""

    leading = False
    leader = ""  # who holds the Lease, where that is known
    ledger_writable = False
    unfinished = 0  # attempts without an end in the ledger
    storm = "normal"  # of all namespaces
    storms: Mapping[str, int] = MappingProxyType({})  # namespaces with one of their own, by state
    paused = 0  # scopes: global, namespaces, objects
    edit_wars = 0
    canaries: Sequence[ShownCanary] = ()
    in_use = 0  # writes of the last day after which something was found to use what they released
    unseen = 0  # and those after which that could not be seen
    skew: Skew | None = None  # between our clock and the API server's
    last_run: float = 0.0  # seconds since 1970
    source_up = False
    policies: Mapping[str, bool] = MappingProxyType({})  # by name, whether each is there, where that is known
    undone: Mapping[str, int] = MappingProxyType({})  # repairs that people took back, by remediation

    def __init__(self) -> None:
        self.config = ReloadStatus()

    @property
    def authorizing(self) -> bool:
        """Whether the API server lets nobody approve but who may, under their own name."""
        return self.policies.get(APPROVALS, False)

    def follow(self) -> None:
        """Forgets what only the replica knows that leads: another one reports it from now on."""
        self.storm, self.storms, self.paused, self.edit_wars = "normal", MappingProxyType({}), 0, 0
        self.canaries = ()


class Measures(Collector):
    """Counters of what was done, and gauges of what is known."""

    def __init__(
        self,
        remediations: Iterable[Remediation],
        modes: dict[str, str],
        board: ShownRepairs,
        enabled: Collection[str] = (),
        expires: Callable[[], float | None] = lambda: None,
    ) -> None:
        """`enabled` are the remediations that may write somewhere, be it in one namespace. `expires` says when the
        certificate does that is served, in seconds since 1970, and None without TLS.
        """
        self.registry = CollectorRegistry()
        self.standing = RepairTotals()
        self._remediations = tuple(remediations)
        self._ids = [each.id for each in self._remediations]
        self._modes, self._board, self._enabled = modes, board, enabled
        self._expires = expires
        self._done = Counter(
            f"{PREFIX}s", "Attempts by outcome.", ("remediation", "mode", "outcome"), registry=self.registry
        )
        self._returned = Counter(
            f"{PREFIX}s_returned",
            "Repairs that another client reverted: the finding came back.",
            ("remediation",),
            registry=self.registry,
        )
        self._shadowed = Counter(
            f"{PREFIX}s_shadowed",
            "Writes that mode shadow skipped: mode auto would have made them.",
            ("remediation",),
            registry=self.registry,
        )
        self._seconds = Histogram(
            f"{PREFIX}_duration_seconds",
            "From the first read for an attempt to its end in the ledger.",
            ("remediation",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        for remediation in self._ids:
            for mode in _WRITING:  # from 0 on, so that the first one counts as an increase
                for outcome in _OUTCOMES:
                    self._done.labels(remediation, mode, outcome)
            self._returned.labels(remediation)
            self._shadowed.labels(remediation)
        self.registry.register(self)

    def configured(self, config: SidecarConfig) -> None:
        """Another configuration is in effect."""
        self._modes.update({each.id: mode_of(config, each.id, "").value for each in self._remediations})
        self._enabled = {each.id for each in self._remediations if may_write(config, [each])}

    def described(self) -> Iterator[tuple[Metric, tuple[str, ...]]]:
        """Each family, and its labels."""
        for counter in (self._done, self._returned, self._shadowed, self._seconds):
            yield from ((family, tuple(counter._labelnames)) for family in counter.describe())
        yield from ((family, tuple(getattr(family, "_labelnames", ()))) for family in self.collect())

    def ended(self, remediation: str, mode: str, outcome: str, seconds: float) -> None:
        self._done.labels(remediation, mode, outcome).inc()
        self._seconds.labels(remediation).observe(seconds)

    def shadowed(self, remediation: str) -> None:
        self._shadowed.labels(remediation).inc()

    def returned(self, remediation: str) -> None:
        self._returned.labels(remediation).inc()

    def collect(self) -> Iterator[Metric]:
        repairs = self._board.all()
        yield _family(
            "mode",
            "The mode of each remediation: 1 for the mode in effect.",
            ("remediation", "mode"),
            (((each, mode), float(self._modes.get(each) == mode)) for each in self._ids for mode in _MODES),
        )
        yield _family(
            "enabled",
            "1 if the remediation can write: its mode is approve or auto, for all namespaces or for some.",
            ("remediation",),
            (((each,), float(each in self._enabled)) for each in self._ids),
        )
        undone = CounterMetricFamily(f"{PREFIX}s_undone", "Repairs that were undone.", labels=("remediation",))
        for each in self._ids:
            undone.add_metric((each,), float(self.standing.undone.get(each, 0)))
        yield undone
        states = Count((each.remediation, each.state) for each in repairs)
        yield _family(
            "findings",
            "Findings that a remediation answers, by the state of their repair.",
            ("remediation", "state"),
            states.items(),
        )
        refused = Count((each.remediation, each.refused.precondition) for each in repairs if each.refused)
        yield _family(
            "refused",
            "Repairs without a plan, by the precondition that isn't met.",
            ("remediation", "precondition"),
            refused.items(),
        )
        blocked = Count((each.remediation, gate.gate) for each in repairs for gate in each.blocked)
        yield _family("blocked", "Repairs that a safety check blocks.", ("remediation", "gate"), blocked.items())
        now = self.standing
        yield _family(
            "storm",
            "State of a storm, in which new findings in many namespaces stop all repairs: 1 for the state in effect.",
            ("state",),
            (((each,), float(now.storm == each)) for each in ("normal", "storm", "cooldown")),
        )
        yield _family(
            "storm_namespaces",
            "Namespaces in which new findings stop repairs there, by the state of the storm.",
            ("state",),
            (((each,), float(now.storms.get(each, 0))) for each in ("storm", "cooldown")),
        )
        yield _family(
            "canary",
            "State of the first repairs of a remediation in mode auto: 1 for the state in effect.",
            ("remediation", "state"),
            (((each.remediation, state), float(each.state == state)) for each in now.canaries for state in _CANARY),
        )
        for name, text, value in (
            (
                "leading",
                "1 while this replica holds the Lease, or needs none because no remediation can write.",
                float(now.leading),
            ),
            (
                "ledger_writable",
                "1 while the ledger can be written; nothing is repaired while it can't.",
                float(now.ledger_writable),
            ),
            ("unfinished", "Attempts without an end in the ledger: their outcome is unknown.", now.unfinished),
            ("source_up", "1 while the findings can be read.", float(now.source_up)),
            ("paused", "Pauses in effect: of everything, of namespaces, of objects.", float(now.paused)),
            ("edit_wars", "Objects paused because another client reverts each repair.", float(now.edit_wars)),
            (
                "in_use",
                "Repairs of the last day that released an address which was then found in use.",
                float(now.in_use),
            ),
            (
                "unseen",
                "Repairs of the last day that released an address whose use couldn't be checked.",
                float(now.unseen),
            ),
            ("last_run_timestamp_seconds", "Time of the last run over the findings.", now.last_run),
        ):
            yield _family(name, text, (), (((), value),))
        yield _family(
            "config_reload_success",
            "1 if the configuration was valid when last read. Otherwise, the previous one stays in effect.",
            (),
            (((), float(now.config.mistakes is None)),),
        )
        yield _family(
            "config_reload_timestamp_seconds",
            "Time of the last read of the configuration.",
            (),
            (((), now.config.tried),),
        )
        yield _family(
            "policy_present",
            "1 if the API server enforces the policy. steward-reconcile rejects writes that no plan makes, "
            "steward-approvals rejects approvals without permission. No series while that is unknown, or while no "
            "remediation can write.",
            ("policy",),
            (((name,), float(there)) for name, there in sorted(now.policies.items())),
        )
        yield _family(
            "clock_skew_seconds",
            "How far the sidecar's clock is ahead of the API server's, negative if behind; of several, of the one "
            "farthest away. No series while unknown.",
            (),
            () if now.skew is None else (((), now.skew.ahead),),
        )
        yield _family(
            "clock_spread_seconds",
            "How far the clocks of the API servers are apart. No series while unknown.",
            (),
            () if now.skew is None else (((), now.skew.spread),),
        )
        expires = self._expires()
        yield _family(
            "certificate_expiry_timestamp_seconds",
            "Time at which the serving certificate expires. No series without TLS.",
            (),
            () if expires is None else (((), expires),),
        )


def _family(name: str, text: str, labels: tuple[str, ...], samples: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}_{name}", text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family
