"""What a receiver gets of causes that somebody has acknowledged: nothing until their date, unless they get worse.

The rules are evaluated by promtool, in every version that is here. One scrape and one evaluation a minute.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from exporter.rules.alerts.networks import PRESSURE
from tests.cluster.conftest import Tools
from tests.cluster.test_rules_causes import END, MAC, SHORT, Found, Scenario, by, named

PAGE = by("cause", name="VMMACAddressDuplicate", severity="critical")
ALONE = by("name", name="VMMACAddressDuplicate", severity="critical")


def acknowledged(
    until: int,
    *,
    cause: str = "c1",
    severities: Iterable[str] = ("info", "warning", "critical"),
    of: str = "",
    **more: str,
) -> list[dict[str, str]]:
    """Until a minute; `of` are the minutes in which the steward says so, in promtool's notation."""
    name = "kubevirt_steward_acknowledged_until_timestamp_seconds"
    values = of or f"{60 * until}x{END}"
    return [
        {"series": named(name, {"cause": cause, "severity": each, **more}), "values": values} for each in severities
    ]


@pytest.mark.parametrize("count", [1, 101])
def test_what_is_acknowledged_does_not_page_and_comes_back_at_its_date(
    binary: Tools, tmp_path: Path, count: int
) -> None:
    known = Scenario([replace(MAC, count=count)], more=acknowledged(120))
    page = 'count(ALERTS{alertname="VMMACAddressDuplicate"})'
    known.asked += [(page, minute, {}) for minute in (5, 30, 119)]
    known.asked.append((by("severity", name="VMMACAddressDuplicate"), 150, {"severity=critical": 1}))
    known.run(binary, tmp_path, "firmware")


def test_another_cause_of_the_reason_still_pages(binary: Tools, tmp_path: Path) -> None:
    other = replace(MAC, cause="c2", namespace="other", first=500)
    known = Scenario([MAC, other, replace(MAC, count=50, cause="c3", first=600)], more=acknowledged(240))
    known.asked += [(ALONE, 60, {"": 1, "name=vm0500": 1}), (PAGE, 60, {"": 1, "cause=c3": 1})]
    known.run(binary, tmp_path, "firmware")


def test_the_same_cause_of_another_cluster_still_pages(binary: Tools, tmp_path: Path) -> None:
    east = replace(MAC, cluster="east")
    west = replace(MAC, cluster="west")
    known = Scenario([east, west], more=acknowledged(240, cluster="east"))
    known.asked.append((by("cluster", name="VMMACAddressDuplicate"), 60, {"cluster=west": 1}))
    known.run(binary, tmp_path, "firmware")


def test_what_becomes_critical_pages_though_its_warning_was_acknowledged(binary: Tools, tmp_path: Path) -> None:
    """The same object is a warning for an hour, and critical from then on."""
    warned = replace(MAC, severity="warning", until=60)
    worse = Scenario([warned, replace(MAC, since=60)], more=acknowledged(240, severities=("info", "warning")))
    every = by("severity", name="VMMACAddressDuplicate")
    worse.asked += [(every, 59, {}), (every, 90, {"severity=critical": 1})]
    worse.run(binary, tmp_path, "firmware")


def test_what_is_acknowledged_while_it_alerts_ends_and_begins_anew_at_its_date(binary: Tools, tmp_path: Path) -> None:
    later = Scenario([MAC], more=acknowledged(0, of=f"_x60 {60 * 120}x{END}"))
    later.asked += [(ALONE, 60, {"name=vm0000": 1}), (ALONE, 90, {}), (ALONE, 150, {"name=vm0000": 1})]
    later.run(binary, tmp_path, "firmware")


def test_what_is_taken_back_pages_at_once(binary: Tools, tmp_path: Path) -> None:
    """An entry that is taken out of the configuration is no longer held, though its date is far away."""
    back = Scenario([MAC], more=acknowledged(0, of=f"{60 * END}x59 stale"))
    back.asked += [(ALONE, 59, {}), (ALONE, 85, {"name=vm0000": 1})]
    back.run(binary, tmp_path, "firmware")


def test_a_steward_that_is_away_wakes_nobody_for_what_is_known_until_its_date(binary: Tools, tmp_path: Path) -> None:
    of = f"{60 * 180}x59 stale"
    away = Scenario([replace(MAC, until=60)], answering="1x59 stale", more=acknowledged(0, of=of))
    away.asked += [(ALONE, minute, {}) for minute in (61, 66, 90, 175)]
    away.asked.append((ALONE, 200, {"name=vm0000": 1}))
    critical = by("severity", name="StewardDown", severity="critical")
    away.asked += [(critical, 170, {}), (critical, 200, {"severity=critical": 1})]
    away.run(binary, tmp_path, "firmware", values=SHORT)


def test_a_missed_scrape_wakes_nobody(binary: Tools, tmp_path: Path) -> None:
    series = acknowledged(0, of=" ".join([f"{60 * END}x8 stale"] * 20))
    flapping = Scenario([MAC], answering=" ".join(["1x8 stale"] * 20), more=series)
    flapping.asked.append(('count(ALERTS{alertname="VMMACAddressDuplicate"})', 150, {}))
    flapping.run(binary, tmp_path, "firmware")


def test_a_replica_without_the_entry_alerts_for_nobody(binary: Tools, tmp_path: Path) -> None:
    """Two replicas while a changed configuration is rolled out: one of them says that it is acknowledged."""
    own = {"series": 'kubevirt_steward_ready{job="s", instance="b"}', "values": f"1x{END}"}
    two = Scenario([MAC], more=[*acknowledged(END + 60), own])
    two.asked.append(('count(ALERTS{alertname="VMMACAddressDuplicate"})', 100, {}))
    two.run(binary, tmp_path, "firmware")


def test_other_findings_of_an_alert_that_is_counted_are_counted_on(binary: Tools, tmp_path: Path) -> None:
    unread = Found("kubevirt_steward_object_undecodable", "sources", "UndecodableObject", 3)
    known = replace(unread, count=4, cause="c2", first=100)
    counted = Scenario([unread, known], more=acknowledged(END, cause="c2"))
    counted.asked.append((by("kind", name="StewardObjectUndecodable"), 60, {"kind=VirtualMachine": 1}))
    counted.run(binary, tmp_path)
    both = Scenario([known], more=acknowledged(END, cause="c2"))
    both.asked.append((by("kind", name="StewardObjectUndecodable"), 60, {}))
    both.run(binary, tmp_path)


def test_a_network_whose_full_pool_is_acknowledged_does_not_page(binary: Tools, tmp_path: Path) -> None:
    labels = {"kind": "Network", "reason": "PoolPressure", "check": "ipam_networks", "severity": "critical"}
    full = [
        {
            "series": named(
                f"{PRESSURE.family.name}_since_timestamp_seconds", {**labels, "network": net, "cause": net}
            ),
            "values": f"60x{END}",
        }
        for net in ("blue", "red")
    ]
    check_up = {"series": named("kubevirt_steward_check_up", {"check": "ipam_networks"}), "values": f"1x{END}"}
    known = Scenario([], more=[*full, check_up, *acknowledged(120, cause="blue")])
    page = by("network", name=PRESSURE.alert, severity="critical")
    known.asked += [(page, 60, {"network=red": 1}), (page, 150, {"network=red": 1, "network=blue": 1})]
    known.run(binary, tmp_path, "networks")
