"""What people are sent on the first day, and when one thing breaks much else.

Five clusters at once behind one Prometheus and one Alertmanager, both real; an hour takes a minute.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from exporter.findings.finding import Finding
from exporter.rules import Alerting, Values, rule_files
from tests.cluster.alertmanager import Alertmanager
from tests.cluster.conftest import Tools
from tests.cluster.notified import FASTER, Inbox, Notification, faster_routes, faster_rules
from tests.cluster.prometheus import Prometheus, Setup
from tests.cluster.steward_pages import CHECKS, Pages, Site, named, one_of_each
from tests.waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.tier]

HOUR = 3600 / FASTER
READ_PODS = frozenset(check.id for check in CHECKS if "Pod" in {kind.name for kind in check.reads})
HEARD = {  # who is told of what, as the committed routes say
    "OrphanClaim": ("tenants",),
    "NotReferenced": ("tenants",),
    "NotMigratable": ("platform", "tenants"),
    "MissingClaim": ("tenants",),
}
OF_PODS = tuple(named(reason, str(i), namespace=f"team-{i:02}") for i, reason in enumerate(HEARD))


@dataclass
class Night:
    """What Prometheus and the receivers had seen when it was over; `before` is how much was sent before the faults."""

    inbox: Inbox
    prometheus: Prometheus
    before: dict[str, list[Notification]]

    def sent(self, cluster: str, *receivers: str) -> list[Notification]:
        """Since the faults began."""
        return [each for each in self.inbox.of(cluster, *receivers) if each not in self.before.get(cluster, ())]

    def firing(self, cluster: str) -> list[dict[str, str]]:
        alerts = self.prometheus.query(f'ALERTS{{alertstate="firing", cluster="{cluster}"}}')
        return [each["metric"] for each in alerts]

    def counted(self, cluster: str, name: str) -> int:
        return sum(alert["alertname"] == name for alert in self.firing(cluster))


@pytest.fixture(scope="module")
def night(binary: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """Faults begin once the alerts of what was wrong before are sent, and last for an hour and three quarters."""
    with ExitStack() as ends:
        sites = {"first-day": Site(1, one_of_each()), "clean": Site(2), "blind": Site(3, OF_PODS)}
        sites |= {"ipam": Site(4), "drain": Site(5)}
        pages, inbox = Pages(sites), Inbox()
        ends.callback(pages.close)
        ends.callback(inbox.close)
        alertmanager = Alertmanager(binary("alertmanager"), config=faster_routes(inbox))
        ends.callback(alertmanager.stop)
        alertmanager.start()
        setup = Setup(
            rule_files=tuple(faster_rules(tmp_path_factory.mktemp("rules"))),
            scrape_configs=[pages.scrape_config()],
            scrape_interval=2,
            evaluation_interval=1,
            alertmanagers=[alertmanager.address],
        )
        prometheus = Prometheus(binary("prometheus"), setup)
        ends.callback(prometheus.stop)
        prometheus.start()
        told = {(receiver, finding.reason) for finding in OF_PODS for receiver in HEARD[finding.reason]}

        def notified() -> bool:
            sent = inbox.of("blind", "platform", "tenants")
            return {(each.receiver, alert.get("reason")) for each in sent for alert in each.alerts} >= told

        wait_until(notified, 120, "each receiver has heard of the findings of the blind cluster")
        before = {"blind": inbox.of("blind", "pager", "platform", "tenants")}
        sites["blind"] = Site(3, (named("KindForbidden", "0"),), unknown=READ_PODS)
        sites["ipam"] = Site(4, (named("WebhookMissing", "0"), *_addresses()))
        sites["drain"] = Site(5, (named("WebhookDown", "0"), *_drain()))
        over = time.time() + 1.75 * HOUR
        prometheus.wait_for(f"vector(time()) > {over}", 3 * HOUR)
        yield Night(inbox, prometheus, before)


def _addresses() -> Iterator[Finding]:
    for i in range(50):
        yield named("MissingClaim" if i % 2 else "NotReferenced", f"{i:02}", namespace=f"team-{i % 20:02}")


def _drain() -> Iterator[Finding]:
    yield named("NodeDrainStalled", "0", node="node01")
    for i in range(20):
        reason = ("MigrationPending", "NotStarted", "NotMigratable", "StuckTerminating")[i % 4]
        yield named(reason, f"{i:02}", namespace=f"team-{i:02}", node="node01")


def test_on_the_first_day_everything_fires_and_few_notifications_are_sent(night: Night) -> None:
    rules = [rule for group in rule_files(Values()) for rule in group.rules if isinstance(rule, Alerting)]
    reasons = {reason.alert for check in CHECKS for reason in check.reasons.values() if reason.alert}
    firing = {alert["alertname"] for alert in night.firing("first-day")}
    platform, pager = night.sent("first-day", "platform"), night.sent("first-day", "pager")
    paged = set().union(*(each.names for each in pager))

    assert reasons
    assert firing >= reasons
    assert 0 < len(platform) <= 12
    assert paged
    assert len(paged) <= 14  # as many names as there are that page: one of each was found
    assert paged <= {rule.alert for rule in rules if rule.severity == "critical"}


def test_nobody_hears_of_a_clean_cluster(night: Night) -> None:
    assert night.firing("clean") == []
    assert night.sent("clean", "pager", "platform", "tenants") == []
    assert night.sent("", "pager", "platform", "tenants") == []


def test_without_the_permission_on_pods_one_notification_says_so_and_no_alert_is_resolved(night: Night) -> None:
    sent = night.sent("blind", "pager", "platform", "tenants")

    assert [(each.receiver, each.names, each.resolved) for each in sent] == [
        ("platform", {"StewardBlind", "StewardCheckUnknown"}, ())
    ]
    assert night.counted("blind", "StewardCheckUnknown") == 1  # of the kind, and not of each check
    held = {(alert["namespace"], alert["reason"]) for alert in night.firing("blind") if alert["area"] != "steward"}
    assert held == {(finding.subject.namespace, finding.reason) for finding in OF_PODS}


def test_a_broken_ipam_webhook_under_50_vms_is_one_page(night: Night) -> None:
    sent = night.sent("ipam", "pager", "platform", "tenants")

    assert [(each.receiver, each.names) for each in sent] == [("pager", {"KubeVirtIPAMWebhookBroken"})]
    assert night.counted("ipam", "VMPersistentIPBroken") == 25
    assert night.counted("ipam", "VMIPAMClaimUnprotected") == 25


def test_virt_api_down_in_a_drain_of_20_vms_is_one_page(night: Night) -> None:
    sent = night.sent("drain", "pager", "platform", "tenants")

    assert [(each.receiver, each.names) for each in sent] == [("pager", {"KubeVirtEvictionWebhookDown"})]
    assert night.counted("drain", "KubeVirtNodeDrainStalled") == 1
    assert sum(alert["alertname"].startswith("VMEviction") for alert in night.firing("drain")) == 20
