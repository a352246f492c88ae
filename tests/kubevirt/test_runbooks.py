"""The commands of runbooks that only KubeVirt's own API server can carry out, run to the letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cluster.conftest import Tools
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.shell import run
from tests.kubevirt.stage import Stage
from tests.shared import REPO

RUNBOOKS = REPO / "rules/runbooks"
CANCEL = "evacuate/cancel"


def blocks(words: str) -> list[tuple[Path, str]]:
    """The code blocks of all runbooks with these words in them."""
    found = ((path, block) for path in sorted(RUNBOOKS.glob("*.md")) for block in code(path))
    return [(path, block) for path, block in found if words in block]


def code(path: Path) -> list[str]:
    return re.findall(r"^```sh.*?\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.S | re.M)


def test_a_request_is_cancelled_as_the_runbooks_say(
    kubevirt: ControlPlane, stage: Stage, binary: Tools, tmp_path: Path
) -> None:
    source = stage.running("db", eviction="External")["status"]["nodeName"]
    commands = blocks(CANCEL)
    assert len(commands) > 1
    for path, block in commands:
        stage.evict("db")
        assert stage.evacuation("db") == source, path.name
        script = block.replace("NAMESPACE", stage.namespace).replace("EVACUATIONNODENAME", source).replace("NAME", "db")
        assert run(script, kubevirt, binary, tmp_path) == 0, path.name
        assert stage.evacuation("db") == "", path.name


def test_a_request_for_another_node_is_not_cancelled(
    kubevirt: ControlPlane, stage: Stage, binary: Tools, tmp_path: Path
) -> None:
    source = stage.running("db", eviction="External")["status"]["nodeName"]
    stage.evict("db")
    _, block = blocks(CANCEL)[0]
    script = (
        block.replace("NAMESPACE", stage.namespace).replace("EVACUATIONNODENAME", "control01").replace("NAME", "db")
    )
    assert run(script, kubevirt, binary, tmp_path) != 0
    assert stage.evacuation("db") == source


@pytest.mark.parametrize("path", sorted(RUNBOOKS.glob("VMEviction*.md")), ids=lambda path: path.stem)
def test_no_runbook_deletes_past_the_eviction_api(path: Path) -> None:
    for block in code(path):
        assert "--disable-eviction" not in block
        assert "dryRun=All" not in block
