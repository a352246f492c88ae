"""The steward's own telemetry, collected when it is asked for."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from types import MappingProxyType

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from ..checks import all_checks
from ..config.reloading import ReloadStatus
from ..engine.engine import Engine
from ..facts.times import Skew
from ..findings.severity import Severity
from ..kube.watch.reflector import Reflector
from ..store.source import UNREADABLE, Source, SyncState
from ..version import installed
from .exposition import Exposition
from .text import Histogram, Profile

# In which of its states each check is: what dashboards and alerts tell "nothing found" from "nothing known" by.


class CheckState(StrEnum):
    ANSWERING = "answering"
    UNKNOWN = "unknown"  # for the whole cluster, or never evaluated yet
    NOT_APPLICABLE = "not_applicable"  # the cluster does not serve what the check is about
    DISABLED = "disabled"  # by the configuration


def check_states(engine: Engine, disabled: Iterable[str]) -> dict[str, CheckState]:
    """The state of each check, by its id; `disabled` are those that the engine does not have."""
    not_applicable = engine.not_applicable()
    unknown = engine.unknown_everywhere()
    found = dict.fromkeys(disabled, CheckState.DISABLED)
    for check in engine.checks:
        if check.id in not_applicable:
            found[check.id] = CheckState.NOT_APPLICABLE
        elif check.id in unknown or not engine.evaluated[check.id].once:
            found[check.id] = CheckState.UNKNOWN
        else:
            found[check.id] = CheckState.ANSWERING
    return found


# How long an event takes to reach the findings, as a histogram.
#
# The engine reports each change as it arrives and, after each step, up to when the findings reflect what arrived.
# Changes of one millisecond are kept as one entry, so that a flood of events costs little.

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds
_TOGETHER = 0.001  # seconds


class EventDelay:
    def __init__(self) -> None:
        self.histogram = Histogram(BUCKETS)
        self._waiting: deque[tuple[float, int]] = deque()  # when they arrived, how many

    def arrived(self, now: float) -> None:
        """Takes in one event; times are seconds that only grow."""
        if self._waiting and now - self._waiting[-1][0] < _TOGETHER:
            since, count = self._waiting.pop()
            self._waiting.append((since, count + 1))
        else:
            self._waiting.append((now, 1))

    def reflected(self, until: float, now: float) -> None:
        """Takes in that the findings reflect what arrived before `until`."""
        while self._waiting and self._waiting[0][0] < until:
            since, count = self._waiting.popleft()
            self.histogram.observe(now - since, count)


@dataclass(frozen=True)
class Described:
    """A family of our own: what docs/metrics.md says of it. `least` is the first profile that serves it; with `sparse`
    the least profile has none of its samples at 0.
    """

    type: str  # gauge, counter or histogram
    labels: tuple[str, ...]
    help: str
    least: Profile = Profile.DEFAULT
    sparse: bool = False

    def shown(self, profile: Profile, value: float) -> bool:
        """Whether a profile has a sample of this value."""
        return profile.serves(self.least) and bool(value or not self.sparse or profile is not Profile.MINIMAL)


PREFIX = "kubevirt_steward_"
_NAMESPACES = 1000  # series of namespace_unknown
_MINIMAL = Profile.MINIMAL
METRICS: dict[str, Described] = {
    "build_info": Described("gauge", ("version",), "The running version; always 1.", _MINIMAL),
    "ready": Described("gauge", (), "1 once every required kind was listed and evaluated.", _MINIMAL),
    "findings": Described(
        "gauge", ("check", "reason", "severity"), "Open findings; for every reason, also at 0.", _MINIMAL, sparse=True
    ),
    "findings_opened": Described(
        "counter", ("check", "reason"), "Findings that opened, including findings of the first run."
    ),
    "findings_closed": Described("counter", ("check", "reason"), "Findings that closed."),
    "finding_open_seconds": Described(
        "histogram",
        ("check", "reason"),
        "How long closed findings were true: since the time that an object records, otherwise since the steward first "
        "saw them. No series for reasons without a closed finding.",
    ),
    "check_state": Described(
        "gauge", ("check", "state"), "State of each check: 1 for the state in effect.", _MINIMAL, sparse=True
    ),
    "check_up": Described(
        "gauge", ("check",), "1 if the check is evaluated, 0 if it is unknown for the whole cluster.", _MINIMAL
    ),
    "check_unknown_partitions": Described(
        "gauge", ("check",), "Namespaces and single partitions, such as a VM, for which the check is unknown.", _MINIMAL
    ),
    "namespace_unknown": Described(
        "gauge",
        ("namespace", "check"),
        f"1 for a namespace with objects for which the check is unknown; at most {_NAMESPACES} series. No series for a "
        "check that is unknown for the whole cluster: see `check_up`.",
        _MINIMAL,
    ),
    "check_kind_unseen": Described(
        "gauge",
        ("check", "kind"),
        "1 for a kind that the check reads and whose objects can't all be read or decoded. No series for a kind that "
        "is completely read.",
        _MINIMAL,
    ),
    "check_errors": Described("counter", ("check",), "Times that the check crashed.", _MINIMAL),
    "check_duration_seconds": Described("counter", ("check",), "Time spent in the check."),
    "check_partitions": Described("counter", ("check",), "Partitions that the check evaluated."),
    "migration_failures": Described(
        "counter",
        ("failure",),
        "Migrations that failed since the start, by the class of the failure; for every class, also at 0. Earlier "
        "failures do not count.",
    ),
    "config_info": Described(
        "gauge",
        ("hash",),
        "The configuration file in effect: the first 12 hex digits of its sha256; always 1.",
        _MINIMAL,
    ),
    "config_reload_success": Described("gauge", (), "1 if the configuration was valid when last read.", _MINIMAL),
    "acknowledged_until_timestamp_seconds": Described(
        "gauge",
        ("cause", "severity"),
        "Time until which a cause is acknowledged, for each acknowledged severity. Its findings don't alert until "
        "then.",
        _MINIMAL,
    ),
    "config_reload_timestamp_seconds": Described("gauge", (), "Time at which the configuration was last read."),
    "certificate_expiry_timestamp_seconds": Described(
        "gauge", (), "Time at which the serving certificate expires. No series without TLS.", _MINIMAL
    ),
    "generation": Described("gauge", (), "Increases with every change of the findings."),
    "kind_synced": Described("gauge", ("kind",), "1 while the data of the kind is complete and current.", _MINIMAL),
    "kind_sync_state": Described(
        "gauge", ("kind", "state"), "Sync state of the kind: 1 for the state in effect.", _MINIMAL, sparse=True
    ),
    "kind_current_timestamp_seconds": Described(
        "gauge",
        ("kind",),
        "Time up to which the data of the kind is known to be current. Doesn't advance while the watch is lost. No "
        "series before the first list.",
    ),
    "kind_objects": Described("gauge", ("kind",), "Objects of the kind in memory.", _MINIMAL, sparse=True),
    "kind_undecodable_objects": Described("gauge", ("kind",), "Objects of the kind that could not be decoded."),
    "kind_events": Described("counter", ("kind",), "Watch events of the kind."),
    "kind_relists": Described("counter", ("kind",), "Relists of the kind."),
    "kind_errors": Described(
        "counter", ("kind", "error"), "Failed requests and broken watches of the kind.", _MINIMAL, sparse=True
    ),
    "kind_last_event_timestamp_seconds": Described(
        "gauge", ("kind",), "Time of the last event of the kind.", Profile.FULL
    ),
    "kind_last_bookmark_timestamp_seconds": Described(
        "gauge", ("kind",), "Time of the last bookmark; 0 for never.", Profile.FULL
    ),
    "kind_last_connect_timestamp_seconds": Described(
        "gauge", ("kind",), "Time at which the kind's watch was last connected.", Profile.FULL
    ),
    "api_requests": Described(
        "counter",
        ("verb", "kind", "code"),
        "Requests to the API server for a kind, by the status of the response; error without a response. The verb get "
        "is API discovery.",
    ),
    "api_clock_skew_seconds": Described(
        "gauge",
        (),
        "How far the steward's clock is ahead of the API server's, negative if behind; of several, of the one farthest "
        "away. No series if no response had a date within 5 minutes. Ages depend on both clocks.",
        _MINIMAL,
    ),
    "access_reviews": Described(
        "counter",
        ("review", "result"),
        "Reviews by the API server for clients of the steward: of a token (review token), and of permissions (review "
        "access). The result is allowed, denied, or error without a response. Cached decisions are not reviewed again.",
        _MINIMAL,
        sparse=True,
    ),
    "http_requests": Described(
        "counter",
        ("path", "code"),
        "Requests to the steward, by the status of the response; error if the client disconnected before it. The path "
        "is other for unknown paths.",
    ),
    "event_delay_seconds": Described(
        "histogram", (), "Time from the arrival of an event to the findings of its checks.", _MINIMAL
    ),
    "series": Described(
        "gauge", ("family",), "Series of the family, including its `…_since_timestamp_seconds`.", _MINIMAL, sparse=True
    ),
    "series_limit": Described("gauge", ("family",), "Limit of series of the family."),
    "series_dropped": Described(
        "gauge", ("family",), "Series omitted because of the series limit.", _MINIMAL, sparse=True
    ),
    "scrape_duration_seconds": Described("gauge", (), "Duration of the previous scrape.", _MINIMAL),
    "scrape_size_bytes": Described("gauge", (), "Size of the previous scrape, before compression.", _MINIMAL),
}


@dataclass(slots=True)
class Served:
    """What the HTTP server says of itself: its last scrape, its requests by path, as the route has it, and code, and
    when its certificate expires, in seconds since 1970, None without TLS.
    """

    seconds: float = 0.0
    size: int = 0
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    expires: Callable[[], float | None] = lambda: None


class Telemetry(Collector):
    def __init__(
        self,
        engine: Engine,
        exposition: Exposition,
        reflectors: Iterable[Reflector],
        served: Served,
        config: ReloadStatus,
        requests: Mapping[tuple[str, str, str], int] = MappingProxyType({}),
        reviews: Mapping[tuple[str, str], int] = MappingProxyType({}),
        skew: Callable[[], Skew | None] = lambda: None,
        failures: Callable[[], Mapping[str, int]] = dict,
        profile: Profile = Profile.FULL,
    ) -> None:
        """From now on the engine's events are timed. `requests` are those to the API server, by verb, kind and code,
        `reviews` those of them that say who may see what, by review and result. `skew` is that of our clock, `failures`
        are those of migrations by class.
        """
        self._reviews, self._skew, self._failures = reviews, skew, failures
        self.profile = profile
        self._engine, self._exposition, self._config = engine, exposition, config
        self._reflectors, self._served, self._requests = tuple(reflectors), served, requests
        self._disabled = {check.id for check in all_checks()} - {check.id for check in engine.checks}
        self._delay = engine.delays = EventDelay()

    def collect(self) -> Iterator[Metric]:
        values = {**self._own(), **self._checks(), **self._kinds()}
        histograms = self._histograms()
        for name, described in METRICS.items():
            if not self.profile.serves(described.least):
                continue
            if described.type == "histogram":
                yield _histogram(PREFIX + name, described, histograms[name])
                continue
            make = CounterMetricFamily if described.type == "counter" else GaugeMetricFamily
            family = make(PREFIX + name, described.help, labels=described.labels)
            for labels, value in values[name]:
                if described.shown(self.profile, value):
                    family.add_metric(labels, value)
            yield family

    def _histograms(self) -> dict[str, Mapping[tuple[str, ...], Histogram]]:
        return {
            "event_delay_seconds": {(): self._delay.histogram},
            "finding_open_seconds": dict(self._exposition.open_seconds.items()),
        }

    def _own(self) -> dict[str, list[tuple[tuple[str, ...], float]]]:
        expires, skew = self._served.expires(), self._skew()
        return {
            "build_info": [((installed(),), 1)],
            "ready": [((), float(self._engine.ready))],
            "findings": list(self._exposition.counts.items()),
            "findings_opened": list(self._exposition.opened.items()),
            "findings_closed": list(self._exposition.closed.items()),
            "migration_failures": [((failure,), count) for failure, count in self._failures().items()],
            "config_info": [((self._config.digest,), 1)],
            "config_reload_success": [((), float(self._config.mistakes is None))],
            "acknowledged_until_timestamp_seconds": [
                ((each.cause, severity.value), each.until)
                for each in self._engine.acknowledged.holding(self._engine.clock())
                for severity in Severity
                if each.covers(severity)
            ],
            "config_reload_timestamp_seconds": [((), self._config.tried)],
            "certificate_expiry_timestamp_seconds": [] if expires is None else [((), expires)],
            "generation": [((), self._engine.generation)],
            "series": [((family,), count) for family, count in self._exposition.series.items()],
            "series_limit": [((family,), self._exposition.series_limit.family) for family in self._exposition.series],
            "series_dropped": [((family,), count) for family, count in self._exposition.left_out.items()],
            "api_requests": list(self._requests.items()),
            "api_clock_skew_seconds": [] if skew is None else [((), skew.ahead)],
            "access_reviews": list(self._reviews.items()),
            "http_requests": list(self._served.requests.items()),
            "scrape_duration_seconds": [((), self._served.seconds)],
            "scrape_size_bytes": [((), self._served.size)],
        }

    def _checks(self) -> dict[str, list[tuple[tuple[str, ...], float]]]:
        engine = self._engine
        states = check_states(engine, self._disabled)
        evaluated = engine.evaluated.items()
        unseen = {
            each.name
            for each in engine.cluster.all(Source)
            if not each.current or engine.cluster.shared_by(UNREADABLE, each.name)
        }
        return {
            "check_state": [
                ((name, each.value), each is state) for name, state in states.items() for each in CheckState
            ],
            "check_up": [((check.id,), states[check.id] is CheckState.ANSWERING) for check in engine.checks],
            "check_unknown_partitions": [((name,), count) for name, count in engine.unknown_places().items()],
            "namespace_unknown": [(each, 1) for each in islice(engine.unknown_namespaces(), _NAMESPACES)],
            "check_kind_unseen": [
                ((check.id, kind.name), 1) for check in engine.checks for kind in check.reads if kind.name in unseen
            ],
            "check_errors": [((name,), each.errors) for name, each in evaluated],
            "check_duration_seconds": [((name,), each.seconds) for name, each in evaluated],
            "check_partitions": [((name,), each.partitions) for name, each in evaluated],
        }

    def _kinds(self) -> dict[str, list[tuple[tuple[str, ...], float]]]:
        cluster = self._engine.cluster
        sources = list(cluster.all(Source))
        reported = [(each.kind, each.stats) for each in self._reflectors]
        return {
            "kind_synced": [((each.name,), each.current) for each in sources],
            "kind_sync_state": [
                ((each.name, sync_state.value), each.sync_state is sync_state)
                for each in sources
                for sync_state in SyncState
            ],
            "kind_objects": [((kind.name,), cluster.count(kind.record)) for kind, _ in reported],
            "kind_undecodable_objects": [((each.name,), cluster.shared_by(UNREADABLE, each.name)) for each in sources],
            "kind_events": [((kind.name,), stats.events) for kind, stats in reported],
            "kind_relists": [((kind.name,), stats.relists) for kind, stats in reported],
            "kind_errors": [((k.name, error), n) for k, stats in reported for error, n in stats.errors.items()],
            "kind_current_timestamp_seconds": [((k.name,), stats.current) for k, stats in reported if stats.current],
            "kind_last_event_timestamp_seconds": [((kind.name,), stats.last_event) for kind, stats in reported],
            "kind_last_bookmark_timestamp_seconds": [((kind.name,), stats.last_bookmark) for kind, stats in reported],
            "kind_last_connect_timestamp_seconds": [((kind.name,), stats.last_connect) for kind, stats in reported],
        }


def _histogram(name: str, described: Described, histograms: Mapping[tuple[str, ...], Histogram]) -> Metric:
    family = HistogramMetricFamily(name, described.help, labels=described.labels)
    for labels, each in histograms.items():
        family.add_metric(labels, each.buckets(), each.total)
    return family


def registry_of(telemetry: Telemetry) -> CollectorRegistry:
    """A registry of the steward's own, with the process's and the interpreter's figures."""
    registry = CollectorRegistry()
    registry.register(telemetry)
    ProcessCollector(registry=registry)
    if telemetry.profile is not Profile.MINIMAL:
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
    return registry
