"""The steward's own telemetry: states of checks, the delay of events, how current each kind is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from prometheus_client import Metric, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics_of
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from exporter.checks import all_checks
from exporter.config.reloading import ReloadStatus
from exporter.facts.times import Skew
from exporter.findings.check import PER_NAMESPACE, PER_VM, Check, Family, Reason, Scope, View
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.metrics.exposition import Exposition
from exporter.metrics.telemetry import (
    BUCKETS,
    METRICS,
    PREFIX,
    CheckState,
    EventDelay,
    Served,
    Telemetry,
    check_states,
    registry_of,
)
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.source import SyncState
from tests.evaluation import Evaluation
from tests.rows import full

CLAIM = {"kind": "IPAMClaim", "name": "a.blue", "vm": "a", "owner": "u-a"}


class Watched(Evaluation):
    """An engine with the telemetry that a steward has, of some of its checks."""

    def __init__(self, *without: str, checks: Iterable[Check] = ()) -> None:
        super().__init__(tuple(checks) or [check for check in all_checks() if check.id not in without])
        self.exposition = Exposition(self.engine.checks, clock=lambda: self.now)
        self.engine.listen(self.exposition.update)
        self.registry = registry_of(Telemetry(self.engine, self.exposition, (), Served(), ReloadStatus()))

    def families(self) -> list[Metric]:
        page: bytes = openmetrics_of(self.registry)  # type: ignore[no-untyped-call]
        return list(text_string_to_metric_families(page.decode()))  # type: ignore[no-untyped-call]

    def samples(self, name: str) -> dict[tuple[str, ...], float]:
        samples = [sample for family in self.families() for sample in family.samples if sample.name == PREFIX + name]
        return {tuple(sample.labels.values()): sample.value for sample in samples}

    def states(self) -> dict[str, str]:
        """The one state that holds, of each check."""
        held = [key for key, value in self.samples("check_state").items() if value == 1]
        assert len(held) == len({check for check, _ in held})
        return dict(held)  # type: ignore[arg-type]


def test_every_check_there_is_has_one_state() -> None:
    watched = Watched("evictions", "node_identity")
    assert set(watched.states()) == {check.id for check in all_checks()}
    assert set(watched.samples("check_state")) == {(c.id, s.value) for c in all_checks() for s in CheckState}


def test_a_check_is_unknown_until_evaluated_and_while_a_kind_that_it_reads_can_not_be_seen() -> None:
    watched = Watched("evictions")
    assert watched.states()["ipam_claims"] == "unknown"
    assert watched.states()["evictions"] == "disabled"
    watched.evaluate()
    assert watched.states()["ipam_claims"] == "answering"
    watched.sync_state("IPAMClaim", SyncState.FORBIDDEN)
    watched.evaluate()
    assert watched.states()["ipam_claims"] == "unknown"
    assert watched.states()["firmware_serials"] == "answering"
    assert watched.samples("check_up")["ipam_claims",] == 0
    assert ("evictions",) not in watched.samples("check_up")


def test_a_check_that_does_not_apply_is_said_to_be_so_whatever_else_holds() -> None:
    watched = Watched()
    watched.evaluate()
    watched.sync_state("IPAMClaim", SyncState.ABSENT)
    assert check_states(watched.engine, ())["ipam_claims"] is CheckState.NOT_APPLICABLE


def test_findings_are_counted_as_they_open_and_close() -> None:
    watched = Watched()
    watched.seen(full(CLAIM))
    watched.evaluate()
    key = ("ipam_claims", "OrphanClaim")
    assert watched.samples("findings_opened_total")[key] == 1
    watched.gone("IPAMClaim", "ns", "a.blue")
    watched.evaluate()
    assert (watched.samples("findings_opened_total")[key], watched.samples("findings_closed_total")[key]) == (1, 1)


@pytest.mark.parametrize(
    ("age", "first"), [(-30.0, "60.0"), (60.0, "60.0"), (61.0, "300.0"), (86_400.0, "86400.0"), (40 * 86_400.0, "+Inf")]
)
def test_how_long_a_finding_was_open_is_counted_when_it_closes(age: float, first: str) -> None:
    watched = Watched()
    key = ("ipam_claims", "OrphanClaim")
    watched.seen(full(CLAIM))
    watched.evaluate()
    assert not watched.samples("finding_open_seconds_count")

    (since,) = [each.since for each in watched.engine.findings() if each.reason == "OrphanClaim"]
    assert since
    watched.now = since + age
    watched.gone("IPAMClaim", "ns", "a.blue")
    watched.evaluate()
    assert watched.samples("finding_open_seconds_count") == {key: 1}
    assert watched.samples("finding_open_seconds_sum") == {key: max(age, 0.0)}
    (family,) = [each for each in watched.families() if each.name == PREFIX + "finding_open_seconds"]
    counts = {sample.labels["le"]: sample.value for sample in family.samples if "le" in sample.labels}
    assert (len(counts), next(bound for bound, count in counts.items() if count)) == (11, first)


def test_series_stand_beside_their_limit() -> None:
    watched = Watched()
    watched.seen(full(CLAIM))
    watched.evaluate()
    assert watched.samples("series")["kubevirt_ipamclaim_orphaned",] == 2
    assert (
        set(watched.samples("series")) == set(watched.samples("series_limit")) == set(watched.samples("series_dropped"))
    )
    assert set(watched.samples("series_limit").values()) == {50_000}


def test_every_family_that_is_described_can_be_scraped_in_both_formats() -> None:
    watched = Watched()
    watched.evaluate()
    families = {family.name: family for family in watched.families()}
    for name, described in METRICS.items():
        family = families[PREFIX + name]
        assert family.type == described.type
        assert {tuple(sample.labels) for sample in family.samples if described.type != "histogram"} <= {
            described.labels
        }
    assert b"kubevirt_steward_event_delay_seconds_bucket" in generate_latest(watched.registry)


# -- namespaces without an answer


UUID = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
BAD = {"kind": "VirtualMachine", "name": "bad", "undecodable": True}


def unknown(watched: Watched, check: str) -> set[str]:
    watched.evaluate()
    (family,) = [each for each in watched.families() if each.name == PREFIX + "namespace_unknown"]
    assert {sample.value for sample in family.samples} <= {1}
    return {each.labels["namespace"] for each in family.samples if each.labels["check"] == check}


def vm(name: str, namespace: str, uuid: str) -> dict[str, Any]:
    return full({"kind": "VirtualMachine", "name": name, "namespace": namespace, "uid": name, "uuid": uuid})


def test_a_namespace_is_unknown_while_an_object_in_it_can_not_be_decoded() -> None:
    watched = Watched()
    assert unknown(watched, "firmware_vms") == set()
    watched.seen(full(BAD | {"namespace": "a"}))
    watched.seen(vm("good", "b", UUID))
    assert unknown(watched, "firmware_vms") == {"a"}
    watched.gone("VirtualMachine", "a", "bad")
    assert unknown(watched, "firmware_vms") == set()


def test_a_namespace_is_unknown_where_what_it_shares_with_another_one_is() -> None:
    watched = Watched()
    watched.seen(full(BAD | {"namespace": "a"}))
    for name, namespace, uuid in (("x", "a", UUID), ("y", "b", UUID), ("z", "c", UUID.replace("1", "2"))):
        watched.seen(vm(name, namespace, uuid))
    assert unknown(watched, "firmware_duplicates") == {"a", "b"}
    assert unknown(watched, "firmware_vms") == {"a"}


def test_where_a_check_is_unknown_for_the_whole_cluster_no_namespace_is_named() -> None:
    watched = Watched()
    watched.seen(full(BAD | {"namespace": "a"}))
    watched.sync_state("VirtualMachine", SyncState.FORBIDDEN)
    assert unknown(watched, "firmware_vms") == set()
    assert watched.samples("check_up")["firmware_vms",] == 0


def raising(check_id: str, scope: Scope) -> Check:
    """Raises for objects named bad."""

    def find(view: View) -> Iterator[Finding]:
        assert not [each for each in view.all(VirtualMachine) if each.name == "bad"]
        yield from ()

    reasons = {"None": Reason((Severity.INFO,), "There are none.", Family("kubevirt_test_none", "None."))}
    return Check(check_id, "None", (VirtualMachine.KIND,), scope, reasons, find)


def test_a_namespace_is_unknown_where_a_check_raises() -> None:
    watched = Watched(checks=[raising("by_namespace", PER_NAMESPACE), raising("by_vm", PER_VM)])
    watched.seen(vm("bad", "a", UUID))
    watched.seen(vm("good", "b", UUID))
    assert unknown(watched, "by_namespace") == unknown(watched, "by_vm") == {"a"}
    assert watched.samples("check_errors_total") == {("by_namespace",): 1, ("by_vm",): 1}


def test_the_namespaces_that_are_named_have_a_limit_of_which_every_check_has_its_part() -> None:
    watched = Watched(checks=[raising("by_namespace", PER_NAMESPACE), raising("by_vm", PER_VM)])
    for n in range(1500):
        watched.seen(full(BAD | {"namespace": f"n{n}"}))
    assert len(unknown(watched, "by_namespace")) == len(unknown(watched, "by_vm")) == 500
    assert watched.samples("check_unknown_partitions") == {("by_namespace",): 1500, ("by_vm",): 1500}


# -- the delay of events


def counted(delay: EventDelay) -> dict[float, float]:
    """How many events are in each bucket that has any, by its upper bound."""
    cumulative = [(float(bound), count) for bound, count in delay.histogram.buckets()]
    before = (0.0, *(count for _, count in cumulative))
    return {bound: count - less for (bound, count), less in zip(cumulative, before, strict=False) if count > less}


def test_an_event_is_timed_when_the_findings_reflect_it() -> None:
    delay = EventDelay()
    delay.arrived(10.0)
    delay.arrived(11.0)
    delay.reflected(10.0, 10.5)
    assert counted(delay) == {}
    delay.reflected(11.0, 12.0)
    assert counted(delay) == {2.5: 1}
    delay.reflected(100.0, 100.0)
    assert counted(delay) == {2.5: 1, float("inf"): 1}
    assert delay.histogram.total == 2 + 89


def test_events_of_one_millisecond_are_timed_together_and_all_counted() -> None:
    delay = EventDelay()
    for n in range(5000):
        delay.arrived(n / 5_000_000)  # all within a millisecond
    delay.reflected(1.0, 0.004)
    assert counted(delay) == {0.005: 5000}


@pytest.mark.parametrize("seconds", BUCKETS)
def test_a_bound_belongs_to_its_bucket(seconds: float) -> None:
    delay = EventDelay()
    delay.arrived(0.0)
    delay.reflected(1.0, seconds)
    assert counted(delay) == {seconds: 1}


def test_the_engine_times_what_comes_after_its_first_look() -> None:
    watched = Watched()
    watched.seen(full(CLAIM))
    watched.evaluate()
    assert watched.engine.ready
    assert watched.samples("event_delay_seconds_count") == {(): 0}  # what is listed at the start is no event

    watched.seen(full(CLAIM | {"name": "b.blue", "vm": "b"}))
    assert watched.samples("event_delay_seconds_count") == {(): 0}
    watched.evaluate()
    assert watched.samples("event_delay_seconds_count") == {(): 1}

    with watched.engine.held():
        watched.seen(full(CLAIM | {"name": "c.blue", "vm": "c"}))
        watched.engine.step()
        assert watched.samples("event_delay_seconds_count") == {(): 1}
    watched.evaluate()
    assert watched.samples("event_delay_seconds_count") == {(): 2}


def test_an_event_that_a_blind_check_waits_for_is_timed_by_the_others() -> None:
    watched = Watched()
    watched.evaluate()
    assert watched.engine.ready
    watched.sync_state("Pod", SyncState.STALE)
    watched.evaluate()
    before = watched.samples("event_delay_seconds_count")[()]
    watched.seen(full(CLAIM))
    watched.evaluate()
    assert watched.samples("event_delay_seconds_count")[()] == before + 1


@pytest.mark.parametrize(("skew", "samples"), [(None, {}), (Skew(-900.0, 0.0, "here"), {(): -900.0})])
def test_how_far_the_clocks_are_apart_is_there_where_it_is_known(
    skew: Skew | None, samples: dict[tuple[str, ...], float]
) -> None:
    watched = Watched()
    watched.registry = registry_of(
        Telemetry(watched.engine, watched.exposition, (), Served(), ReloadStatus(), skew=lambda: skew)
    )
    assert watched.samples("api_clock_skew_seconds") == samples
