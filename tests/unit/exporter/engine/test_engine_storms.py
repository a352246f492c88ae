"""After any storm the engine knows what a fresh one does: objects come, go and can't be read, watches are lost."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from exporter.engine.engine import Engine
from exporter.findings.finding import Unknown
from exporter.questions.causes import reports
from tests.amounts import examples
from tests.cause_counts import from_scratch, said
from tests.engine_rows import comparable, rows
from tests.storms import Storm

KUBEVIRT = {"kind": "KubeVirt", "namespace": "kubevirt", "name": "kubevirt", "version": "v1.8.4"}


def unread(engine: Engine) -> list[Unknown]:
    """Without how far it reaches: what was readable once reaches as far as then, and counts as it was then."""
    then = re.compile("no answer either|.* KubeVirt objects? (is|are) deployed")
    return [each for each in engine.unknowns() if not then.match(each.why)]


@given(st.lists(rows(), min_size=5, max_size=40), st.integers(0, 2**32))
@examples(
    0.4, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
)
def test_after_the_storm(changes: list[dict[str, Any]], seed: int) -> None:
    storm = Storm([], seed)
    for row in changes:
        storm.change(row)
    for kind in sorted(storm.lost):
        storm.list_again(kind)
    storm.evaluation.evaluate()
    engine = storm.evaluation.engine
    assert unread(engine) == unread(storm.fresh().engine)  # all is watched, and not all can be read
    assert engine.caught_up

    for key, thing in list(storm.objects.items()):
        if "not" in str(thing["metadata"].get("creationTimestamp")):
            storm.delete(key)
    for key in [each for each in storm.objects if each[0] == "KubeVirt"]:
        storm.delete(key)
    storm.put(KUBEVIRT)  # without one nobody knows what VMs may ask for
    storm.evaluation.evaluate()
    fresh = storm.fresh().engine
    assert engine.unknowns() == fresh.unknowns() == []
    assert comparable(engine.findings()) == comparable(fresh.findings())
    assert said(reports(engine.causes, engine.checks, None)) == from_scratch(engine.findings())
    assert {each.id: each.objects for each in engine.causes} == {each.id: each.objects for each in fresh.causes}
    assert engine.unknown_places() == fresh.unknown_places()
