"""All panels of a board agree, whoever answers: a fleet with faults, a clean one, a blind check, a steward that is
gone, and two clusters beside each other. Each with the rules that hold findings, and without them.
"""

from __future__ import annotations

from collections import Counter

import pytest

from dashboards.generator.links import paged
from dashboards.generator.panels import SEVERITIES
from exporter.rules.areas import all_areas
from exporter.rules.findings import families_of
from tests.cluster.conftest import Tools
from tests.cluster.drawn_boards import BOARDS, Drawn, chosen
from tests.cluster.prometheus import Prometheus, Setup
from tests.cluster.steward_pages import CHECKS, Pages, Site, one_of_each
from tests.rules import FILES
from tests.waiting import wait_until

BLIND = ("firmware_vms", "instancetype_vms")
WITH_FINDINGS = ("causes", "evictions", "features", "fleet", "identity", "instancetypes", "networks")
MOST_BARS = 25
pytestmark = pytest.mark.xdist_group("boards")


class Stage:
    """Pretended stewards, scraped by a Prometheus."""

    def __init__(self, binary: Tools, *, rules: bool, honor_labels: bool = True, **sites: Site) -> None:
        self.pages = Pages(dict(sites))
        config = {**self.pages.scrape_config(), "honor_labels": honor_labels}
        if not honor_labels:
            config["relabel_configs"] = [{"target_label": "namespace", "replacement": "kubevirt-steward"}]
        setup = Setup(
            scrape_configs=(config,), rule_files=FILES if rules else (), scrape_interval=1, evaluation_interval=2
        )
        self.prometheus = Prometheus(binary("prometheus"), setup)
        self._rules = rules

    def __enter__(self) -> Stage:
        self.prometheus.start()
        for name, site in self.pages.sites.items():
            self.show(name, site)
        return self

    def __exit__(self, *_: object) -> None:
        self.prometheus.stop()
        self.pages.close()

    def show(self, name: str, site: Site) -> None:
        """From now on the cluster's steward serves this page; it is scraped, and the rules have seen it."""
        self.pages.sites[name] = site
        up = f'max by (cluster) (kubevirt_steward_check_up{{cluster="{name}", check=~"{"|".join(site.unknown)}"}}) == 0'
        self.prometheus.wait_for(up if site.unknown else f'kubevirt_steward_ready{{cluster="{name}"}} == 1')
        if self._rules:
            at = self._time()
            self.prometheus.wait_for(f"min(rules:kubevirt_steward_findings:evaluated) > {at + 2}")

    def stop(self, name: str) -> None:
        """The steward of a cluster is gone."""
        del self.pages.sites[name]
        gone = f'{{__name__=~"kubevirt_steward_ready|cluster:kubevirt_steward_ready:replicas", cluster="{name}"}}'
        wait_until(lambda: not self.prometheus.query(gone), 60, "the steward is not scraped any more, nor counted")
        if self._rules:
            self.prometheus.wait_for(f"min(rules:kubevirt_steward_findings:evaluated) > {self._time() + 2}")

    def drawn(self, board: str, **variables: str) -> Drawn:
        return Drawn(BOARDS[board], self.prometheus, variables)

    def _time(self) -> float:
        return float(self.prometheus.query("vector(time())")[0]["value"][1])


def ill() -> Site:
    return Site(1, one_of_each())


def blind() -> Site:
    """Started anew, and without a sight of what two checks need."""
    return Site(1, tuple(each for each in one_of_each() if each.check not in BLIND), frozenset(BLIND))


RECORDED = {family.name for area in all_areas() for family in families_of(area)}
RULES_HOLD = {reason for check in CHECKS for reason, of in check.reasons.items() if of.family.name in RECORDED}


def that_rules_hold(drawn: Drawn) -> Counter[str]:
    """By severity; what only informs and has no alert is held by the steward alone."""
    return Counter(row["severity"] for row in drawn.findings()[0] if row["reason"] in RULES_HOLD)


def agree(drawn: Drawn) -> tuple[Counter[str], Counter[str]]:
    """Counts, bars, table and causes of the board have the same findings: by severity, and those that are held."""
    found, held = drawn.findings()
    rows, marked = Counter(row["severity"] for row in found), Counter(row["severity"] for row in held)
    counts = {severity: count for severity, count in drawn.counts().items() if count}
    assert counts == rows
    assert {severity: count for severity, count in drawn.counts(1).items() if count} == marked
    bars = drawn.bars()
    assert bars.pop("none") == (Counter() if rows or drawn.counts()["critical"] is None else Counter({"none": 0}))
    held_by_reason = Counter(row["reason"] for row in held)
    assert bars.pop("held") == Counter(dict(held_by_reason.most_common(MOST_BARS))) or len(held_by_reason) > MOST_BARS
    for severity, of in bars.items():
        now = Counter(row["reason"] for row in found if row["severity"] == severity and row not in held)
        assert len(of) == min(len(now), MOST_BARS)
        assert of.items() <= now.items()
    for panel in drawn.board.panels:
        if "what it is about" in {column.title for column in panel.columns}:
            assert sum(value for _, value in drawn.table(panel.title, 2)) == len(found)
            assert sum(value for _, value in drawn.table(panel.title, 4)) == len(held)
        if panel.title == "Findings over time, by severity":
            assert drawn.over_time() == rows
    return rows, marked


@pytest.fixture(params=[True, False], ids=["rules", "no-rules"])
def rules(request: pytest.FixtureRequest) -> bool:
    """Whether Prometheus has the rules of the alerts."""
    return bool(request.param)


