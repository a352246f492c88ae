"""The parts that tests are made of, where they need no server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.custom_resources import OURS, real_files
from tests.cluster.process import free_ports
from tests.cluster.resources import NADS, PODS, VMS
from tests.manifests import Object, load_all
from tests.shared import SHARED
from tests.waiting import wait_until


def test_a_plain_equals_sign_is_a_string(tmp_path: Path) -> None:
    path = tmp_path / "manifest.yaml"
    path.write_text("matchType: =\n---\n---\nenabled: yes\nport: 0o17\nwhen: 2026-01-02\n")
    first, second = load_all(path)
    assert first == {"matchType": "="}
    assert second["enabled"] is True


def test_waiting_ends_with_the_answer_or_says_what_was_waited_for() -> None:
    answers = iter([None, 0, 7, 8])
    assert wait_until(lambda: next(answers), 5, "a number", every=0.001) == 7
    with pytest.raises(TimeoutError, match=r"waited 0\.01 s in vain for this: the moon; the last answer was None"):
        wait_until(lambda: None, 0.01, "the moon", every=0.001)


def test_paths_of_resources() -> None:
    assert PODS.path() == "/api/v1/pods"
    assert PODS.path("a", "b", "eviction") == "/api/v1/namespaces/a/pods/b/eviction"
    assert VMS.path("a") == "/apis/kubevirt.io/v1/namespaces/a/virtualmachines"
    assert str(NADS) == "network-attachment-definitions.k8s.cni.cncf.io"
    assert str(PODS) == "pods"


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20


NOT_THERE = ("nodemaintenance.medik8s.io", "infrastructure.cluster.x-k8s.io", "velero.io")


@pytest.mark.skipif(SHARED is None, reason="no reference data here: set STEWARD_SHARED")
@pytest.mark.parametrize("path", sorted(OURS.glob("*.yaml")), ids=lambda path: path.stem)
def test_our_crds_are_the_real_ones_but_for_their_schemas(path: Path) -> None:
    (ours,) = load_all(path)
    found = [
        crd
        for file in real_files()
        if path.stem in file.stem or "networks-crd" in file.stem
        for crd in load_all(file)
        if crd["metadata"]["name"] == ours["metadata"]["name"]
    ]
    if not found and ours["spec"]["group"] in NOT_THERE:
        pytest.skip(f"the reference data has nothing of {ours['spec']['group']}")
    (real,) = found
    assert outline(ours) == outline(real)


def outline(crd: Object) -> Object:
    spec = crd["spec"]
    names = {key: value for key, value in spec["names"].items() if key != "listKind"}  # has a default
    versions = [
        {key: row.get(key) for key in ("name", "served", "storage", "deprecated", "subresources")}
        for row in spec["versions"]
    ]
    return {"group": spec["group"], "scope": spec["scope"], "names": names, "versions": versions}
