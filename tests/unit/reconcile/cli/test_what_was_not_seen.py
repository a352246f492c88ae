"""No command of either parser says that nothing is wrong of what it could not see, or of what is not there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.calls import ApiCall
from demo.apiserver.resources import RESOURCES
from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from exporter.cli.options import subcommands
from exporter.cli.parsing import steward
from tests.fakeapi.apiserver import FakeApiServer
from tests.fakeapi.faults import Fault, forbidden, unauthorized

ID = "ffffffffffffffff"
REPAIR = "persist_firmware_uuid"
UNTIL = ["--until", "2099-01-01", "--because", "x"]
ANSWERING = {
    "check": ["check"],
    "status": ["status"],
    "vm": ["vm", "shop/web"],
    "vms": ["vms"],
    "upgrade": ["upgrade"],
    "drain --each": ["drain", "--each"],
    "drain": ["drain", "--all-cordoned"],
    "features": ["features"],
    "impact": ["impact", "--disable", "VSOCK"],
    "networks": ["networks"],
    "instancetypes": ["instancetypes"],
    "explain": ["explain", ID],
    "ignore": ["ignore", ID, *UNTIL],
    "reconcile plan": ["reconcile", "plan"],
    "reconcile plan --by-cause": ["reconcile", "plan", "--by-cause"],
    "reconcile plan -o wide": ["reconcile", "plan", "-o", "wide"],
    "reconcile plan -o diff": ["reconcile", "plan", "-o", "diff"],
    "reconcile plan -o kustomize": ["reconcile", "plan", "-o", "kustomize"],
    "reconcile plan -o json": ["reconcile", "plan", "-o", "json"],
    "reconcile apply": ["reconcile", "apply", "--remediation", REPAIR, "-A", "--yes"],
    "reconcile approve": ["reconcile", "approve", ID],
    "reconcile clean": ["reconcile", "clean"],
    "reconcile clean --all": ["reconcile", "clean", "--all", "--yes"],
    "reconcile clean --guards": ["reconcile", "clean", "--guards", "--yes"],
    "reconcile clean --requests": ["reconcile", "clean", "--requests", "node01"],
    "reconcile undo": ["reconcile", "undo", "a1"],
    "reconcile pause": ["reconcile", "pause"],
    "reconcile resume": ["reconcile", "resume"],
}
# In the namespace that may be seen; the others take none, or name the VM.
WITHIN = {
    "check": ["check", "-n", "shop"],
    "explain": ["explain", ID, "-n", "shop"],
    "reconcile plan": ["reconcile", "plan", "-n", "shop"],
    "reconcile plan --by-cause": ["reconcile", "plan", "--by-cause", "-n", "shop"],
    "reconcile apply": ["reconcile", "apply", "--remediation", REPAIR, "-n", "shop", "--yes"],
}
# What needs no cluster, reads what earlier commands wrote, or does not end by itself.
OF_NO_CLUSTER = {
    *("certificate", "completion", "config", "demo", "diff", "help", "rules", "serve", "version", "reconcile"),
    *("reconcile ledger", "reconcile role", "reconcile run"),
}
UNKNOWN_NAMES = [
    ["check", "-n", "shpo"],
    ["check", "vm/shop/wbe"],
    ["check", "vm/wbe"],
    ["check", "node/node1"],
    ["check", "network/bleu"],
    ["check", "podd/x"],
    ["check", "podd/shop/x"],
    ["check", "pod/shop/wbe"],
    ["check", "ipamclaim/shpo/x"],
    ["check", "ipamclaim/x"],
    ["check", ID],
    ["check", "-l", "app=x"],
    ["check", "--feature", "vsok"],
    ["vm", "shop/wbe"],
    ["drain", "node1"],
    ["features", "vsok"],
    ["impact", "--disable", "VSOKC"],
    ["impact", "--delete-instancetype", "mediun"],
    ["networks", "bleu"],
    ["instancetypes", "mediun"],
    ["explain", ID],
    ["explain", ID, "-n", "shpo"],
    ["ignore", ID, *UNTIL],
    ["reconcile", "plan", ID],
    ["reconcile", "plan", "-n", "shpo"],
    ["reconcile", "plan", "-n", ""],
    ["reconcile", "plan", "--remediation", "persist_uuid"],
    ["reconcile", "apply", ID, "--yes"],
    ["reconcile", "apply", "--remediation", REPAIR, "-n", "shpo", "--yes"],
    ["reconcile", "apply", "--remediation", "persist_uuid", "-A", "--yes"],
    ["reconcile", "approve", ID],
    ["reconcile", "clean", "--requests", "node1"],
    ["reconcile", "clean", "--guards", "-n", "shpo", "--yes"],
    ["reconcile", "undo", "a1"],
    ["reconcile", "pause", "-n", "shpo"],
    ["reconcile", "pause", "VirtualMachine", "shop/wbe"],
    ["reconcile", "pause", "Podd", "shop/wbe"],
    ["reconcile", "resume", "VirtualMachine", "shop/wbe"],
]


def named(kind: str, name: str, namespace: str = "", group: str = "v1", **more: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": group, "kind": kind, "metadata": {**place, "name": name, "uid": f"{kind}-{name}"}, **more}


def _vm(name: str) -> dict[str, Any]:
    firmware = {"uuid": "5b4e28ba-2fa1-41d2-883f-0016d3cca427", "serial": "1"}
    spec = {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}, "firmware": firmware}}}}
    return named("VirtualMachine", name, "shop", "kubevirt.io/v1", spec=spec)


def _kubevirt() -> dict[str, Any]:
    of = {"observedKubeVirtVersion": "v1.7.0", "targetKubeVirtVersion": "v1.7.0", "phase": "Deployed"}
    return named("KubeVirt", "kubevirt", "kubevirt", "kubevirt.io/v1", spec={}, status=of)


CLUSTER = [
    *(named("Namespace", each) for each in ("shop", "kubevirt", "kube-system")),
    named("Node", "node01", status={"conditions": [{"type": "Ready", "status": "True"}]}),
    _kubevirt(),
    _vm("web"),
]


class Denied(Fault):
    """Every request for an object or a list of them, but for those in one namespace."""

    def __init__(self, but: str = "") -> None:
        super().__init__(answer=forbidden())
        self.but = f"/namespaces/{but}/" if but else None

    def _matches(self, call: ApiCall) -> bool:
        of_objects = call.path.startswith("/api/v1/") or call.path.count("/") > 3
        return of_objects and not (self.but and self.but in call.path)


Said = tuple[int, str, str]
Ask = Callable[..., Awaitable[Said]]


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    made = FakeApiServer()
    made.load(CLUSTER)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def ask(
    server: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Ask:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = str(kubeconfig(tmp_path, server.url))

    async def run(*words: str) -> Said:
        try:
            code = await asyncio.to_thread(main, [*words, "--kubeconfig", path])
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def no_rights(server: FakeApiServer) -> None:
    server.faults.add(Denied())


def one_namespace(server: FakeApiServer) -> None:
    server.faults.add(Denied("shop"))


def expired(server: FakeApiServer) -> None:
    server.faults.add(Fault(answer=unauthorized()))


def no_kubevirt(server: FakeApiServer) -> None:
    for each in RESOURCES:
        if each.group.endswith("kubevirt.io"):
            server.unserve(each.plural)


async def unreachable(server: FakeApiServer) -> None:
    await server.stop()


def test_every_command_that_answers_is_among_these() -> None:
    found = set(subcommands(steward()))
    found |= {f"reconcile {each}" for each in subcommands(subcommands(steward())["reconcile"])}
    assert found - OF_NO_CLUSTER == {each.split(" -")[0] for each in ANSWERING}


async def _wrong(ask: Ask, commands: dict[str, list[str]]) -> list[tuple[str, Said]]:
    """Those that end with another code than 2, that do not say why, or that say that there is nothing."""
    said = {name: await ask(*words) for name, words in commands.items()}
    claims = ("nothing to repair", "No object has", "Repairs left nothing", "No VMI has an evacuation", "No findings.")
    return [
        (name, each)
        for name, each in said.items()
        if each[0] != 2 or any(claim in each[1] for claim in claims) or not (each[1].strip(" []\n") or each[2])
    ]


@pytest.mark.parametrize("state", [no_rights, expired, unreachable, no_kubevirt], ids=lambda each: each.__name__)
async def test_what_can_not_be_seen_is_no_all_clear(
    state: Callable[[FakeApiServer], Awaitable[None] | None], server: FakeApiServer, ask: Ask
) -> None:
    if (begun := state(server)) is not None:
        await begun
    assert await _wrong(ask, ANSWERING) == []


async def test_with_rights_in_one_namespace_it_is_said_what_is_not_seen(server: FakeApiServer, ask: Ask) -> None:
    one_namespace(server)
    assert await _wrong(ask, {**ANSWERING, **{f"{name} -n shop": words for name, words in WITHIN.items()}}) == []


async def test_what_is_not_there_is_no_all_clear(ask: Ask) -> None:
    said = [(words, *await ask(*words)) for words in UNKNOWN_NAMES]
    assert [each for each in said if each[1:3] != (2, "") or each[3].count("\n") != 1] == []


async def test_where_all_is_seen_there_is_an_all_clear(ask: Ask) -> None:
    for words, says in (
        (["check"], "No findings."),
        (["check", "vm/shop/web", "node/node01"], "No findings."),
        (["check", "namespace/shop"], "No findings."),
        (["reconcile", "plan"], "There is nothing to repair."),
        (["reconcile", "plan", "-n", "shop"], "There is nothing to repair."),
        (["reconcile", "apply", "--remediation", REPAIR, "-A", "--yes"], "There is nothing to repair."),
        (["reconcile", "clean"], "Repairs left nothing on any object."),
        (["reconcile", "clean", "--all", "--yes"], "Repairs left nothing on any object."),
        (["reconcile", "clean", "--guards", "--yes"], "No object has the guard."),
        (["reconcile", "clean", "--requests", "node01", "--yes"], "No VMI has an evacuation request for node01."),
    ):
        code, out, err = await ask(*words)
        assert (code, err) == (0, ""), (words, out)
        assert says in out
