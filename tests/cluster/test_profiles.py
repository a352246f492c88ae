"""The rules over a steward with the fewest series: what they have to say they say, on a real Prometheus."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.checks import all_checks
from exporter.metrics.text import Profile
from tests.cluster.conftest import MakePrometheus
from tests.cluster.notified import faster_rules
from tests.cluster.steward_pages import Pages, Site, named
from tests.waiting import wait_until

MAC = named("DuplicateMAC", "db", namespace="shop")
EVERY = frozenset(check.id for check in all_checks())


@pytest.mark.long
def test_the_least_profile_has_all_that_rules_need(prometheus: MakePrometheus, tmp_path: Path) -> None:
    pages = Pages({"east": Site(1, (MAC,), profile=Profile.MINIMAL)})
    server = prometheus(
        rule_files=tuple(faster_rules(tmp_path)),
        scrape_configs=[pages.scrape_config()],
        scrape_interval=2,
        evaluation_interval=1,
        look_back=8,
    )

    def firing(name: str) -> set[str]:
        return {
            a["labels"]["severity"]
            for a in server.alerts()
            if a["labels"]["alertname"] == name
            if a["state"] == "firing"
        }

    wait_until(lambda: firing("VMMACAddressDuplicate") == {"critical"}, 60, "the critical finding is an alert")
    quiet = ("StewardDown", "StewardCheckUnknown", "StewardSeriesDropped", "StewardNotReady", "StewardCheckErrors")
    assert not any(map(firing, quiet))

    pages.sites["east"] = Site(1, unknown=EVERY, profile=Profile.MINIMAL)  # and reports nothing any more
    wait_until(lambda: bool(firing("StewardCheckUnknown")), 60, "checks without an answer are an alert")
    assert firing("VMMACAddressDuplicate") == {"critical"}, "held while no check has an answer"

    pages.close()
    wait_until(lambda: bool(firing("StewardDown")), 60, "a steward that is gone is an alert")
    assert firing("VMMACAddressDuplicate") == {"critical"}, "held while the steward is gone"


@pytest.mark.long
def test_what_is_repaired_ends_with_the_least_profile(prometheus: MakePrometheus, tmp_path: Path) -> None:
    pages = Pages({"east": Site(1, (MAC,), profile=Profile.MINIMAL)})
    server = prometheus(
        rule_files=tuple(faster_rules(tmp_path)),
        scrape_configs=[pages.scrape_config()],
        scrape_interval=2,
        evaluation_interval=1,
        look_back=8,
    )
    wait_until(lambda: any(a["state"] == "firing" for a in server.alerts()), 60, "the finding is an alert")
    pages.sites["east"] = Site(1, profile=Profile.MINIMAL)
    wait_until(lambda: not server.alerts(), 60, "it ends")
