"""The pod of deploy/base, with its own command and mounts, as the manifest's user and as one that OpenShift chooses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.image.conftest import CA, TWINS, StartPod
from tests.image.pod import Node, Pod

from ..cluster.client import account


@pytest.fixture(params=[65532, 1000660000])
def pod(request: pytest.FixtureRequest, start_pod: StartPod) -> Iterator[Pod]:
    """Once it is ready. The second user is in no list of users."""
    started = start_pod("deploy/base", request.param)
    started.wait_ready()
    yield started
    started.remove()


def test_it_serves_and_ends_within_its_grace(pod: Pod, node: Node) -> None:
    exporter = pod.containers["exporter"]
    url, ca = f"{pod.url('exporter')}/metrics", pod.file(CA, "exporter")
    prometheus = account(node.server.client())
    prometheus.grant("steward-metrics-reader")
    assert node.ask(url, ca=ca).status == 401
    answer = node.ask(url, ca=ca, token=prometheus.token)
    assert answer.status == 200, answer.text
    assert f'namespace="{TWINS}"' in answer.text
    assert exporter.stop(pod.grace) == 0, exporter.says()
    assert "Traceback" not in exporter.says()
