"""A dump gives the findings of its cluster, in whatever layout; and reports what it lacks."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.apiserver.resources import RESOURCES
from demo.apiserver.server import kubeconfig
from demo.fleet.sample import sample_fleet
from exporter.__main__ import main
from exporter.app import assemble, wait_until_seen
from exporter.config.settings import Config
from exporter.dump import read_dump
from exporter.engine.engine import Engine
from exporter.findings.finding import Finding
from exporter.kube.transport import Transport
from exporter.store.source import Source, Undecodable
from tests.corpus import objects as real_objects
from tests.dumps import LAYOUTS, many, plain_list
from tests.evaluation import NOW, api_kinds
from tests.fakeapi.apiserver import FakeApiServer
from tests.manifests import Object
from tests.shared import data, reference

Outline = set[tuple[str, str, str, str]]
Check = Callable[..., tuple[int, Any]]


def outline(findings: Any) -> Outline:
    return {(f.fingerprint, f.reason, f.severity.value, str(f.subject)) for f in findings}


def read(path: Path | str, *, now: float = NOW, complete: bool = False) -> Engine:
    return asyncio.run(read_dump(str(path), now, Config(), complete=complete, progress=lambda _: None))[0]


def sync_states(engine: Engine) -> dict[str, str]:
    return {source.name: source.sync_state.value for source in engine.cluster.all(Source)}


def unread(engine: Engine) -> dict[str, str]:
    return {Path(undecodable.object_name).name: undecodable.why for undecodable in engine.cluster.all(Undecodable)}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Object], Outline]:
    """The objects of the demo's fleet as an API server has them, and the findings of watching it."""

    async def live() -> tuple[list[Object], list[Finding]]:
        server = FakeApiServer()
        server.load(sample_fleet(datetime.now(UTC)).objects)
        await server.start()
        steward = assemble(Transport.from_environment(str(kubeconfig(tmp_path_factory.mktemp("live"), server.url))))
        async with steward.watching():
            assert await wait_until_seen(steward, 30)
            found = list(steward.engine.findings())
        await server.stop()
        return [each for row in RESOURCES for each in server.objects(row.plural)], found

    objects, found = asyncio.run(live())
    assert len(found) > 5
    return objects, outline(found)


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    """`steward check --from PATH …`: the exit code, and the output, parsed if it is JSON."""

    def run(path: Path | str, *words: str) -> tuple[int, Any]:
        code = main(["check", "--from", str(path), *words])
        shown = capsys.readouterr()
        return code, json.loads(shown.out) if "json" in words else shown.out + shown.err

    return run


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_findings_of_the_live_cluster(
    layout: str, fleet: tuple[list[Object], Outline], tmp_path: Path
) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    path = LAYOUTS[layout](folder, fleet[0])  # the fleet lacks objects of some kinds
    engine = read(path, now=datetime.now(UTC).timestamp(), complete=True)

    assert outline(engine.findings()) == fleet[1]
    assert set(sync_states(engine).values()) == {"read"}
    assert list(unread(engine)) == ["old-import.net1"]
    assert [(u.check, u.partition) for u in engine.unknowns() if u.check == "ipam_claims"] == [
        ("ipam_claims", "legacy")
    ]


def test_standard_input_is_read(
    fleet: tuple[list[Object], Outline], tmp_path: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    for layout in ("tar.gz", "one YAML", "zip"):
        folder = tmp_path / layout
        folder.mkdir()
        content = LAYOUTS[layout](folder, fleet[0]).read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        code, report = check("-", "--complete", "-o", "json")
        assert code == 2  # the undecodable claim
        assert {f["fingerprint"] for f in report["findings"]} == {fingerprint for fingerprint, *_ in fleet[1]}


def claim(name: str = "db.blue", **meta: Any) -> Object:
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "db", "uid": "u1"}
    return {
        "apiVersion": "k8s.cni.cncf.io/v1alpha1",
        "kind": "IPAMClaim",
        "metadata": {
            "namespace": "ns",
            "name": name,
            "uid": f"uid-{name}",
            "ownerReferences": [owner],
            "labels": {"kubevirt.io/vm": "db"},
            "finalizers": ["kubevirt.io/persistent-ipam"],
            "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            **meta,
        },
        "spec": {"network": "blue", "interface": ""},
        "status": {"ips": ["10.0.0.5/24"]},
    }


def vm(**meta: Any) -> Object:
    named = {"namespace": "ns", "name": "db", "uid": "u1", "creationTimestamp": "2026-01-01T00:00:00Z", **meta}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": named}


def written(path: Path, *documents: Object) -> Path:
    path.write_text(many(documents), encoding="utf-8")
    return path


def test_a_kind_in_no_file_is_missing_and_not_empty(tmp_path: Path, check: Check) -> None:
    path = written(tmp_path / "claims.yaml", plain_list([claim(), claim(namespace="other")]))

    code, report = check(path, "-o", "json")
    states = {source["kind"]: source["state"] for source in report["sources"]}
    assert (code, report["findings"]) == (2, [])
    assert (states["IPAMClaim"], states["VirtualMachine"]) == ("read", "missing")
    assert any("kubectl get virtualmachines.kubevirt.io -A -o yaml" in u["why"] for u in report["unknown"])

    code, text = check(path)
    command = next(line.partition("add: ")[2] for line in text.splitlines() if "; add: kubectl get " in line)
    assert command.count(",") > 2
    assert "ipamclaims" not in command
    assert check(path, "--check", "sources")[0] == 0


