"""What the sidecar's server takes beside being looked at: alerts, where a webhook is set, and nothing else."""

from __future__ import annotations

from aiohttp import web

from reconcile.carry_out.board import ShownRepairs
from reconcile.carry_out.metrics import Measures
from reconcile.plan.remediations import all_remediations
from reconcile.publish.server import OWN_TOKEN, build


async def taken(_: web.Request) -> web.StreamResponse:
    return web.Response()


def sent_to(app: web.Application) -> list[tuple[str, str]]:
    routes = [(each.method, each.resource.canonical) for each in app.router.routes() if each.resource is not None]
    return [each for each in routes if each[0] not in ("GET", "HEAD")]


def test_it_takes_alerts_alone_and_only_where_it_is_told_to() -> None:
    board = ShownRepairs()
    measures = Measures(all_remediations(), {}, board)
    assert sent_to(build(board, measures, {}, "i1")) == []
    assert sent_to(build(board, measures, {}, "i1", taken)) == [("POST", path) for path in OWN_TOKEN]
