"""Goldens: what is the same on every run is, and what differs between two folders is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.goldens import main


def made(folder: Path, only: str, *more: str) -> dict[str, str]:
    assert main(["make", str(folder), "--only", only, "--processes", "1", *more]) == 0
    outputs = folder / "outputs"
    return {str(path.relative_to(outputs)): path.read_text() for path in outputs.rglob("*.*")}


@pytest.mark.long
def test_two_runs_agree_and_what_differs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    first = made(one, "kubevirt_available")
    assert len(first) > 10
    assert all(text.startswith("exit code ") for text in first.values())
    assert any('"reason": "KubeVirtUnavailable"' in text for text in first.values())
    assert made(other, "kubevirt_available", "--inputs", str(one)) == first
    assert main(["compare", str(one), str(other)]) == 0
    name = min(first)
    (other / "outputs" / name).write_text(
        first[name].replace("exit code 0", "exit code 7").replace("exit code 1", "exit code 7")
    )
    (other / "outputs" / max(first)).unlink()
    capsys.readouterr()
    assert main(["compare", str(one), str(other)]) == 1
    said = capsys.readouterr().out
    assert f"== {name}\n" in said
    assert "+exit code 7" in said
    assert f"== {max(first)}: only on one side\n" in said
    assert said.endswith(f"{len(first)} outputs, 2 differ\n")
