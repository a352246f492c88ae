"""Commands that an answer ends with look at the cluster that was asked, and not at another one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.server import ApiServer, kubeconfig
from exporter.__main__ import main
from tests.dumps import many


def vm(name: str) -> dict[str, Any]:
    spec = {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}}}}}
    metadata = {"namespace": "shop", "name": name, "uid": name}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": spec}


VMS = [vm(f"web-{number:02}") for number in range(25)]


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[str]:
    server = ApiServer()
    await server.start()
    server.load(VMS)
    yield str(kubeconfig(tmp_path, server.url))
    await server.stop()


LOOKS = (["check", "--reason", "NotPersisted", "--commands"], ["vm", "shop/web-00"])
PROGRAMS = ("kubectl ", "virtctl ", "steward reconcile plan ")


@pytest.mark.parametrize("look", LOOKS, ids=lambda words: str(words[0]))
async def test_commands_have_the_kubeconfig_and_the_context(
    look: list[str], cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await asyncio.to_thread(main, [*look, "--kubeconfig", cluster, "--context", "demo"])
    out = capsys.readouterr().out
    own = f"--kubeconfig {cluster} --context demo"
    commands = [line.strip() for line in out.splitlines() if line.strip(" $").startswith(PROGRAMS)]
    assert any("steward reconcile plan " in line for line in commands)
    assert [line for line in commands if line.count(own) != sum(map(line.count, PROGRAMS))] == []
    assert look[0] == "vm" or f"and 5 more: steward check {own} " in out


@pytest.mark.parametrize("look", LOOKS, ids=lambda words: str(words[0]))
def test_of_a_dump_they_have_the_dump(look: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = tmp_path / "the dump.yaml"
    dump.write_text(many(VMS), encoding="utf-8")
    main([*look, "--from", str(dump), "--complete"])
    out = capsys.readouterr().out
    assert "repair: " in out
    assert "steward reconcile plan" not in out  # it asks a cluster, and may find nothing of what the dump says
    assert look[0] == "vm" or f"and 5 more: steward check --from '{dump}' --complete " in out


async def test_without_options_they_have_none(
    cluster: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", cluster)
    await asyncio.to_thread(main, ["check", "--reason", "NotPersisted"])
    (more,) = (line for line in capsys.readouterr().out.splitlines() if " more: " in line)
    assert more.split(": ")[1].split()[:2] == ["steward", "check"]
    assert more.split(": ")[1].split()[3:] == ["-o", "wide"]
