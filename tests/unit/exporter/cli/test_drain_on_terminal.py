"""`steward drain` on a terminal: what stays and what to do about it is as wide as that, and no command is broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exporter.__main__ import main
from tests.terminals import on_terminal


@pytest.fixture
def words(dump: Path) -> list[str]:
    return ["drain", "node05", "--from", str(dump), "--complete"]


@pytest.mark.parametrize("columns", [80, 200])
def test_it_is_as_wide_as_the_terminal_and_commands_are_whole(
    columns: int, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main([*words, "-o", "json"])
    (node,) = json.loads(capsys.readouterr().out)["nodes"]
    commands = [line for vm in node["vms"] for command in vm["commands"] for line in command.splitlines()]
    stays = [vm for vm in node["vms"] if vm["state"] == "blocked"]
    assert len(stays) == 5
    lines = on_terminal(words, columns).splitlines()
    assert [line for line in lines if len(line) > columns and line.strip() not in commands] == []
    assert [line for line in lines if line.startswith("blocked  ")] == [
        f"blocked  {vm['vm']['namespace']}/{vm['vm']['name']}  {vm['reason']}" for vm in stays
    ]
    every = {line.strip() for line in lines}
    assert every >= {line.strip() for vm in stays for each in vm["commands"] for line in each.splitlines()}
    said = " ".join(" ".join(lines).split())
    assert all(" ".join(vm["why"].split()) in said for vm in stays)
    assert all(f"=> {vm['next']}" in said for vm in stays)
