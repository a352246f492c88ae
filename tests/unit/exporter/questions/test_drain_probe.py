"""The probe of a drain: it never asks for anything but a dry run, and what is answered is read as KubeVirt means it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from exporter.__main__ import main
from exporter.domain.drains.departure import DrainState
from exporter.facts.record import Ref
from exporter.kube.errors import UnreachableError
from exporter.kube.probe import NotDryError, Probe
from exporter.kube.transport import Transport
from exporter.questions.drain import exit_code, probed, unsafe, unsettled
from exporter.questions.drain.probing import EvictionProbeAnswer
from exporter.questions.drain.report import Drain, NodeReport, VMReport

from ....case_files import read_yaml
from ....drain_rows import Drained, Row, guest, pdb, slices
from ....secure_server import config
from ....shared import REPO

POD = Ref("Pod", "ns", "virt-launcher-a", "u1")


@dataclass
class Asked:
    """A server that takes down what it is asked, and says what it is reported to."""

    url: str = ""
    status: int = 201
    message: str = ""
    requests: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.requests.append((request.method, request.path, dict(request.query), await request.json()))
        await asyncio.sleep(0)
        self.at_once -= 1
        status = {"kind": "Status", "apiVersion": "v1", "code": self.status, "message": self.message}
        return web.json_response(status, status=self.status)


@asynccontextmanager
async def asked(tmp_path: Path, **reported: Any) -> AsyncIterator[tuple[Asked, Transport]]:
    server = Asked(**reported)
    runner = web.ServerRunner(web.Server(server.handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    transport = Transport.from_environment(config(tmp_path / "config", server.url))
    try:
        yield server, transport
    finally:
        await transport.close()
        await runner.cleanup()


async def nothing(_: float) -> None:
    return


async def test_a_dry_run_says_so_in_the_query_and_in_the_body(tmp_path: Path) -> None:
    async with asked(tmp_path) as (server, transport):
        assert await Probe(transport, sleep=nothing).ask(POD) == (201, "")
    ((method, path, query, body),) = server.requests
    assert (method, path) == ("POST", "/api/v1/namespaces/ns/pods/virt-launcher-a/eviction")
    assert query == {"dryRun": "All"}
    assert (body["apiVersion"], body["kind"]) == ("policy/v1", "Eviction")
    assert body["metadata"] == {"namespace": "ns", "name": "virt-launcher-a"}
    assert body["deleteOptions"] == {"dryRun": ["All"], "preconditions": {"uid": "u1"}}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"deleteOptions": None},
        {"deleteOptions": {}},
        {"deleteOptions": {"dryRun": []}},
        {"deleteOptions": {"dryRun": "All"}},
        {"dryRun": ["All"]},
    ],
)
async def test_what_is_no_dry_run_by_its_body_is_never_sent(body: Row, tmp_path: Path) -> None:
    async with asked(tmp_path) as (server, transport):
        with pytest.raises(NotDryError, match="would not be a dry run"):
            await Probe(transport, sleep=nothing).send("/api/v1/namespaces/ns/pods/a/eviction", body)
    assert server.requests == []


async def test_one_at_a_time_and_two_a_second(tmp_path: Path) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async with asked(tmp_path) as (server, transport):
        probe = Probe(transport, sleep=sleep)
        await asyncio.gather(*(probe.ask(POD) for _ in range(4)))
    assert (len(server.requests), server.most_at_once, pauses) == (4, 1, [0.5] * 4)


async def test_an_answer_is_given_with_its_code_and_text(tmp_path: Path) -> None:
    async with asked(tmp_path, status=429, message="Eviction request for target Pod") as (_, transport):
        assert await Probe(transport, sleep=nothing).ask(POD) == (429, "Eviction request for target Pod")


async def test_no_answer_is_an_error(tmp_path: Path) -> None:
    transport = Transport.from_environment(config(tmp_path / "config", "http://127.0.0.1:9"))
    with pytest.raises(UnreachableError):
        await Probe(transport, sleep=nothing).ask(POD)
    await transport.close()


REQUESTS = 'admission webhook "x" denied the request: Eviction triggered evacuation of VMI "ns/a"'
REQUESTED = (
    'admission webhook "x" denied the request: Evacuation in progress: Eviction triggered evacuation of VMI "ns/a"'
)
NOT_ABLE = "VMI a is configured with an eviction strategy but is not live-migratable"
PDB = "Cannot evict pod as it would violate the pod's disruption budget."
PDBS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
DOWN = 'Internal error occurred: failed calling webhook "x": connection refused'


@pytest.mark.parametrize(
    ("code", "text", "said"),
    [
        (200, "", EvictionProbeAnswer.PASSES),
        (201, "", EvictionProbeAnswer.PASSES),
        (429, REQUESTS, EvictionProbeAnswer.REQUESTS),
        (429, REQUESTED, EvictionProbeAnswer.REQUESTED),
        (429, NOT_ABLE, EvictionProbeAnswer.NOT_MIGRATABLE),
        (429, "Eviction request for target Pod", EvictionProbeAnswer.OTHER_POD),
        (429, "kubevirt failed getting the vmi: not found", EvictionProbeAnswer.ORPHAN),
        (429, PDB, EvictionProbeAnswer.PDB),
        (500, PDBS, EvictionProbeAnswer.PDBS),
        (500, DOWN, EvictionProbeAnswer.WEBHOOK_DOWN),
        (403, 'pods "a" is forbidden', EvictionProbeAnswer.FORBIDDEN),
        (404, 'pods "a" not found', EvictionProbeAnswer.GONE),
        (429, "too many requests", EvictionProbeAnswer.UNCLEAR),
        (500, "etcd is full", EvictionProbeAnswer.UNCLEAR),
    ],
)
def test_what_an_answer_means(code: int, text: str, said: EvictionProbeAnswer) -> None:
    vm = VMReport(POD, DrainState.WAITING)
    assert probed(vm, code, text, down=False).said == said


NONE: Row = {"strategy": "None"}
ALONE = {"desired": 1, "expected": 1, "healthy": 1}


@pytest.mark.parametrize(
    ("rows", "fits"),
    [
        (guest("a"), {REQUESTS, REQUESTED}),
        (guest("a", evacuation="gone"), {REQUESTS, REQUESTED}),
        (
            guest("a", {"requests": {"memory": "900Gi"}}),
            {REQUESTS, REQUESTED},
        ),  # NoTarget: an eviction requests its evacuation all the same
        (guest("a", strategy="External"), {REQUESTS, REQUESTED}),
        (guest("a", migratable=False), {NOT_ABLE}),
        (guest("a", **NONE), {""}),
        ([*guest("a", **NONE), pdb("b", "a", **ALONE)], {PDB}),
        ([*guest("a", **NONE), pdb("b", "a"), pdb("c", "a")], {PDBS}),
        (guest("a")[1:], {"kubevirt failed getting the vmi: x"}),
        ([*guest("a"), slices(False)], {DOWN}),
    ],
)
def test_what_fits_what_was_worked_out_and_what_contradicts_it(rows: list[Row], fits: set[str]) -> None:
    answers = {"": 201, REQUESTS: 429, REQUESTED: 429, NOT_ABLE: 429, PDB: 429, PDBS: 500, DOWN: 500}
    answers["kubevirt failed getting the vmi: x"] = 429
    view = Drained(*rows)
    vm, down = view.one(), bool(view.take().webhook)
    assert vm.pod == Ref("Pod", "ns", "virt-launcher-a", "uid-Pod-ns-virt-launcher-a")
    fitting = {text for text, code in answers.items() if not probed(vm, code, text, down=down).contradicts}
    assert fitting == fits


@pytest.mark.parametrize(("code", "text"), [(403, "forbidden"), (404, "not found"), (500, "etcd is full")])
def test_an_answer_that_says_nothing_contradicts_nothing(code: int, text: str) -> None:
    vm = Drained(*guest("a")).one()
    assert not probed(vm, code, text, down=False).contradicts


@pytest.mark.parametrize(
    ("code", "text", "doubtful"),
    [(429, REQUESTS, False), (404, "", False), (201, "", True), (403, "", True), (500, "", True)],
)
def test_a_probe_that_contradicts_or_is_refused_leaves_it_open(code: int, text: str, doubtful: bool) -> None:
    vm = VMReport(POD, DrainState.WAITING, answer="Migrates")
    vm = msgspec.structs.replace(vm, probe=probed(vm, code, text, down=False))
    node = NodeReport("n", True, False, "", (), (), {}, 0, 0, 0, (vm,))
    drain = Drain(0, (), (), "", None, (node,))
    assert (exit_code(drain), unsettled(drain)) == (0, doubtful)


@pytest.mark.parametrize(("version", "said"), [("v1.4.0", ""), ("v1.3.1", "KubeVirt v1.3.1"), ("", "not known")])
def test_a_release_that_may_not_know_a_dry_run_is_not_asked(version: str, said: str) -> None:
    why = unsafe(Drained(kubevirt={"version": version}).engine.cluster)
    assert (said in why, bool(why)) == (True, bool(said))


def test_what_goes_anyway_is_not_asked_for() -> None:
    assert Drained(*guest("a", deleting=True)).one().pod is None
    assert Drained(*guest("a")[:1]).one().pod is None


def test_a_dump_can_not_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drain", "node01", "--probe", "--from", "x"]) == 2
    assert "--probe asks a cluster" in capsys.readouterr().err


def test_the_role_of_the_probe_is_its_own_and_the_exporters_is_without_it() -> None:
    base = REPO / "deploy/base"
    probe = read_yaml((base / "drain-probe/clusterrole.yaml").read_text(encoding="utf-8"))
    assert probe["rules"] == [{"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}]
    exporter = read_yaml((base / "exporter/clusterrole.yaml").read_text(encoding="utf-8"))
    assert {verb for rule in exporter["rules"] for verb in rule["verbs"]} == {"list", "watch"}
