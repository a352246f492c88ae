"""What the findings of the demo tell to run is run against the demo, with the real kubectl."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.questions.commands import command
from tests.cluster.conftest import Tools
from tests.cluster.demo_process import Demo, running_demo
from tests.cluster.shell import put_steward
from tests.cluster.sidecar import COMMAND
from tests.shared import REPO
from tests.waiting import wait_until

_AT_ONCE = 3
_GONE = re.compile(r'Error from server \(NotFound\): \S+ "\S+" not found$')
NOT_RUN = {"virtctl": "virtctl is not here; what it sends is sent by kubectl"}
"""Programs of commands that are not run, and why."""


class Shell:
    """Runs what is copied from a page, with the kubectl of the tests and this steward first on PATH."""

    def __init__(self, demo: Demo, kubectl: Path, folder: Path) -> None:
        put_steward(folder, COMMAND)
        self._env = {
            **os.environ,
            "PATH": f"{folder}{os.pathsep}{kubectl.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(REPO),
            "KUBECONFIG": demo.kubeconfig,
            "HOME": str(folder),
            "KUBE_EDITOR": "sed -i -e s/minAvailable:.*/minAvailable:\\ 0/",
        }
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def run(self, text: str) -> tuple[int, str, str]:
        async with self._turns:
            process = await asyncio.create_subprocess_exec(
                *("bash", "-o", "pipefail", "-c", text),
                env=self._env,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode().strip()

    async def complaint(self, text: str) -> str:
        """What is wrong with the answer; empty where nothing is."""
        code, out, err = await self.run(text)
        # An answer, too: grep says that there is none, and the steward that there is something.
        answers = code == 1 and not err and ("| grep " in text or text.startswith("steward "))
        gone = _GONE.search(err) is not None and " get " in text  # as the finding says
        return "" if code == 0 or answers or gone else f"{text}: {code} {err} {out}"


def texts(findings: Iterable[dict[str, Any]], *, changes: bool) -> list[str]:
    every = dict.fromkeys(text for each in findings for text in each["commands"])
    return [each for each in every if command(each).changes is changes and each.split()[0] not in NOT_RUN]


def as_kubectl(virtctl: str) -> str:
    """What `virtctl VERB -n NAMESPACE NAME` sends."""
    _, verb, _, namespace, name = virtctl.split()
    path = f"/apis/subresources.kubevirt.io/v1/namespaces/{namespace}/virtualmachines/{name}/{verb}"
    return f"echo '{{}}' | kubectl replace --raw {path} -f -"


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    """One that nothing is changed in."""
    with running_demo() as made:
        yield made


def test_the_address_is_said_first_and_last_and_a_fault_takes_a_line(demo: Demo) -> None:
    assert demo.said[0].endswith(demo.url)
    assert demo.said[-1] == f"Web UI: {demo.url}"
    faults = [line for line in demo.said if re.match(r"  [A-Z]\w+ \S+: ", line)]
    assert len(faults) == int(demo.said[2].split()[0]) > 50
    assert [line for line in faults if len(line) > 100] == []


@pytest.mark.long  # a hundred runs of kubectl
async def test_every_command_of_a_finding_runs_and_changes_what_it_says(binary: Tools, tmp_path: Path) -> None:
    with running_demo() as demo:
        shell, before = Shell(demo, binary("kubectl"), tmp_path), demo.findings()
        looking, changing = texts(before, changes=False), texts(before, changes=True)
        assert len(looking) > 80
        assert len(changing) >= 7
        answers = await asyncio.gather(*map(shell.complaint, looking))
        assert [each for each in answers if each] == []
        assert [each for each in [await shell.complaint(text) for text in changing] if each] == []

        # What was asked for is there now, so these findings are not.
        await asyncio.to_thread(
            wait_until, lambda: not {"StaleEvacuationRequest", "OrphanPDB"} & demo.reasons(), 60, "they go"
        )
        code, out, _ = await shell.run("kubectl get vmim -n windows-desktops")
        assert (code, "by-hand-" in out) == (0, True)


async def test_what_virtctl_sends_is_answered(binary: Tools, tmp_path: Path) -> None:
    with running_demo() as demo:
        shell = Shell(demo, binary("kubectl"), tmp_path)
        every = {text for each in demo.findings() for text in each["commands"] if text.startswith("virtctl ")}
        stopped = {f"virtctl stop -n {each}" for each in ("shop print-server", "windows-desktops kiosk")}
        restarted = {f"virtctl restart -n {each}" for each in ("billing oracle-1", "telecom hss-legacy")}
        assert every == {*stopped, *restarted}
        assert [each for each in [await shell.complaint(as_kubectl(text)) for text in sorted(every)] if each] == []
        code, _, err = await shell.run("kubectl get vmi -n shop print-server")
        assert (code, "NotFound" in err) == (1, True)
        _, out, _ = await shell.run("kubectl get vm -n shop print-server -o jsonpath='{.spec.runStrategy}'")
        assert out == "Halted"
        code, _, err = await shell.run(as_kubectl("virtctl stop -n shop print-server"))
        assert (code, "VM is not running" in err) == (1, True)


async def test_tables_have_the_columns_that_a_cluster_shows(demo: Demo, binary: Tools, tmp_path: Path) -> None:
    shell = Shell(demo, binary("kubectl"), tmp_path)
    heads = {
        "kubectl get pods -n lab -o wide": "NAME READY STATUS AGE IP NODE",
        "kubectl get nodes -o wide": "NAME STATUS ROLES VERSION AGE CPU MEMORY",
        "kubectl get vm -A": "NAMESPACE NAME STATUS READY AGE",
        "kubectl get vmi -n lab -o wide": "NAME PHASE IP NODENAME READY AGE LIVE-MIGRATABLE PAUSED",
        "kubectl get events -A": "NAMESPACE NAME LAST SEEN TYPE REASON OBJECT MESSAGE AGE",
        "kubectl get apiservices.apiregistration.k8s.io": "NAME SERVICE AVAILABLE AGE",
        "kubectl get pdb -A": "NAMESPACE NAME MIN AVAILABLE MAX UNAVAILABLE ALLOWED DISRUPTIONS AGE",
    }
    for text, head in heads.items():
        code, out, err = await shell.run(text)
        assert (code, " ".join(out.partition("\n")[0].split())) == (0, head), err
    _, out, _ = await shell.run("kubectl describe vmi -n telecom hss-legacy")
    assert "FailedMigration" in out
    code, out, err = await shell.run("kubectl get pods -A --chunk-size=20 --no-headers")
    _, whole, _ = await shell.run("kubectl get pods -A --no-headers")
    assert (code, out.count("\n"), err) == (0, whole.count("\n"), "")