def test_in_a_complete_dump_a_missing_kind_is_empty(tmp_path: Path, check: Check) -> None:
    path = written(tmp_path / "claims.yaml", claim())
    code, report = check(path, "--complete", "--check", "ipam_claims", "-o", "json")
    assert code == 1
    assert [f["reason"] for f in report["findings"]] == ["OrphanClaim"]
    _, report = check(written(path, claim(), vm()), "--complete", "-o", "json")
    assert "OrphanClaim" not in [f["reason"] for f in report["findings"]]
    assert check(written(path, vm()), "--complete", "--check", "ipam_claims")[0] == 0


def test_an_empty_list_of_a_kind_proves_that_it_was_collected(tmp_path: Path) -> None:
    typed = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineList", "items": []}
    written(tmp_path / "vms.yaml", typed, plain_list([]))
    (tmp_path / "pods.json").write_text('{"kind":"PodList","apiVersion":"v1","items":null}', encoding="utf-8")

    seen = sync_states(read(tmp_path))
    assert (seen["VirtualMachine"], seen["Pod"]) == ("read", "read")
    assert (seen["VirtualMachineInstance"], seen["IPAMClaim"]) == ("missing", "missing")


@pytest.mark.parametrize(
    ("first", "second", "wins"),
    [
        ({"resourceVersion": "7"}, {"resourceVersion": "12"}, 1),
        ({"resourceVersion": "12"}, {"resourceVersion": "7"}, 0),
        ({"uid": "a", "resourceVersion": "12"}, {"uid": "b", "resourceVersion": "7"}, 0),
        ({"uid": "a", "resourceVersion": ""}, {"uid": "b", "creationTimestamp": "2026-02-01T00:00:00Z"}, 1),
        ({"resourceVersion": "", "creationTimestamp": "2026-02-01T00:00:00Z"}, {"uid": "b"}, 0),
        ({"resourceVersion": "7"}, {"resourceVersion": "7", "labels": "malformed"}, 0),
    ],
)
def test_of_two_states_of_an_object_the_newer_one_counts(
    first: Object, second: Object, wins: int, tmp_path: Path
) -> None:
    kind = api_kinds()["IPAMClaim"]
    written(tmp_path / "1.yaml", claim(**{**first, "finalizers": ["first"]}))
    written(tmp_path / "2.yaml", claim(**{**second, "finalizers": ["second"]}))

    (held,) = read(tmp_path).cluster.all(kind.record)
    assert held.finalizers == (("first", "second")[wins],)


def test_a_completed_pod_and_other_kinds_are_left_out(tmp_path: Path) -> None:
    meta = {"namespace": "ns", "name": "p", "resourceVersion": "1", "labels": {"kubevirt.io": "virt-launcher"}}
    launcher = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
    done = {**launcher, "metadata": {**meta, "resourceVersion": "2"}, "status": {"phase": "Succeeded"}}
    other = {"apiVersion": "example.org/v1", "kind": "Pod", "metadata": {"name": "not a core Pod"}}
    pods = api_kinds()["Pod"].record

    assert read(written(tmp_path / "a.yaml", launcher, other)).cluster.count(pods) == 1
    assert read(written(tmp_path / "a.yaml", launcher, done)).cluster.count(pods) == 0


def test_an_unsupported_version_of_a_kind_is_undecodable(tmp_path: Path) -> None:
    engine = read(written(tmp_path / "a.yaml", {**vm(), "apiVersion": "kubevirt.io/v1beta9"}, claim()))
    assert "unsupported apiVersion kubevirt.io/v1beta9; supported are v1 and v1alpha3" in unread(engine)["db"]
    assert ("ipam_claims", "ns") in [(u.check, u.partition) for u in engine.unknowns()]


def test_a_finding_without_a_known_beginning_has_none_in_a_single_look(tmp_path: Path, check: Check) -> None:
    path, now = written(tmp_path / "claims.yaml", claim()), "2026-11-21T17:30:00Z"
    _, report = check(path, "--complete", "--now", now, "-o", "json")
    assert {(f["since"], f["sinceSource"]) for f in report["findings"]} == {("", "firstSeen")}
    assert check(path, "--complete", "--now", now, "--min-age", "10m", "--check", "ipam_claims")[0] == 0


@reference("a folder of real objects is read and evaluated without an error")
def test_real_objects_are_read_and_evaluated_without_an_error() -> None:
    engine = read(data() / "corpus", complete=True)
    assert not any(evaluated.errors for evaluated in engine.evaluated.values())
    named = {thing["metadata"].get("name") for _, thing in real_objects() if thing["kind"] == "VirtualMachine"}
    held = {record.name for record in engine.cluster.all(api_kinds()["VirtualMachine"].record)}
    assert held == {name for name in named if name}
    assert len(yaml.safe_dump(sorted(held))) > 100
