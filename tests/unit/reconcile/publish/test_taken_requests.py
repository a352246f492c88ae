"""What the sidecar's server takes: it is looked at, and sent nothing."""

from __future__ import annotations

from reconcile.app import build
from reconcile.carry_out.metrics import Measures, ShownRepairs
from reconcile.plan.remediations import all_remediations


def test_it_takes_nothing_but_questions() -> None:
    board = ShownRepairs()
    routes = build(board, Measures(all_remediations(), {}, board), {}, "i1").router.routes()
    assert {each.method for each in routes} == {"GET", "HEAD"}