def test_a_fleet_with_faults_and_a_clean_one_are_told_apart_and_all_panels_of_each_agree(
    binary: Tools, rules: bool
) -> None:
    with Stage(binary, rules=rules, east=ill(), west=Site(2)) as stage:
        for board in WITH_FINDINGS:
            both, east, west = (stage.drawn(board, cluster=each) for each in (".*", "east", "west"))
            rows, held = agree(both)
            assert rows
            assert not held
            assert agree(east) == (rows, held)
            assert agree(west) == (Counter(), Counter())
            assert west.bars()["none"] == Counter({"none": 0})
            assert west.counts() == dict.fromkeys(SEVERITIES, 0)
            assert both.number("Steward answers") == 1
        rows, _ = agree(stage.drawn("fleet"))
        assert rows == Counter(finding.severity.value for finding in one_of_each())
        hub = stage.drawn("hub")
        for query, severity in enumerate(SEVERITIES, 5):
            of = {row["cluster"]: value for row, value in hub.table("Stewards, by cluster", query)}
            assert of == {"east": rows[severity], "west": 0}
        stage.stop("west")
        answers = {row["cluster"]: value for row, value in hub.table("Stewards, by cluster", 0)}
        assert answers == {"east": 1, "west": 0}
        assert hub.number("All stewards respond") == 0
        assert agree(stage.drawn("fleet")) == (rows, Counter())


def test_findings_of_a_blind_check_are_held_and_marked_on_every_panel(binary: Tools) -> None:
    with Stage(binary, rules=True, east=ill()) as stage:
        seen = {board: that_rules_hold(stage.drawn(board)) for board in WITH_FINDINGS}
        stage.show("east", blind())
        for board in WITH_FINDINGS:
            drawn = stage.drawn(board)
            _, held = agree(drawn)
            assert that_rules_hold(drawn) == seen[board]
            found, marked = drawn.findings()
            assert {row["check"] for row in marked} == set(BLIND) & {row["check"] for row in found}
            assert sum(held.values()) == sum(row["check"] in BLIND for row in found)
        drawn = stage.drawn("fleet")
        assert drawn.number("Findings held") == sum(agree(drawn)[1].values()) > 0
        assert drawn.number("Unanswered checks") == len(BLIND)
        unseen = drawn.table("Kinds that checks can't read completely", 0)
        assert {row["check"] for row, _ in unseen} == set(BLIND)


def test_what_a_blind_steward_still_reports_is_held_without_rules_too(binary: Tools) -> None:
    with Stage(binary, rules=False, east=ill()) as stage:
        seen = agree(stage.drawn("fleet"))[0]
        stage.show("east", Site(1, one_of_each(), frozenset(BLIND)))
        rows, held = agree(stage.drawn("fleet"))
        assert rows == seen
        assert held == Counter(each.severity.value for each in one_of_each() if each.check in BLIND)


def test_a_steward_that_is_gone_can_not_be_mistaken(binary: Tools) -> None:
    with Stage(binary, rules=True, east=ill(), west=Site(2)) as stage:
        seen = {board: that_rules_hold(stage.drawn(board)) for board in WITH_FINDINGS}
        for cluster in ("east", "west"):
            stage.stop(cluster)
        for board in WITH_FINDINGS:
            drawn = stage.drawn(board)
            assert drawn.number("Steward answers") == 0
            rows, held = agree(drawn)
            assert rows == held == seen[board]
            clean = stage.drawn(board, cluster="west")
            assert clean.counts() == dict.fromkeys(SEVERITIES)
            assert not any(bar for bars in clean.bars().values() for bar in bars)
            assert clean.panel("Findings by reason").empty == "not seen"
        assert stage.drawn("hub").number("All stewards respond") == 0


def test_without_rules_a_steward_that_is_gone_leaves_no_number_but_that(binary: Tools) -> None:
    with Stage(binary, rules=False, east=ill()) as stage:
        stage.stop("east")
        for board in WITH_FINDINGS:
            drawn = stage.drawn(board)
            assert drawn.number("Steward answers") == 0
            assert agree(drawn) == (Counter(), Counter())
            assert set(drawn.numbers()) == {("Steward answers", 0), ("Stewards, by cluster", 0)}


def test_a_finding_is_one_also_where_prometheus_keeps_its_namespace_for_the_target(binary: Tools) -> None:
    with Stage(binary, rules=True, honor_labels=False, east=ill()) as stage:
        drawn = stage.drawn("fleet")
        rows, _ = agree(drawn)
        assert rows == Counter(finding.severity.value for finding in one_of_each())
        placed = {finding.subject.namespace for finding in one_of_each()} - {""}
        assert {row["namespace"] for row in drawn.findings()[0]} == {*placed, "kubevirt-steward"}


def test_after_a_restart_all_is_as_it_was(binary: Tools) -> None:
    with Stage(binary, rules=True, east=ill()) as stage:
        before = agree(stage.drawn("fleet"))
        stage.stop("east")
        rows, held = agree(stage.drawn("fleet"))
        assert rows == held
        assert held["critical"] == before[0]["critical"] > 0
        stage.show("east", ill())
        assert agree(stage.drawn("fleet")) == before


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("https://localhost:9877", "https://localhost:9877"),
        ("https://steward.{cluster}.example.org/", "https://steward.east.example.org"),
        ("https://example.org/{cluster}/steward", "https://example.org/east/steward"),
    ],
)
def test_the_page_of_a_row_is_that_of_its_cluster(binary: Tools, page: str, wanted: str) -> None:
    with Stage(binary, rules=False, east=Site(1)) as stage:
        rows = stage.prometheus.query(chosen(paged("max by (cluster) (kubevirt_steward_ready)"), page=page))
        assert [row["metric"]["page"] for row in rows] == [wanted]


def test_checks_that_are_blind_here_have_findings() -> None:
    assert set(BLIND) <= {check.id for check in CHECKS} & {finding.check for finding in one_of_each()}
