"""The boards with real parts: a Prometheus that scrapes stewards, and an API server that takes the manifests."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from types import TracebackType

import pytest

from dashboards.generator import all_boards
from dashboards.generator.console import expression, fits
from dashboards.generator.model import Board, Panel, PanelQuery
from demo.apiserver.resources import Obj
from demo.apiserver.server import ApiServer, kubeconfig
from demo.fleet.faulty_instancetypes import offered
from demo.fleet.networks import ground
from demo.fleet.sample import healthy_vms, sample_fleet
from demo.fleet.samples import complete
from demo.repairs import join
from exporter.app import assemble, serve, wait_until_seen
from exporter.config.settings import Config, MetricsSettings, ReconcileSettings
from exporter.engine.engine import Engine
from exporter.kube.transport import Transport

from ..artifacts import artifact
from ..case_files import read_yaml
from ..manifests import Object
from ..rules import RULES
from ..shared import REPO
from ..tools.crds import published
from ..waiting import wait_until
from .conftest import MakeApiServer, Tools
from .custom_resources import install
from .drawn_boards import chosen
from .prometheus import Prometheus, Setup

__all__ = ["SampleSteward", "healthy", "ill"]

# A steward over the sample fleet, with its sidecar, as `steward demo` starts them; without the story.


def ill() -> list[Obj]:
    """The fleet of the demo, with all of its faults."""
    return sample_fleet(datetime.now(UTC)).objects


def healthy() -> list[Obj]:
    """Its VMs without a fault, and nothing else but what they stand on."""
    now = datetime.now(UTC)
    well = chain.from_iterable(complete(sample) for sample in healthy_vms(now))
    return [*ground(now), *offered(now).values(), *well]


class SampleSteward:
    """One in a thread of its own; `with` starts and ends it. It has seen everything once it is entered."""

    def __init__(self, objects: list[Obj], folder: Path) -> None:
        self._objects, self._folder = objects, folder
        self._up, self._end = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="sample steward", daemon=True)
        self.exporter = self.sidecar = ""  # host:port

    def __enter__(self) -> SampleSteward:
        self._thread.start()
        self._up.wait(60)
        if self._error:
            raise self._error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._loop and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 # reported to the test's thread
            self._error = error
        finally:
            self._up.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        engine: asyncio.Future[Engine] = self._loop.create_future()
        server = ApiServer()
        await server.start()
        server.load(self._objects)
        path = kubeconfig(self._folder, server.url)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(server.stop)
            part = await stack.enter_async_context(join(path, engine))
            config = Config(reconcile=ReconcileSettings(url=part.url), metrics=MetricsSettings(firmware_uuid_info=True))
            steward = assemble(Transport.from_environment(str(path)), config)
            engine.set_result(steward.engine)
            url = await stack.enter_async_context(serve(steward, "127.0.0.1", 0))
            assert await wait_until_seen(steward, 30)
            self.exporter, self.sidecar = url.removeprefix("http://"), part.url.removeprefix("http://")
            self._up.set()
            await self._end.wait()


VM, NAMESPACE, NODE = "oracle-1", "billing", "node05"  # of the sample fleet: it blocks a drain
# What KubeVirt's virt-controller serves of it.
KUBEVIRTS = f"""\
kubevirt_vmi_info{{node="{NODE}",namespace="{NAMESPACE}",name="{VM}",phase="running"}} 1
kubevirt_vmi_migration_succeeded{{vmi="{VM}",vmim="kubevirt-evacuation-x7k2p",namespace="{NAMESPACE}"}} 1
kubevirt_vmi_migration_failed{{vmi="{VM}",vmim="kubevirt-evacuation-7r8sd",namespace="{NAMESPACE}"}} 0
"""
HUB_ALERTS = ("cluster", "rank", "runbook")
# Queries that have no answer with the seeded fleet, by board and panel, and why.
EMPTY = {
    ("hub", "Firing alerts, by cluster", 0): "none waits so short a time; test_clusters.py has some",
    ("networks", "Address usage by subnet", 4): "no pool grows: the fleet stands still",
    ("steward", "Certificate valid for", 0): "the sample is served without TLS",
    ("steward", "Kinds", 5): "no request failed",
    ("steward", "Open for, by check", 0): "no finding closes: the fleet stands still",
    ("repairs", "Duration of a repair", 0): "no plan is approved",
    ("repairs", "Shadowed writes", 0): "none is in mode shadow",
    **dict.fromkeys(
        (
            ("instancetypes", "Instancetypes in use", 4),
            ("instancetypes", "Preferences in use", 4),
            ("instancetypes", "VMs by how they refer to their instancetype", 3),
            ("instancetypes", "VMs by how they refer to their preference", 3),
        ),
        "no VM has its instancetype inferred",
    ),
    ("repairs", "Blocked, by safety check", 0): "no safety check is in the way of those few that are planned",
    ("repairs", "Remediations", 4): "no safety check is in the way of those few that are planned",
    ("repairs", "Remediations", 7): "none is in mode auto",
}
pytestmark = pytest.mark.xdist_group("boards")


@dataclass(frozen=True)
class Scraped:
    """East has every fault, west has none; both have VMs of the same names and UUIDs."""

    prometheus: Prometheus
    east: SampleSteward


class KubeVirt(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(KUBEVIRTS.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def kubevirt() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), KubeVirt)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def job(name: str, **targets: str) -> Object:
    """Clusters and what is scraped there, as behind a ServiceMonitor: targets have labels of their own."""
    own = {"namespace": "kubevirt-steward", "node": "node-of-the-steward"}
    static = [{"targets": [target], "labels": {"cluster": cluster, **own}} for cluster, target in targets.items()]
    return {"job_name": name, "honor_labels": True, "static_configs": static}


def scraping(binary: Tools, *jobs: Object, rules: Sequence[Path] = ()) -> Prometheus:
    server = Prometheus(binary("prometheus"), Setup(scrape_configs=jobs, scrape_interval=1, rule_files=rules))
    server.start()
    return server


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    """Boards read what slo.yaml records, here each second; steward.yaml holds findings of a steward that is gone."""
    file = tmp_path_factory.mktemp("rules") / "slo.yaml"
    text, count = re.subn(r"\n  interval: 1m\n", "\n", (RULES / file.name).read_text(encoding="utf-8"))
    assert count
    file.write_text(text, encoding="utf-8")
    return (RULES / "steward.yaml", file)


@pytest.fixture(scope="module")
def scraped(
    binary: Tools, kubevirt: str, rules: Sequence[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scraped]:
    folders = [tmp_path_factory.mktemp(name) for name in ("east", "west")]
    with SampleSteward(ill(), folders[0]) as east, SampleSteward(healthy(), folders[1]) as west:
        server = scraping(
            binary,
            job("steward", east=east.exporter, west=west.exporter),
            job("steward-reconcile", east=east.sidecar),
            job("kubevirt", east=kubevirt),
            rules=rules,
        )
        try:
            # rates and increases need three scrapes
            server.wait_for('sum(kubevirt_steward_repair_last_run_timestamp_seconds{cluster="east"}) > 0')
            server.wait_for('count_over_time(kubevirt_steward_ready{cluster="east"}[1m]) >= 3')
            server.wait_for("count(cluster:kubevirt_steward_objective:left) >= 3")
            yield Scraped(server, east)
        finally:
            server.stop()


def every_query(
    wanted: Callable[[Board], bool] = lambda _: True,
) -> Iterator[tuple[tuple[str, str, int], Panel, PanelQuery]]:
    for board in all_boards():
        if wanted(board):
            for panel in board.panels:
                yield from (((board.id, panel.title, i), panel, query) for i, query in enumerate(panel.queries))


def unanswered(prometheus: Prometheus, asked: dict[tuple[str, str, int], str]) -> set[tuple[str, str, int]]:
    """A scrape may fail on a busy computer, so what has no answer is asked again."""
    missing = {key for key, expr in asked.items() if not prometheus.query(expr)}
    with contextlib.suppress(TimeoutError):
        wait_until(
            lambda: not any(not prometheus.query(asked[key]) for key in missing - set(EMPTY)), 20, "all have one"
        )
    return {key for key in missing if not prometheus.query(asked[key])}


def of_one_severity(query: PanelQuery) -> bool:
    """Of bars and lines for a severity each, some may find none."""
    return bool(re.search(r'severity="', query.expr)) and not is_none_here(query)


def is_none_here(query: PanelQuery) -> bool:
    """What is held while every check answers, and the bar that says that there is nothing."""
    held = "}) unless on (cluster, check)" in query.expr or " unless group by " in query.expr
    return held or ', "none", "", "")' in query.expr


def test_every_query_of_every_board_returns_what_is_seeded(scraped: Scraped) -> None:
    asked = {
        key: chosen(query.expr, name=VM)
        for key, _, query in every_query()
        if not of_one_severity(query) and not is_none_here(query)
    }
    assert not unanswered(scraped.prometheus, asked) - set(EMPTY)
    panels = {key[:2] for key, _, query in every_query() if of_one_severity(query)}
    asked = {key: chosen(query.expr, name=VM) for key, _, query in every_query() if of_one_severity(query)}
    wait_until(
        lambda: {key[:2] for key, expr in asked.items() if scraped.prometheus.query(expr)} == panels,
        20,
        "each panel has an answer for a severity",
        every=1,
    )


def test_every_query_of_the_console_returns_what_is_seeded(scraped: Scraped) -> None:
    asked = {
        key: chosen(expression(panel, query), namespace=".+", name=VM)
        for key, panel, query in every_query(fits)
        if not of_one_severity(query) and not is_none_here(query)
    }
    assert not unanswered(scraped.prometheus, asked) - set(EMPTY)


def test_every_column_of_a_table_is_a_label_of_its_rows(scraped: Scraped) -> None:
    """A label that no series has would be a column that is empty for ever. A scrape may fail on a busy computer, so
    what is missing is asked for again.
    """
    known = {
        # the VM has neither of both faults
        *(("vm", "Open findings about the VM", label) for label in ("network", "feature")),
        *(("vm", "VMI", label) for label in ("os", "instance_type", "preference")),
        ("instancetypes", "Preferences in use", "namespace"),  # they are the cluster's
        # None fires so soon; test_clusters.py has some.
        *(("hub", "Firing alerts, by cluster", each) for each in HUB_ALERTS),
    }

    def missing() -> set[tuple[str, str, str]]:
        return {
            (board.id, panel.title, label)
            for board in all_boards()
            for panel in board.panels
            for label in columns_without_rows(scraped.prometheus, panel)
        } - known

    with contextlib.suppress(TimeoutError):
        wait_until(lambda: not missing(), 60, "all columns have a label", every=2)
    assert missing() == set()


def columns_without_rows(prometheus: Prometheus, panel: Panel) -> set[str]:
    rows = [row["metric"] for query in panel.queries for row in prometheus.query(chosen(query.expr, name=VM))]
    labels = {"", *(label for row in rows for label, value in row.items() if value)}
    return {each.label for each in panel.columns if each.label not in labels or each.plain not in labels}


def test_counts_are_those_of_the_page_however_many_replicas_there_are(
    scraped: Scraped, binary: Tools, rules: Sequence[Path]
) -> None:
    """Two replicas are two targets with the same findings."""
    server = scraping(binary, job("a", east=scraped.east.exporter), job("b", east=scraped.east.exporter), rules=rules)
    try:
        server.wait_for("count(kubevirt_steward_ready) == 2")
        (fleet,) = (board for board in all_boards() if board.id == "fleet")
        panels = {panel.title: panel.queries for panel in fleet.panels}
        for severity in ("critical", "warning", "info"):
            once = server.query(f'sum(kubevirt_steward_findings{{job="a", severity="{severity}"}})')
            shown = server.query(chosen(panels[f"{severity.capitalize()} findings"][0].expr))
            assert shown[0]["value"][1] == once[0]["value"][1] != "0"
        replicas = panels["Stewards, by cluster"][1].expr
        assert server.query(chosen(replicas))[0]["value"][1] == "2"
    finally:
        server.stop()


def test_without_the_steward_no_query_has_a_number(binary: Tools, kubevirt: str, tmp_path: Path) -> None:
    """Nothing is 0 that nobody looks at; but of KubeVirt's own, and that nobody answers any more."""
    with SampleSteward(ill(), tmp_path) as east:
        server = scraping(
            binary,
            job("steward", east=east.exporter),
            job("steward-reconcile", east=east.sidecar),
            job("kubevirt", east=kubevirt),
        )
        try:
            server.wait_for("kubevirt_steward_ready == 1")
            server.wait_for("kubevirt_steward_repair_leading")
        except BaseException:
            server.stop()
            raise
    try:
        wait_until(lambda: not server.query("kubevirt_steward_ready"), 30, "the steward is not scraped any more")
        wait_until(lambda: not server.query("kubevirt_steward_repair_leading"), 30, "nor the sidecar")
        left = '{job=~"steward.*", __name__=~"kubevirt_.+"}'
        wait_until(lambda: not server.query(left), 30, "nothing that they served counts any more")
        answered = {key for key, panel, query in every_query() if panel.kind != "timeseries"
                    and server.query(chosen(query.expr, name=VM))}  # fmt: skip
        silent = ("Steward answers", "All stewards respond", "Stewards, by cluster", "Clusters without response",
                  "Responding clusters")  # fmt: skip
        assert ("fleet", "Steward answers", 0) in answered
        assert {key for key in answered if key[1] not in silent or key[2] != 0} <= {
            ("vm", title, 0) for title in ("VMI", "Succeeded migrations", "Failed migrations")
        }
    finally:
        server.stop()


