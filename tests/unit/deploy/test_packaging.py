"""What of deploy/ is generated: a release has one version, and pyproject.toml is where it is."""

from __future__ import annotations

import tomllib

from dashboards import generator as boards
from deploy import generator as packaging
from deploy.generator.bundle import BUNDLE
from deploy.generator.chart import CHART
from deploy.generator.release import component
from tests.case_files import read_yaml
from tests.shared import REPO

CSV = f"{BUNDLE}/manifests/kubevirt-steward.clusterserviceversion.yaml"
RELEASE = "deploy/components/release/kustomization.yaml"


def made_with(version: str) -> dict[str, str]:
    def read(path: str) -> str:
        text = (REPO / path).read_text(encoding="utf-8")
        here = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
        return text.replace(f'version = "{here}"', f'version = "{version}"') if path == "pyproject.toml" else text

    return packaging.generated(read, boards.generated(), "Generated.")


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


def test_a_version_that_looks_like_a_number_stays_text() -> None:
    release = read_yaml(component("1.0", "Generated."))
    assert release["images"][0]["newTag"] == "1.0"
    assert release["labels"][0]["pairs"]["app.kubernetes.io/version"] == "1.0"
