"""A cluster that answers nothing is one sentence and exit code 2, at once, for every command that asks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from tests.cluster.process import free_ports

COMMANDS = [
    ["plan"],
    ["apply", "3f9c2a"],
    ["approve", "3f9c2a"],
    ["undo", "3f9c2a-1"],
    ["ledger", "--verify", "--lease", "steward/kubevirt-steward-reconcile"],
    ["clean"],
    ["clean", "--all"],
    ["clean", "--guards"],
    ["clean", "--requests", "node05"],
    ["pause"],
    ["resume"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_server_that_is_not_there(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    kept = [] if command[0] in ("plan", "pause", "resume") else ["--ledger", str(ledger)]
    code = main(["reconcile", *command, *kept, "--kubeconfig", str(kubeconfig(tmp_path, url))])
    shown = capsys.readouterr()
    sentence = (
        f"steward: {url} is not reachable: Connection refused. Check the server in your kubeconfig and the network "
        "path to it: `kubectl cluster-info` asks the same one\n"
    )
    assert (code, shown.out, shown.err) == (2, "", sentence)
