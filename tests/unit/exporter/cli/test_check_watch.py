"""`steward check --watch`: after what there is, a line for each thing that changes, until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from demo.apiserver.server import ApiServer, kubeconfig
from demo.fleet.sample import sample_fleet
from demo.story import steps
from exporter.__main__ import main
from exporter.app import assemble, serve, wait_until_seen
from exporter.cli.commands.diff import changes
from exporter.findings.finding import Unknown
from exporter.kube.transport import Transport
from exporter.questions.findings import Report

INTERRUPTIBLE = """\
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
from exporter.__main__ import main
sys.exit(main())
"""
Lines = frozenset[tuple[str, str, str]]
EDITS = [("NotEditable", "VM telecom/hss-1"), ("NotEditable", "VM telecom/hss-2")]
DEADLINE = 60.0  # seconds; on a machine that does other things
POOL = "/apis/pool.kubevirt.io/v1beta1/namespaces/lab/virtualmachinepools/render"
PINNED = ["info", "TemplatePinsUUID", "pool", "lab/render"]


def told(change: str, *of: tuple[str, str]) -> Lines:
    """What is told of each reason and object: all of it, in whichever order."""
    return frozenset((change, reason, subject) for reason, subject in of)


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    made = ApiServer()
    await made.start()
    made.load(sample_fleet(datetime.now(UTC)).objects)
    try:
        yield made
    finally:
        await made.stop()


async def set_firmware(server: ApiServer, firmware: dict[str, str] | None) -> None:
    """Of the template of the pool; None for nothing."""
    template = {"spec": {"template": {"spec": {"domain": {"firmware": firmware}}}}}
    headers = {"Content-Type": "application/merge-patch+json"}
    body = {"spec": {"virtualMachineTemplate": template}}
    async with (
        aiohttp.ClientSession() as session,
        session.patch(server.url + POOL, json=body, headers=headers) as answer,
    ):
        assert answer.status == 200


@asynccontextmanager
async def watching(*words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """`steward check --watch` once it has printed what there is; afterwards it must end of Ctrl-C."""
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", INTERRUPTIBLE, "check", "--watch", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        assert started.stderr is not None
        said = await asyncio.wait_for(started.stderr.readline(), DEADLINE)
        assert said == b"What changes follows; Ctrl-C ends it.\n"
        yield started
        started.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(started.wait(), DEADLINE) == 130
        assert await started.stderr.read() == b""
    finally:
        if started.returncode is None:
            started.kill()
            await started.wait()


async def line(started: asyncio.subprocess.Process, beginning: bytes = b"") -> str:
    """The next line of it with these words."""
    assert started.stdout is not None
    while True:
        read = await asyncio.wait_for(started.stdout.readline(), DEADLINE)
        assert read, "it has ended"
        if beginning in read:
            return read.decode()


@pytest.mark.parametrize("of", ["cluster", "exporter"])
async def test_what_goes_and_what_comes_is_a_line_each(of: str, server: ApiServer, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, server.url)
    steward = assemble(Transport.from_environment(str(path)))
    async with serve(steward, "127.0.0.1", 0) as url:
        assert await wait_until_seen(steward, DEADLINE)
        where = ("--kubeconfig", str(path)) if of == "cluster" else ("--exporter", url)
        async with watching("--reason", "TemplatePinsUUID", *where) as started:
            assert (await line(started, b"TemplatePinsUUID")).split()[:4] == PINNED
            await line(started, b" answered")
            await set_firmware(server, None)
            gone = (await line(started)).split()
            assert gone[1:7] == ["gone", *PINNED, "was:"]
            assert datetime.fromisoformat(f"2026-11-21T{gone[0]}").tzinfo is not None
            await set_firmware(server, {"uuid": "9d4a5f0e-9d7c-4c6e-8f5a-0d3a8b1c2e4f"})
            assert (await line(started)).split()[1:6] == ["new", *PINNED]


IDLE: Lines = frozenset()
SMSC = ("VM telecom/smsc-1", "VM telecom/smsc-2")
UNVERSIONED = ("VM telecom/smsc-3", "VM telecom/smsc-4")
CART = ("VM shop/cart-2", "VM shop/cart-2-test")
DPI, SPARE = "VMI telecom/dpi", "VM telecom/hss-spare-1"
STORY: list[Lines] = [  # of demo/story.py, step by step
    told("new", ("StuckTerminatingOwnerGone", "IPAMClaim shop/flash-sale-1.blue")),
    told("gone", ("StuckTerminatingOwnerGone", "IPAMClaim shop/flash-sale-1.blue")),
    IDLE,  # the VM is made again
    told("new", *(("ObjectGone", vm) for vm in SMSC))
    | told("gone", *(("Unversioned", vm) for vm in UNVERSIONED))
    | told("gone", ("DeletableInUse", "VirtualMachineInstancetype telecom/signalling")),
    told("new", ("DuplicateIP", "IPAMClaim billing/audit-1.ledger")),
    told("gone", ("DuplicateIP", "IPAMClaim billing/audit-1.ledger")),
    told("new", ("OwnerlessClaim", "IPAMClaim lab/bench-3.bench")),
    told("gone", ("OwnerlessClaim", "IPAMClaim lab/bench-3.bench")),
    IDLE,  # a VM is stopped
    IDLE,  # and starts again
    told("new", *((reason, vm) for reason in ("LatentDuplicate", "SerialDuplicate") for vm in CART)),
    told("gone", *((reason, vm) for reason in ("LatentDuplicate", "SerialDuplicate") for vm in CART)),
    told("new", ("NotMigratableIfDrained", "VMI windows-desktops/desktop-4")),
    told("gone", ("NotMigratableIfDrained", "VMI windows-desktops/desktop-4")),
    IDLE,  # the node is uncordoned
    told("gone", *(("ObjectGone", vm) for vm in SMSC))
    | told("new", *(("ObjectRecreated", vm) for vm in SMSC), *(("Unversioned", vm) for vm in UNVERSIONED)),
    told("gone", *(("ObjectRecreated", vm) for vm in SMSC)),
    told("new", ("PendingStartedBefore", DPI), ("StoppedRequestsDisabled", SPARE), *EDITS),
    told("gone", ("PendingStartedBefore", DPI), ("StoppedRequestsDisabled", SPARE), *EDITS),
]
GRACED = {"ObjectMissing", "DeletableInUse"}  # as long as a step takes, they may have grown older than their grace


async def test_the_story_of_the_demo_is_told_step_by_step(server: ApiServer, tmp_path: Path) -> None:
    """Each step is made once the lines of the one before are there; nothing else is told."""
    path = kubeconfig(tmp_path, server.url)
    async with watching("--kubeconfig", str(path)) as started:
        await line(started, b" answered")
        played = list(steps(server, datetime.now(UTC), 1))
        for (happen, sentence), wanted in zip(played, STORY, strict=True):
            happen()
            missing = set(wanted)
            while missing:
                words = (await line(started)).split()
                found = (words[1], words[3], f"{words[4]} {words[5]}")
                assert found in missing or words[3] in GRACED, (sentence, words)
                missing.discard(found)


def report(*unknown: Unknown) -> Report:
    return Report(1, [], list(unknown), [], [], [], True)


def test_that_a_check_has_no_answer_any_more_is_a_line_too() -> None:
    silent = report(Unknown("ipam_claims", "shop", "Pods are out of date"))
    lost = changes(report(), silent, 0, None)
    assert lost == "00:00:00Z  no answer  -         ipam_claims  shop  Pods are out of date\n"
    assert changes(silent, report(), 0, None) == "00:00:00Z  answers    -         ipam_claims  shop\n"
    assert changes(silent, silent, 0, None) == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--from", "x"], "--watch can't be combined with --from: a dump does not change"),
        (["-o", "json"], "--watch can't be combined with -o json: it prints a line for each change, for people"),
        (["--min-age", "1h"], "--watch can't be combined with --min-age: what is new is what it shows"),
        (["--probe-features"], "--watch can't be combined with --probe-features"),
        (["--token-file", "x"], "--token-file is for a running steward; it needs --exporter"),
    ],
)
def test_what_asks_for_one_look_is_refused(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["check", "-w", *words])
    shown = capsys.readouterr()
    assert (code, shown.out, shown.err) == (2, "", f"steward: {says}\n")
