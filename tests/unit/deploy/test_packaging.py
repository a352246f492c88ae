"""What of deploy/ is generated: a release has one version, and pyproject.toml is where it is."""

from __future__ import annotations

import tomllib

from dashboards import generator as boards
from deploy import generator as packaging
from deploy.generator.bundle import BUNDLE
from deploy.generator.chart import CHART
from deploy.generator.release import component
from docs.generator import sidecar
from tests.case_files import read_yaml
from tests.shared import REPO

CSV = f"{BUNDLE}/manifests/kubevirt-steward.clusterserviceversion.yaml"
BOARDS = boards.generated()
RELEASE = "deploy/components/release/kustomization.yaml"


def made_with(version: str, released: str = "") -> dict[str, str]:
    def read(path: str) -> str:
        if path == "CHANGELOG.md" and released:
            return released
        if path in BOARDS:
            return BOARDS[path]
        text = (REPO / path).read_text(encoding="utf-8")
        here = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
        return text.replace(f'version = "{here}"', f'version = "{version}"') if path == "pyproject.toml" else text

    return packaging.generated(read, BOARDS, "Generated.")


def test_a_new_version_is_that_of_labels_chart_image_and_bundle() -> None:
    made = made_with("4.5.6")
    release = read_yaml(made[RELEASE])
    assert release["labels"][0]["pairs"]["app.kubernetes.io/version"] == "4.5.6"
    assert release["images"] == [{"name": "kubevirt-steward", "newTag": "4.5.6"}]
    chart = read_yaml(made[f"{CHART}/Chart.yaml"])
    assert (chart["version"], chart["appVersion"]) == ("4.5.6", "4.5.6")
    csv = read_yaml(made[CSV])
    assert (csv["metadata"]["name"], csv["spec"]["version"]) == ("kubevirt-steward.v4.5.6", "4.5.6")
    assert csv["metadata"]["annotations"]["containerImage"] == "kubevirt-steward:4.5.6"
    labelled = [read_yaml(text) for path, text in made.items() if path.startswith(f"{BUNDLE}/manifests/")]
    for each in (*labelled, csv["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]):
        if each.get("kind") != "ClusterServiceVersion":
            assert each["metadata"]["labels"]["app.kubernetes.io/version"] == "4.5.6"


def test_the_bundle_takes_the_place_of_the_release_before_and_has_the_day_of_its_own() -> None:
    released = "# Changelog\n\n## Unreleased\n\n## 4.5.6 - 2027-02-03\n\n### Added\n\n## 4.5.5 - 2027-01-31\n"
    csv = read_yaml(made_with("4.5.6", released)[CSV])
    assert csv["spec"]["replaces"] == "kubevirt-steward.v4.5.5"
    assert csv["metadata"]["annotations"]["createdAt"] == "2027-02-03T00:00:00Z"
    assert csv["metadata"]["annotations"]["olm.skipRange"] == ">=0.0.0 <4.5.6"
    next_one = read_yaml(made_with("4.6.0", released)[CSV])  # before its own heading
    assert next_one["spec"]["replaces"] == "kubevirt-steward.v4.5.6"
    first = read_yaml(made_with("0.1.0", "# Changelog\n\n## Unreleased\n")[CSV])
    assert "replaces" not in first["spec"]  # what is named there has to exist


def test_a_version_that_looks_like_a_number_stays_text() -> None:
    release = read_yaml(component("1.0", "Generated."))
    assert release["images"][0]["newTag"] == "1.0"
    assert release["labels"][0]["pairs"]["app.kubernetes.io/version"] == "1.0"


def test_the_chart_has_no_file_that_nothing_generates() -> None:
    made = {*made_with("4.5.6"), *sidecar.generated()}
    there = {each.relative_to(REPO).as_posix() for each in (REPO / CHART / "files").rglob("*") if each.is_file()}
    assert there - made == set(), "delete it, or have deploy/generator/chart.py make it"
