"""The parts that tests are made of, where they need no server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.process import free_ports
from tests.cluster.resources import NADS, PODS, VMS
from tests.manifests import load_all
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
