"""A guest that is paused. Nothing resumes it here: the subresource for that is KubeVirt's."""

from __future__ import annotations

from demo.fleet.objects import condition
from tests.cluster import fleet
from tests.cluster.stage import Stage, Story, nothing

__all__ = ["STORIES"]


def _paused(stage: Stage) -> None:
    vmi = fleet.vmi(stage.vm())
    vmi["status"]["conditions"] = [condition("Paused", True)]
    stage.client.make(vmi)


STORIES = [Story("VMPaused", "Paused", _paused, leaves=nothing)]
