"""The probe of edits: it never asks for anything but a dry run of no change, and what is answered is compared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.errors import ApiError, PlainError
from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from exporter.cli.input.probes import ask_edits, edits
from exporter.engine.evaluate import at_once
from exporter.facts.record import Ref
from exporter.kube.probe import EditProbe, NotDryError
from exporter.kube.transport import Transport
from exporter.questions.edits import EditProbed, EditProbes, Expected, chosen, expected_edits, probed, summed, unsettled
from exporter.store.source import SyncState

from ....case_files import read_yaml
from ....evaluation import Evaluation
from ....fakeapi.apiserver import FakeApiServer
from ....fakeapi.faults import Fault, forbidden, too_many_requests
from ....impacts import HOST_DISK, REBOOT, VSOCK, Row, evaluation_of, kubevirt, vm
from ....rows import full
from ....shared import REPO

DENIED = 'admission webhook "virtualmachine-validator.kubevirt.io" denied the request: '
NO_HOST_DISK = f"{DENIED}HostDisk feature gate is not enabled"
NO_POLICY = "RebootPolicy is specified but the RebootPolicy feature gate is not enabled"
VM = Ref("VirtualMachine", "ns", "db", "u-db")


async def nothing(_: float) -> None:
    return


@asynccontextmanager
async def served(tmp_path: Path, *rows: Row) -> AsyncIterator[tuple[FakeApiServer, Transport]]:
    server = FakeApiServer()
    server.load(list(map(full, rows)))
    await server.start()
    transport = Transport.from_environment(str(kubeconfig(tmp_path, server.url)))
    try:
        yield server, transport
    finally:
        await transport.close()
        await server.stop()


def refusing(server: FakeApiServer, name: str, code: int, text: str, **more: Any) -> None:
    server.faults.add(Fault(f"/{name}", "PATCH", answer=lambda _call, _target: ApiError(code, "", text), **more))


# -- what is sent


async def test_it_is_an_empty_patch_with_a_dry_run_in_the_query_and_nothing_changes(tmp_path: Path) -> None:
    async with served(tmp_path, *vm("db", HOST_DISK)) as (server, transport):
        before = server.version
        assert await EditProbe(transport, sleep=nothing).ask(VM) == (200, "")
        (call,) = server.requests
        assert (call.method, call.path) == ("PATCH", "/apis/kubevirt.io/v1/namespaces/ns/virtualmachines/db")
        assert (call.query, call.json()) == ({"dryRun": "All"}, {})
        assert call.headers["Content-Type"] == "application/merge-patch+json"
        assert server.version == before


@pytest.mark.parametrize(
    ("query", "patch"),
    [
        ((), {}),
        ((("dryRun", ""),), {}),
        ((("dryRun", "None"),), {}),
        ((("dryRun", "All"), ("force", "true")), {}),
        ((("dryRun", "All"),), {"metadata": {"labels": {"a": "b"}}}),
    ],
)
async def test_what_is_no_dry_run_of_no_change_is_never_sent(
    query: tuple[tuple[str, str], ...], patch: Row, tmp_path: Path
) -> None:
    async with served(tmp_path) as (server, transport):
        with pytest.raises(NotDryError, match="would not be a dry run"):
            await EditProbe(transport, sleep=nothing).send("/apis/kubevirt.io/v1/x", query, patch)
        assert list(server.requests) == []


async def test_two_a_second(tmp_path: Path) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async with served(tmp_path, *vm("db")) as (_, transport):
        probe = EditProbe(transport, sleep=sleep)
        await asyncio.gather(*(probe.ask(VM) for _ in range(3)))
    assert pauses == [0.5] * 3


# -- what is expected


def expectations(evaluation: Evaluation, *rules: str) -> dict[str, tuple[bool, tuple[str, ...]]]:
    found = at_once(expected_edits(evaluation.engine.cluster, rules or None))
    return {each.vm.name: (each.refused, tuple(rule.id for rule in each.refusing)) for each in found}


def test_what_is_asked_is_what_admission_checks_and_what_is_refused() -> None:
    cpus = {"domain": {"cpu": {"dedicatedCpuPlacement": True}}}
    evaluation = evaluation_of(
        kubevirt(gates=("VSOCK",)),
        *vm("plain"),
        *vm("refused", HOST_DISK, VSOCK),
        *vm("allowed", VSOCK),
        *vm("not-checked", cpus),
        *vm("machine", {"domain": {"machine": {"type": "pc-i440fx"}}}),
        vm("deleted", HOST_DISK)[0] | {"deleting": True},
    )
    assert expectations(evaluation) == {
        "refused": (True, ("host_disk",)),
        "allowed": (False, ()),
        "machine": (True, ("emulated_machines",)),
    }
    assert expectations(evaluation, "vsock") == {"refused": (True, ("host_disk",)), "allowed": (False, ())}


def test_of_many_that_are_alike_few_are_asked_and_refused_ones_first() -> None:
    vms = [row for at in range(6) for row in (*vm(f"a{at}", VSOCK), *vm(f"b{at}", HOST_DISK))]
    evaluation = evaluation_of(kubevirt(gates=("VSOCK",)), *vms, *vm("c", VSOCK, HOST_DISK))
    every = at_once(expected_edits(evaluation.engine.cluster))
    assert [each.vm.name for each in chosen(every, 5)] == ["b0", "c", "a0", "b1", "a1"]
    assert len(chosen(every, 100)) == 13


# -- what an answer means


def expected_of(*features: Row, gates: tuple[str, ...] = ()) -> Expected:
    evaluation = evaluation_of(kubevirt("v1.9.0", gates=gates), *vm("db", *features))
    (found,) = at_once(expected_edits(evaluation.engine.cluster))
    return found


REFUSED, ALLOWED = (HOST_DISK,), (VSOCK,)
KYVERNO = 'admission webhook "validate.kyverno.svc-fail" denied the request: no'
POLICY = "virtualmachines \"db\" is forbidden: ValidatingAdmissionPolicy 'labels' with binding 'b' denied request: no"


@pytest.mark.parametrize(
    ("features", "code", "text", "said", "differs", "contradicts"),
    [
        (REFUSED, 422, NO_HOST_DISK, "refused", False, False),
        (REFUSED, 500, f"Internal error occurred: {NO_HOST_DISK}", "refused", False, False),
        (REFUSED, 403, NO_HOST_DISK, "refused", False, False),
        (REFUSED, 422, f"{DENIED}HostDisk feature gate is not enabled, and more", "refused", False, False),
        (REFUSED, 200, "", "taken", True, True),
        (REFUSED, 422, f"{DENIED}spec.template.spec.domain.cpu is odd", "refused", True, False),
        (ALLOWED, 200, "", "taken", False, False),
        (ALLOWED, 422, f"{DENIED}VSOCK feature gate is not enabled in kubevirt-config", "refused", True, True),
        (ALLOWED, 422, NO_HOST_DISK, "refused", True, True),
        (ALLOWED, 422, f"{DENIED}no such instancetype", "refused", True, False),
        (ALLOWED, 400, KYVERNO, "refused", True, False),
        (ALLOWED, 422, POLICY, "refused", True, False),
        (REFUSED, 403, 'virtualmachines "db" is forbidden: User "x" cannot patch', "forbidden", False, False),
        (REFUSED, 404, 'virtualmachines "db" not found', "gone", False, False),
        (REFUSED, 409, "the object has been modified", "unclear", False, False),
        (REFUSED, 429, "too many requests", "unclear", False, False),
        (REFUSED, 500, 'failed calling webhook "x": connection refused', "unclear", False, False),
        (REFUSED, 422, 'VirtualMachine "db" is invalid: spec.x: Required value', "unclear", False, False),
        (ALLOWED, 0, "no response from https://x in time", "unclear", False, False),
        (ALLOWED, 302, "", "unclear", False, False),
    ],
)
def test_what_an_answer_means_and_whether_it_is_the_expected_one(
    features: tuple[Row, ...], code: int, text: str, said: str, differs: bool, contradicts: bool
) -> None:
    answer = probed(expected_of(*features, gates=("VSOCK",)), code, text)
    assert (answer.said, answer.differs, answer.contradicts) == (said, differs, contradicts)
    assert bool(answer.advice) is differs
    assert (answer.expected, answer.features) == (("refused", ("host_disk",)) if features is REFUSED else ("taken", ()))


def test_the_advice_names_the_setting_for_builds_of_another_version() -> None:
    answer = probed(expected_of(HOST_DISK), 200, "")
    assert "set assumeUpstreamVersion if this is no build of v1.9.0" in answer.advice
    assert "validate.kyverno.svc-fail refuses it" in probed(expected_of(VSOCK, gates=("VSOCK",)), 400, KYVERNO).advice


def test_every_message_of_what_admission_refuses_is_known_again() -> None:
    both = (
        "downwardMetrics virtio serial is not allowed: DownwardMetrics feature gate is not enabled.",
        "downwardMetrics disks are not allowed: DownwardMetrics feature gate is not enabled.",
    )
    metrics = expected_of({"domain": {"devices": {"downwardMetrics": {}}}})
    assert [probed(metrics, 422, DENIED + text).differs for text in both] == [False, False]
    machine = expected_of({"domain": {"machine": {"type": "pc-i440fx"}}})
    text = "spec.template.spec.domain.machine.type is not supported: pc-i440fx (allowed values: [q35* pc-q35*])"
    assert not probed(machine, 422, DENIED + text).differs
    # Nearly every VM asks for a hardware type, and other things may be unsupported too.
    assert not probed(expected_of(VSOCK, gates=("VSOCK",)), 422, f"{DENIED}model x is not supported").contradicts


# -- who is asked, and how many


def asked(evaluation: Evaluation, probe: EditProbe, **more: Any) -> Any:
    return ask_edits(evaluation.engine.cluster, probe, **more)


ROWS = (
    kubevirt("v1.9.0", gates=("VSOCK",)),
    *vm("db", HOST_DISK),
    *vm("vsock", VSOCK),
    *vm("reboot", REBOOT),
    *vm("plain"),
)


async def test_each_answer_is_compared_with_what_the_checks_say(tmp_path: Path) -> None:
    async with served(tmp_path, *ROWS) as (server, transport):
        refusing(server, "db", 422, NO_HOST_DISK)
        refusing(server, "reboot", 500, f"{DENIED}{NO_POLICY}")
        probes = await asked(evaluation_of(*ROWS), EditProbe(transport, sleep=nothing))
        assert {call.path.rpartition("/")[2] for call in server.requests} == {"db", "vsock", "reboot"}
    assert (probes.asked, probes.agree, probes.not_asked, probes.why) == (3, 2, 0, "")
    ((name, expected, said),) = [(each.vm.name, each.expected, each.said) for each in probes.differences]
    assert (name, expected, said) == ("reboot", "taken", "refused")
    assert unsettled(probes)
    text = edits(probes)
    assert "VirtualMachine ns/reboot  taken     refused" in text
    assert "Edits of 3 VMs, by dry runs: 2 as expected, 1 otherwise, 0 without an answer. Nothing was changed." in text


async def test_a_timeout_and_a_full_server_say_nothing_of_a_vm(tmp_path: Path) -> None:
    async with served(tmp_path, *ROWS) as (server, transport):
        server.faults.add(Fault("/db", "PATCH", frozen=True))
        server.faults.add(Fault("/vsock", "PATCH", answer=too_many_requests()))
        probe = EditProbe(transport, sleep=nothing, read_seconds=0.2)
        probes = await asked(evaluation_of(*ROWS), probe)
    assert {each.vm.name: each.said for each in probes.unanswered} == {"db": "unclear", "vsock": "unclear"}
    assert (probes.agree, probes.differences, unsettled(probes)) == (1, (), True)


async def test_without_the_permission_nobody_asks_on_and_that_is_said(tmp_path: Path) -> None:
    rows = [kubevirt("v1.9.0"), *(row for at in range(9) for row in vm(f"vm{at}", HOST_DISK))]
    async with served(tmp_path, *rows) as (server, transport):
        server.faults.add(Fault("/virtualmachines", "PATCH", answer=forbidden()))
        probes = await asked(evaluation_of(*rows), EditProbe(transport, sleep=nothing))
        assert len(server.requests) == 3
    assert (probes.asked, probes.not_asked, probes.agree, probes.unanswered_in_all) == (3, 6, 0, 3)
    assert probes.why.startswith("3 in a row said nothing: 403 ")
    assert "6 not asked: 3 in a row said nothing: 403" in edits(probes)
    assert unsettled(probes)


async def test_how_many_were_not_asked_is_said(tmp_path: Path) -> None:
    rows = [kubevirt("v1.9.0"), *(row for at in range(9) for row in vm(f"vm{at}", HOST_DISK))]
    async with served(tmp_path, *rows) as (server, transport):
        refusing(server, "vm", 422, NO_HOST_DISK)
        probes = await asked(evaluation_of(*rows), EditProbe(transport, sleep=nothing), most=4)
    assert (probes.asked, probes.agree, probes.not_asked) == (4, 4, 5)
    assert "5 not asked: only 4 are asked for; --probe-most takes more" in edits(probes)
    assert not unsettled(probes)


async def test_where_nobody_knows_what_is_allowed_nobody_is_asked(tmp_path: Path) -> None:
    async with served(tmp_path, *ROWS) as (server, transport):
        probe = EditProbe(transport, sleep=nothing)
        unknown = await asked(evaluation_of(*ROWS[1:]), probe)
        blind = evaluation_of(*ROWS)
        blind.sync_state("VirtualMachine", SyncState.FORBIDDEN)
        unseen = await asked(blind, probe)
        assert list(server.requests) == []
    assert edits(unknown) == "Edits: nobody was asked: no KubeVirt object is deployed.\n"
    assert edits(unseen) == "Edits: nobody was asked: VirtualMachine can't be seen.\n"
    assert (unsettled(unknown), unsettled(unseen), unsettled(summed((), 0, ""))) == (True, True, False)


async def test_an_answer_that_is_cut_or_no_json_is_no_verdict(tmp_path: Path) -> None:
    async with served(tmp_path, *ROWS) as (server, transport):
        server.faults.add(Fault("/db", "PATCH", cut_after=20))
        page = "<html>denied</html>"
        server.faults.add(Fault("/vsock", "PATCH", answer=lambda _call, _target: PlainError(502, page, {})))
        probes = await asked(evaluation_of(*ROWS), EditProbe(transport, sleep=nothing))
    assert {each.vm.name: each.said for each in probes.unanswered} == {"db": "unclear", "vsock": "unclear"}
    assert probes.differences == ()


# -- on the command line


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(words)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.mark.parametrize("words", [["check", "--probe-features"], ["impact", "--disable", "VSOCK", "--probe"]])
async def test_the_command_asks_and_prints_what_differs(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with served(tmp_path, *ROWS[:3]) as (server, _):
        refusing(server, "vsock", 422, f"{DENIED}VSOCK feature gate is not enabled in kubevirt-config")
        refusing(server, "db", 422, NO_HOST_DISK)
        before = server.version
        config = ["--kubeconfig", str(kubeconfig(tmp_path, server.url))]
        code, out, _ = await asyncio.to_thread(run, [*words, *config], capsys)
        assert code == 2
        assert "VirtualMachine ns/vsock  taken     refused" in out
        assert "1 otherwise" in out
        code, out, _ = await asyncio.to_thread(run, [*words, *config, "-o", "json"], capsys)
        (differing,) = json.loads(out)["probes"]["differences"]
        assert (code, differing["vm"]["name"], differing["contradicts"]) == (2, "vsock", True)
        patched = {call.path.rpartition("/")[2] for call in server.requests if call.method == "PATCH"}
        assert patched == ({"db", "vsock"} if words[0] == "check" else {"vsock"})
        assert server.version == before
        assert {call.query["dryRun"] for call in server.requests if call.method == "PATCH"} == {"All"}


async def test_without_the_option_nothing_but_reads_is_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with served(tmp_path, *ROWS) as (server, _):
        config = ["--kubeconfig", str(kubeconfig(tmp_path, server.url))]
        for words in (["check"], ["impact", "--disable", "VSOCK"]):
            _, out, _ = await asyncio.to_thread(run, [*words, *config, "-o", "json"], capsys)
            assert "probes" not in json.loads(out)
        assert {call.method for call in server.requests} == {"GET"}


@pytest.mark.parametrize(
    ("words", "option"),
    [(["check", "--probe-features"], "--probe-features"), (["impact", "--disable", "X", "--probe"], "--probe")],
)
def test_a_dump_can_not_be_asked(
    words: list[str], option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": []}))
    code, _, err = run([*words, "--from", str(tmp_path / "dump.json")], capsys)
    assert (code, err) == (2, f"steward: {option} asks a cluster; there is none behind --from\n")


def test_the_role_of_the_probe_is_its_own_and_patches_vms_and_nothing_else() -> None:
    role = read_yaml((REPO / "deploy/base/feature-probe/clusterrole.yaml").read_text(encoding="utf-8"))
    assert role["rules"] == [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["patch"]}]
    exporter = (REPO / "deploy/base/exporter/clusterrole.yaml").read_text(encoding="utf-8")
    assert "patch" not in exporter


def test_many_unanswered_are_counted() -> None:
    each = EditProbed(VM, "taken", (), "unclear", "429", False, False, "")
    probes: EditProbes = summed([each] * 30, 0, "")
    assert (len(probes.unanswered), probes.unanswered_in_all) == (20, 30)
    assert "and 10 more." in edits(probes)
