"""The set-ups of docs/clusters.md, as they stand there: real Prometheus and Thanos over pages of stewards.

Names of hosts are replaced by ports of loopback, and an hour takes a minute.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from exporter.rules import Values, rule_files
from exporter.rules.formats import files
from tests.cluster.conftest import Tools
from tests.cluster.drawn_boards import BOARDS, Drawn
from tests.cluster.notified import faster_rules
from tests.cluster.process import Process, answers, free_ports
from tests.cluster.steward_pages import CHECKS, VMS, Pages, Site, named
from tests.manifests import Object
from tests.shared import REPO
from tests.waiting import wait_until

pytestmark = pytest.mark.long

DOC = (REPO / "docs/clusters.md").read_text(encoding="utf-8")
MAC = named("DuplicateMAC", "db", namespace="shop")
FAST = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}


def block(name: str) -> str:
    """The code block of the document whose first line is a comment with this name."""
    (found,) = re.findall(rf"^```\w+\n# {re.escape(name)}\n(.*?)^```$", DOC, re.MULTILINE | re.DOTALL)
    return str(found)


class Clusters:
    """Servers of several clusters, by their names in the document."""

    def __init__(self, binary: Tools, folder: Path, sites: dict[str, Site]) -> None:
        self._binary, self.folder, self.pages, self._ends = binary, folder, Pages(sites), ExitStack()
        self._ports: dict[str, int] = {}
        self.rules = folder / "rules"
        self.rules.mkdir()
        self._ends.callback(self.pages.close)

    def close(self) -> None:
        self._ends.close()

    def here(self, text: str) -> str:
        """A text of the document with an address of loopback for each of its hosts."""

        def address(found: re.Match[str]) -> str:
            return f"127.0.0.1:{self._ports.setdefault(found[0], free_ports(1)[0])}"

        return re.sub(r"[a-z.]+\.example:\d+", address, text)

    def url(self, host: str) -> str:
        return f"http://{self.here(host)}"

    def config(self, name: str, relabel: str = "") -> Object:
        """That of a Prometheus, with what is rendered in place of what is to be rendered."""
        text = re.sub(r"steward\.(east|west)\.example:9877", rf"\1.{self.pages.address}", block(name))
        made: Object = yaml.safe_load(self.here(text.replace("rules/*.yaml", f"{self.rules}/*.yaml")))
        made["global"] = {**FAST, **made.get("global", {})}
        for job in made.get("scrape_configs", ()):
            for targets in job["static_configs"]:
                (target,) = targets["targets"]
                cluster, _, address = target.partition(".")
                targets["targets"] = [address]
                targets["labels"] = {
                    **targets.get("labels", {}),
                    "__metrics_path__": f"/{cluster}/metrics",
                    "instance": cluster,
                }
        for target in made.get("remote_write", ()):
            (text,) = files(relabel, rule_files(Values()), Values()).values()
            target.update(yaml.safe_load(text))
        return made

    def prometheus(self, host: str, config: Object, *flags: str, agent: bool = False) -> None:
        folder = self.folder / host.replace(":", "-")
        folder.mkdir()
        (folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
        storage = "--storage.agent.path" if agent else "--storage.tsdb.path"
        more = () if agent else ("--query.lookback-delta=8s",)
        command: list[str | Path] = [
            self._binary("prometheus"),
            f"--config.file={folder}/prometheus.yml",
            f"{storage}={folder}/data",
        ]
        self._run(
            host, [*command, f"--web.listen-address={self.here(host)}", *more, *flags], f"{self.url(host)}/-/ready"
        )

    def thanos(self, name: str, host: str, cluster: str = "") -> None:
        text = block(name).replace("rules/*.yaml", f"{self.rules}/*.yaml").replace("=5m", "=8s")
        text = text.replace("/prometheus ", f"{self.folder}/east.example-9090/data ").replace(
            "=/ruler", f"={self.folder}/ruler"
        )
        if cluster:
            text = text.replace("east", cluster)
        program, verb, *flags = shlex.split(self.here(text))
        assert program == "thanos"
        flags = [flag.replace("ruler=hub", 'ruler="hub"') for flag in flags]
        more = ["--eval-interval=1s", "--query.sd-dns-interval=1s"] if verb == "rule" else []
        self._run(f"{verb} {host}", [self._binary("thanos"), verb, *flags, *more], f"{self.url(host)}/-/ready")

    def _run(self, name: str, command: list[str | Path], ready: str) -> None:
        process = Process(name, command, self.folder / f"{re.sub(r'[^a-z0-9]', '-', name)}.log")
        self._ends.callback(process.kill)
        process.start(lambda: answers(ready))

    def query(self, host: str, expr: str) -> list[Object]:
        with urllib.request.urlopen(
            f"{self.url(host)}/api/v1/query?{urlencode({'query': expr})}", timeout=30
        ) as answer:
            return [{**each["metric"], "": each["value"][1]} for each in json.load(answer)["data"]["result"]]

    def federated(self, host: str, *selectors: str) -> set[str]:
        """The names of the series that a collector gets by them."""
        query = urlencode([("match[]", selector) for selector in selectors])
        with urllib.request.urlopen(f"{self.url(host)}/federate?{query}", timeout=30) as answer:
            return set(re.findall(r"^([a-zA-Z_:][\w:]*)\{", answer.read().decode(), re.MULTILINE))

    def firing(self, host: str, name: str) -> set[tuple[str, str]]:
        """Cluster and severity of each."""
        found = self.query(host, f'ALERTS{{alertname="{name}", alertstate="firing"}}')
        return {(each.get("cluster", ""), each["severity"]) for each in found}

    def wait(self, condition: Callable[[], Any], what: str, seconds: float = 240) -> None:
        wait_until(lambda: bool(condition()), seconds, what, every=0.5)


def allow_list() -> list[str]:
    """The selectors that the collector of ACM makes of what is rendered for it."""
    (text,) = files("acm", rule_files(Values()), Values()).values()
    listed = yaml.safe_load(yaml.safe_load(text)["data"]["uwl_metrics_list.yaml"])
    return [*(f'{{__name__="{name}"}}' for name in listed["names"]), *(f"{{{each}}}" for each in listed["matches"])]


@pytest.fixture
def clusters(binary: Tools, tmp_path: Path) -> Iterator[Clusters]:
    """East has a critical finding, west has none."""
    made = Clusters(binary, tmp_path, {"east": Site(1, (MAC,)), "west": Site(2)})
    list(faster_rules(made.rules))
    yield made
    made.close()


@dataclass(frozen=True)
class Hub:
    """One of the servers, as boards ask it."""

    clusters: Clusters
    host: str

    def query(self, expr: str) -> list[Object]:
        rows = self.clusters.query(self.host, expr)
        return [{"metric": {k: text for k, text in row.items() if k}, "value": [0, row[""]]} for row in rows]


PAGE = "VMMACAddressDuplicate"
CRITICAL = {("east", "critical")}


def test_one_prometheus_tells_clusters_apart(clusters: Clusters) -> None:
    hub = "one.example:9090"
    clusters.prometheus(hub, clusters.config("one.yml"))
    clusters.wait(lambda: clusters.firing(hub, PAGE) == CRITICAL, "the alert has its cluster")
    clusters.wait(lambda: clusters.query(hub, "cluster:kubevirt_steward_ready:replicas == 1"), "replicas are recorded")
    assert not clusters.firing(hub, "StewardDown")


def test_a_label_of_another_name_is_kept_by_all_rules(clusters: Clusters) -> None:
    hub = "one.example:9090"
    config = clusters.config("one.yml")
    for targets in config["scrape_configs"][0]["static_configs"]:
        targets["labels"]["k8s_cluster"] = targets["labels"].pop("cluster")
    list(faster_rules(clusters.rules, Values(cluster="k8s_cluster")))
    clusters.prometheus(hub, config)
    alerts = f'ALERTS{{alertname="{PAGE}", alertstate="firing"}}'
    clusters.wait(lambda: clusters.query(hub, alerts), "the alert fires")
    (alert,) = clusters.query(hub, alerts)
    assert (alert["k8s_cluster"], alert.get("cluster")) == ("east", None)

    clusters.pages.sites["west"] = Site(2, unknown=frozenset({"migrations"}))
    unknown = 'ALERTS{alertname="StewardCheckUnknown", alertstate="firing"}'
    clusters.wait(lambda: clusters.query(hub, unknown), "a check without an answer is an alert")
    assert {each["k8s_cluster"] for each in clusters.query(hub, unknown)} == {"west"}


@pytest.mark.skipif(os.environ.get("CLUSTERS") != "all", reason="builds Thanos: `make test-thanos` runs it")
def test_a_ruler_of_thanos_evaluates_and_holds_what_two_prometheus_scrape(clusters: Clusters) -> None:
    for cluster in ("east", "west"):
        config = clusters.config("east.yml")
        text = json.dumps(config).replace("east", cluster)
        clusters.prometheus(f"{cluster}.example:9090", json.loads(text))
        clusters.thanos("east", f"{cluster}.example:10902", cluster)
    clusters.thanos("query", "query.example:10904")
    clusters.thanos("ruler", "ruler.example:10902")
    hub = "query.example:10904"
    clusters.wait(lambda: clusters.firing(hub, PAGE) == CRITICAL, "the alert has its cluster")
    assert not clusters.firing(hub, "StewardDown")

    clusters.pages.close()
    clusters.wait(
        lambda: clusters.firing(hub, "StewardDown") >= {("east", "warning"), ("west", "warning")}, "both are down"
    )
    assert clusters.firing(hub, PAGE) == CRITICAL, "held while the steward is gone"


def test_a_hub_gets_a_few_series_and_the_alerts_of_each_cluster(clusters: Clusters) -> None:
    hub = "hub.example:9090"
    clusters.prometheus(hub, {"global": FAST}, "--web.enable-remote-write-receiver")
    clusters.prometheus("east.example:9090", clusters.config("sending.yml", "remote-write"))
    clusters.wait(lambda: clusters.firing(hub, PAGE) == CRITICAL, "the hub has the alert, with its cluster")
    clusters.wait(
        lambda: clusters.query(hub, 'cluster:kubevirt_steward_objective:left{cluster="east"}'), "and objectives"
    )
    known = clusters.query(hub, "cluster:kubevirt_steward_findings:open")
    assert {(each["cluster"], each["check"]) for each in known} == {("east", check.id) for check in CHECKS}
    rendered = yaml.safe_load(next(iter(files("remote-write", rule_files(Values()), Values()).values())))
    kept = {"ALERTS", *re.findall(r"cluster:\w+:\w+", rendered["write_relabel_configs"][0]["regex"])}

    def series() -> dict[str, int]:
        found = clusters.query(hub, 'count by (__name__) ({__name__=~".+"})')
        return {each["__name__"]: int(each[""]) for each in found}

    clusters.wait(lambda: series().keys() >= kept, "all that is recorded for the hub is there")
    assert series().keys() == kept
    assert sum(series().values()) < 100
    board = Drawn(BOARDS["hub"], Hub(clusters, hub), {})
    clusters.wait(lambda: of_east(board) == WHAT_IS_SENT, "the board has what is sent, and makes nothing up")
    assert clusters.federated("east.example:9090", *allow_list()) == kept, (
        "by the allow-list of ACM the hub gets the same"
    )


WHAT_IS_SENT = {
    "All stewards respond": 1,
    "Clusters without response": 0,
    "answers": 1,
    "responding replicas": 1,
    "evaluated checks": len(CHECKS),
    "unanswered checks": 0,
    "findings held": None,
    "critical": 1,
    "warning": 0,
    "info": 0,
    "VMs": VMS,
    "KubeVirt upgrading": None,
    "Critical findings": 1,
    "Warning findings": 0,
    "Info findings": 0,
    PAGE: 1,
}


def of_east(hub: Drawn) -> dict[str, float | None]:
    """What the board of the hub shows of it, by titles of numbers and of columns, and by alert."""
    titles = [column.title for column in hub.panel("Stewards, by cluster").columns if column.value is not None]
    cells = [{row["cluster"]: value for row, value in hub.table("Stewards, by cluster", i)} for i in range(len(titles))]
    alerts = {row["alertname"]: value for row, value in hub.table("Firing alerts, by cluster", 0)}
    return {
        **{title: hub.number(title) for title in ("All stewards respond", "Clusters without response")},
        **{title: cell.get("east") for title, cell in zip(titles, cells, strict=True)},
        **{f"{severity.capitalize()} findings": count for severity, count in hub.counts().items()},
        PAGE: alerts.get(PAGE),
    }


def test_a_hub_evaluates_the_rules_for_an_agent(clusters: Clusters) -> None:
    hub = "hub.example:9090"
    clusters.prometheus(hub, clusters.config("hub.yml"), "--web.enable-remote-write-receiver")
    clusters.prometheus("east.example:9090", clusters.config("agent.yml", "remote-write-raw"), "--agent", agent=True)
    clusters.wait(lambda: clusters.firing(hub, PAGE) == CRITICAL, "the hub's rule fires, with the cluster")
    assert not clusters.query(hub, "kubevirt_steward_findings_opened_total"), "no rule reads it"
    assert clusters.query(hub, 'up{cluster="east"}')

    clusters.pages.close()
    clusters.wait(lambda: clusters.firing(hub, "StewardDown"), "a steward that is gone is an alert of the hub")
    assert clusters.firing(hub, PAGE) == CRITICAL, "held while it is gone"
