"""What only an installer needs: not in git, but a digest of it is, and a release has it."""

from __future__ import annotations

import subprocess

import yaml

from docs.generator import artifacts, exporter
from tests.artifacts import artifact
from tests.manifests import load_all
from tests.shared import REPO


def test_git_has_no_file_of_them_and_a_digest_that_tells_any_change() -> None:
    made = exporter.generated()
    known = artifacts.tracked(made)
    assert known[artifacts.DIGESTS] == (REPO / artifacts.DIGESTS).read_text(encoding="utf-8"), "run `make generate`"
    assert {line.split()[1] for line in known[artifacts.DIGESTS].splitlines()} == {"mixin", "olm", "perses"}
    left_out = made.keys() - known.keys()
    assert left_out
    assert [path for path in left_out if (REPO / path).exists()] == []
    for name in ("mixin/rules.json", "olm/metadata/annotations.yaml", "perses/fleet.yaml"):
        before, after = (
            artifacts.tracked(each)[artifacts.DIGESTS]
            for each in (made, {**made, f"artifacts/{name}": made[f"artifacts/{name}"] + " "})
        )
        assert len(set(before.splitlines()) ^ set(after.splitlines())) == 2, name


def test_each_is_whole() -> None:
    mixin = (artifact("mixin") / "mixin.libsonnet").read_text(encoding="utf-8")
    assert {path.name for path in (artifact("mixin") / "boards").iterdir()} == {
        path.name for path in (REPO / "dashboards/grafana").glob("*.json")
    }
    assert all(path.name in mixin for path in (artifact("mixin") / "boards").iterdir())
    (listed,) = load_all(artifact("perses") / "kustomization.yaml")
    assert {path.name for path in artifact("perses").iterdir()} == {*listed["resources"], "kustomization.yaml"}
    assert len(list((artifact("olm") / "manifests").iterdir())) > 20


def test_a_release_has_them() -> None:
    workflow = yaml.safe_load((REPO / ".github/workflows/release.yaml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    assert any("artifacts" in step.get("run", "").split() for step in job["steps"])
    told = subprocess.run(["make", "-n", "artifacts"], cwd=REPO, capture_output=True, text=True, check=True).stdout
    assert "docs.generator --artifacts build/artifacts" in told
    assert "dist/" in told  # of which the release takes every archive
