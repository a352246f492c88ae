"""What can't be seen is not said to be not there, and comes first."""

from __future__ import annotations

import re

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET
from exporter.store.source import SyncState

from .....served import served

_CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]


async def test_nodes_that_may_not_be_listed_are_not_said_to_be_none() -> None:
    async with served(0, checks=_CHECKS) as server:
        for name in server.evaluation.kinds:
            server.evaluation.sync_state(name, SyncState.LIVE)
        _, _, body = await server.get("/nodes/")
        assert "There is no node." in body.decode()
        server.evaluation.sync_state("Node", SyncState.FORBIDDEN)
        _, _, body = await server.get("/nodes/")
        assert "The objects are unknown: nodes is forbidden." in body.decode()
        assert "no node" not in body.decode().lower()


async def test_kinds_that_are_not_current_come_first() -> None:
    async with served(0, checks=_CHECKS) as server:
        for name in server.evaluation.kinds:
            server.evaluation.sync_state(name, SyncState.LIVE)
        server.evaluation.sync_state("VirtualMachine", SyncState.FORBIDDEN)
        _, _, body = await server.get("/health")
        states = re.findall(r'<span class="badge \w+">(live|forbidden)</span>', body.decode())
        assert states[0] == "forbidden"
        assert set(states[1:]) == {"live"}
