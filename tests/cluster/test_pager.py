"""What reaches a pager of floods, of a steward that is gone, and of a Prometheus that was away: all of them real.

An hour takes a minute. A cluster is a page that a steward would serve.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from exporter.rules import Values
from tests.cluster.alertmanager import Alertmanager
from tests.cluster.conftest import Tools
from tests.cluster.notified import FASTER, Inbox, Notification, faster_routes, faster_rules
from tests.cluster.prometheus import Prometheus, Setup
from tests.cluster.steward_pages import CHECKS, Pages, Site, named
from tests.waiting import wait_until

pytestmark = pytest.mark.long

HOUR = 3600 / FASTER
LOOK_BACK = 8.0  # seconds
READ_PODS = frozenset(check.id for check in CHECKS if "Pod" in {kind.name for kind in check.reads})
MAC = named("DuplicateMAC", "alone", namespace="shop")


@dataclass
class Stage:
    """Prometheus and Alertmanager over the pages of some clusters; `second` is the other one of a pair."""

    pages: Pages
    prometheus: Prometheus
    second: Prometheus
    alertmanager: Alertmanager
    inbox: Inbox

    def sent(self, cluster: str, *receivers: str) -> list[Notification]:
        return self.inbox.of(cluster, *(receivers or ("pager", "platform", "tenants")))

    def firing(self, name: str, **labels: str) -> list[dict[str, str]]:
        matchers = ", ".join(f'{key}="{text}"' for key, text in {"alertname": name, **labels}.items())
        return [each["metric"] for each in self.prometheus.query(f'ALERTS{{alertstate="firing", {matchers}}}')]

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
        wait_until(condition, seconds, what)

    def pass_time(self, seconds: float) -> None:
        """By the clock of Prometheus."""
        self.prometheus.wait_for(f"vector(time()) > {time.time() + seconds}", 10 * seconds)


@pytest.fixture
def staged(binary: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Stage]]:
    with ExitStack() as ends:

        def make(
            sites: dict[str, Site], values: Values | None = None, *, pair: bool = False, areas: tuple[str, ...] = ()
        ) -> Stage:
            pages, inbox = Pages(sites), Inbox()
            ends.callback(inbox.close)
            alertmanager = Alertmanager(binary("alertmanager"), config=faster_routes(inbox))
            ends.callback(alertmanager.stop)
            alertmanager.start()
            rules = faster_rules(tmp_path_factory.mktemp("rules"), values or Values())
            setup = Setup(
                rule_files=[each for each in rules if not areas or each.stem in areas],
                scrape_configs=[pages.scrape_config()],
                scrape_interval=2,
                evaluation_interval=1,
                alertmanagers=[alertmanager.address],
                look_back=LOOK_BACK,
                features="concurrent-rule-eval",  # the order of rules is then what they read of one another
            )
            servers = [Prometheus(binary("prometheus"), setup) for _ in range(1 + pair)]
            for each in servers:
                ends.callback(each.stop)
                each.start()
            return Stage(pages, servers[0], servers[-1], alertmanager, inbox)

        yield make


@pytest.mark.tier
def test_a_flood_of_critical_findings_is_one_page_and_leaves_what_was_there(staged: Callable[..., Stage]) -> None:
    sites = {"east": Site(1, (MAC,))}
    stage = staged(sites)
    stage.wait(lambda: len(stage.sent("east", "pager")) == 1, "the one critical finding pages")

    flood = tuple(named("DuplicateIP", f"{n:03}", namespace="bank") for n in range(101))
    warnings = tuple(named("SpecRunMismatch", f"{n:03}", namespace="tenant") for n in range(101))
    sites["east"] = Site(1, (MAC, *flood, *warnings))
    stage.wait(lambda: len(stage.sent("east", "pager")) >= 2, "the flood pages")
    stage.pass_time(HOUR / 2)

    pages = stage.sent("east", "pager")
    alerts = {tuple(sorted(alert.items())) for page in pages for alert in page.alerts}
    assert {alert["alertname"] for page in pages for alert in page.alerts} == {
        "VMMACAddressDuplicate",
        "VMIPAMClaimDuplicateIP",
    }
    assert sum(("alertname", "VMIPAMClaimDuplicateIP") in alert for alert in alerts) == 1
    assert not any(page.resolved for page in pages)
    assert len(stage.firing("VMFirmwareUUIDUnstable", namespace="tenant")) == 1


@pytest.mark.tier
def test_what_is_held_survives_a_prometheus_and_a_steward_that_are_away_together(staged: Callable[..., Stage]) -> None:
    first = [named("SpecRunMismatch", f"a{n}", namespace="tenant") for n in range(3)]
    sites = {"east": Site(1, (MAC, named("SerialDuplicate", "s", namespace="shop"), *first))}
    stage = staged(sites, pair=True, areas=("firmware", "steward"))
    servers = (stage.prometheus, stage.second)

    def grouped() -> list[tuple[frozenset[str], float]]:
        """In each of both: which have an alert of their own, and how many have none."""
        alone, together = (f"kubevirt_vm_firmware_uuid_unstable:{each}" for each in ("alone", "together"))
        own = [frozenset(each["metric"]["name"] for each in s.query(f"finding:{alone}")) for s in servers]
        return [
            (names, sum(float(each["value"][1]) for each in server.query(f"cause:{together}")))
            for server, names in zip(servers, own, strict=True)
        ]

    alone = frozenset(finding.subject.name for finding in first)
    stage.wait(lambda: grouped() == [(alone, 0)] * 2, "three of a cause have an alert each")
    flood = [named("SpecRunMismatch", f"b{n}", namespace="tenant") for n in range(40)]
    sites["east"] = Site(1, (*sites["east"].findings, *flood))
    stage.wait(lambda: grouped() == [(alone, 40)] * 2, "forty others have one")
    names = ("VMMACAddressDuplicate", "VMSerialDuplicate")
    stage.wait(lambda: all(stage.firing(name) for name in names), "both alerts fire")
    repaired = named("SerialDuplicate", "repaired", namespace="shop")
    sites["east"] = Site(1, (*sites["east"].findings, repaired))
    stage.wait(lambda: len(stage.firing("VMSerialDuplicate")) == 2, "a third finding has its alert")
    sites["east"] = Site(1, sites["east"].findings[:-1])
    stage.wait(lambda: len(stage.firing("VMSerialDuplicate")) == 1, "it is repaired")
    stage.pass_time(6)
    stage.prometheus.away()
    later = named("SpecRunMismatch", "c", namespace="tenant")
    sites["east"] = Site(1, (*sites["east"].findings, later))
    wait_until(lambda: stage.second.query(f'{{name="{later.subject.name}"}}'), 60, "the other one sees one more")

    stage.pages.close()
    gone = time.monotonic()
    wait_until(lambda: time.monotonic() - gone > 2 * LOOK_BACK, 60, "the look-back is over")
    stage.prometheus.start()

    stage.wait(lambda: all(stage.firing(name) for name in names), "both alerts fire again")
    assert [alert["name"].rpartition("-")[2] for alert in stage.firing("VMSerialDuplicate")] == ["s"]
    both = [(alone, 40), (alone, 41)]  # what came while it was away and nobody answers since it can't know
    stage.wait(lambda: grouped() == both, "both tell the same apart")


@pytest.mark.tier
def test_criticals_of_a_steward_that_stays_away_are_one_alert_and_are_not_sent_as_resolved(
    staged: Callable[..., Stage],
) -> None:
    sites = {"east": Site(1, (MAC,)), "west": Site(2)}
    stage = staged(sites, Values(hold="1h"))
    stage.wait(lambda: len(stage.sent("east", "pager")) == 1, "the critical finding pages")
    stage.pages.close()

    stage.wait(
        lambda: bool(stage.firing("StewardDown", cluster="east", severity="critical")), "it becomes critical", 240
    )
    stage.wait(
        lambda: any(page.names == {"StewardDown"} for page in stage.sent("east", "pager")), "StewardDown pages", 120
    )
    stage.pass_time(HOUR / 2)

    assert stage.firing("VMMACAddressDuplicate", cluster="east")
    assert not any(each.resolved for each in stage.sent("east", "pager"))
    assert not stage.firing("StewardDown", cluster="west", severity="critical")
    assert stage.firing("StewardDown", cluster="west", severity="warning")


def test_a_silenced_blind_kind_hides_no_check_without_an_answer(staged: Callable[..., Stage]) -> None:
    blind = Site(1, (named("KindForbidden", "0"),), unknown=READ_PODS)
    stage = staged({"east": Site(1)})
    matcher = {"name": "alertname", "value": "StewardBlind", "isRegex": False, "isEqual": True}
    stage.alertmanager.silence(
        {
            "matchers": [matcher],
            "startsAt": "2020-01-01T00:00:00Z",
            "endsAt": "2100-01-01T00:00:00Z",
            "createdBy": "ann",
            "comment": "the permission comes tomorrow",
        }
    )
    stage.pages.sites["east"] = blind
    stage.wait(lambda: bool(stage.sent("east", "platform")), "somebody hears of the checks", 180)

    (first, *_) = stage.sent("east", "platform")
    assert first.names == {"StewardCheckUnknown"}
    assert [alert.get("kind") for alert in first.alerts] == ["Pod"]


def test_a_second_critical_of_an_area_pages_by_itself(staged: Callable[..., Stage]) -> None:
    sites = {"east": Site(1, (MAC,))}
    stage = staged(sites)
    stage.wait(lambda: len(stage.sent("east", "pager")) == 1, "the first one pages")
    sites["east"] = Site(1, (MAC, named("DuplicateMAC", "second", namespace="bank")))
    stage.wait(lambda: len(stage.firing("VMMACAddressDuplicate")) == 2, "the second one fires")
    fired = time.monotonic()
    stage.wait(lambda: len(stage.sent("east", "pager")) == 2, "the second one pages")
    assert time.monotonic() - fired < 60 / FASTER + 3  # a minute, and the pace of the test's parts
    groups = [each.group for each in stage.sent("east", "pager")]
    assert groups[0] != groups[1], "an incident that is open wakes nobody"
