"""A file of tests/reports of another form is refused in a sentence, and objects are put over those of its base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.case_files import CaseError
from tests.report_files import loaded

VMI = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"namespace": "ns", "name": "db"}}
CORDONED = {"kind": "Node", "metadata": {"name": "node-2", "labels": {"cpumanager": None}}, "spec": {"taints": [1]}}
WHOLE = {
    "address": "https://github.com/kubevirt/kubevirt/issues/1",
    "area": "drains",
    "reported": "a",
    "cause": "b",
    "facts": "c",
    "visible": "yes",
    "expected": {"about": "VirtualMachineInstance ns/db", "says": "d", "next": "e", "at_least": "warning"},
    "base": "kubevirt-1.6",
    "objects": [VMI | {"status": {"phase": "Running", "nodeName": "node-2"}}, CORDONED],
    "twin": {"changes": [VMI | {"status": {"nodeName": None}}]},
}


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "report.yaml"
    text = yaml.safe_dump({key: value for key, value in (WHOLE | changes).items() if value is not None})
    path.write_text(text, encoding="utf-8")
    return path


def test_objects_are_merged_into_those_of_the_base(tmp_path: Path) -> None:
    report = loaded(written(tmp_path))
    (node,) = [each for each in report.objects if each["metadata"]["name"] == "node-2"]
    assert node["spec"] == {"podCIDR": "10.244.2.0/24", "taints": [1]}
    assert "cpumanager" not in node["metadata"]["labels"]
    assert node["metadata"]["labels"]["kubevirt.io/schedulable"] == "true"
    assert report.twin
    (twin,) = [each for each in report.twin if each["kind"] == "VirtualMachineInstance"]
    assert twin["status"] == {"phase": "Running"}
    assert len(report.twin) == len(report.objects) > 10


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cause": None}, "lacks `cause`"),
        ({"area": "storage"}, "`area` is one of drains, features"),
        ({"visible": "maybe"}, "`visible` of yes, partly, no"),
        ({"found": []}, "has `found`, which is none of address"),
        ({"objects": None}, "lacks `objects`"),
        ({"expected": {"about": "x"}}, "`expected` has about, at_least"),
        ({"twin": {"rows": []}}, "`twin` has `objects`, or `changes` and `without`"),
        ({"twin": {"without": ["Pod ns/a"]}}, "`without` names what the report does not have: Pod ns/a"),
        ({"verdict": "good"}, "first run differs, is one of right, partly"),
        ({"first": "good"}, "first run differs, is one of right, partly"),
        ({"verdict": "silent"}, "`why` says why the verdict is silent"),
        ({"verdict": "not visible", "why": "f"}, "what is visible has another verdict"),
        ({"verdict": "right", "finds": [{"reason": "X"}]}, "each of `finds` has about"),
    ],
)
def test_another_form_is_refused_in_a_sentence(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(CaseError) as refused:
        loaded(written(tmp_path, **changes))
    assert said in str(refused.value)