# -- manifests


Apply = Callable[[Path], list[Object]]


@pytest.fixture(scope="module")
def apply(module_api_server: MakeApiServer, binary: Tools) -> Apply:
    """`apply(FOLDER)`: what `kubectl kustomize` makes of a folder of dashboards, applied and validated strictly."""
    server = module_api_server(with_crds=False)
    client = server.client()
    install(client, published("perses-operator", "grafana-operator"))
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-config-managed"}})
    kubectl, account = binary("kubectl"), server.kubeconfig("admin")

    def run(folder: Path) -> list[Object]:
        made = subprocess.run([kubectl, "kustomize", folder], capture_output=True, check=True)
        command: list[str | Path] = [kubectl, "--kubeconfig", account, "apply", "--server-side", "--validate=strict"]
        done = subprocess.run([*command, "-o", "json", "-f", "-"], input=made.stdout, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert b"Warning" not in done.stderr, done.stderr.decode()
        return list(json.loads(done.stdout)["items"])

    return run


def by_kind(objects: list[Object]) -> dict[str, list[Object]]:
    kinds: dict[str, list[Object]] = {}
    for each in objects:
        kinds.setdefault(each["kind"], []).append(each)
    return kinds


def test_config_maps_and_dashboards_of_grafana_are_taken(apply: Apply) -> None:
    kinds = by_kind(apply(REPO / "dashboards/grafana-operator"))
    maps = {each["metadata"]["name"]: each for each in kinds.pop("ConfigMap")}
    dashboards = kinds.pop("GrafanaDashboard")
    assert not kinds
    assert len(dashboards) == len(maps) == len(all_boards())
    for each in dashboards:
        asked = each["spec"]["configMapRef"]
        held = maps[asked["name"]]
        assert held["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert json.loads(held["data"][asked["key"]])["uid"] == each["metadata"]["name"]


def test_the_same_config_maps_serve_grafanas_sidecar_alone(apply: Apply) -> None:
    kinds = by_kind(apply(REPO / "dashboards/grafana"))
    assert {kind: len(each) for kind, each in kinds.items()} == {"ConfigMap": len(all_boards())}


def test_config_maps_of_the_console_are_taken(apply: Apply) -> None:
    objects = apply(REPO / "deploy/helm/kubevirt-steward/files/dashboards/console")
    assert {each["metadata"]["namespace"] for each in objects} == {"openshift-config-managed"}
    assert all(each["metadata"]["labels"]["console.openshift.io/dashboard"] == "true" for each in objects)
    titles = {json.loads(text)["title"] for each in objects for text in each["data"].values()}
    assert titles == {f"KubeVirt steward / {board.title}" for board in all_boards() if fits(board)}


def test_dashboards_of_perses_are_taken(apply: Apply) -> None:
    objects = apply(artifact("perses"))
    assert {(each["apiVersion"], each["kind"]) for each in objects} == {("perses.dev/v1alpha2", "PersesDashboard")}
    for each in objects:
        (file,) = artifact("perses").glob(f"{each['metadata']['name'].removeprefix('kubevirt-steward-')}.yaml")
        written = read_yaml(file.read_text(encoding="utf-8"))
        assert each["spec"]["config"]["panels"] == written["spec"]["config"]["panels"]  # nothing was pruned
