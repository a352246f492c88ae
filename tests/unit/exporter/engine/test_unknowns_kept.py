"""What has no answer is looked for when something changed, and not at each request."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET
from tests.evaluation import Evaluation
from tests.rows import full
from tests.served import Served, served

from ....asking import by_header

_CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]
_VMS = 600


def vm(number: int, **more: Any) -> dict[str, Any]:
    return full({"kind": "VirtualMachine", "name": f"vm-{number}", "uuid": f"{number:032x}", **more})


async def seconds(made: Served, path: str, **headers: str) -> float:
    """Processor time of an answer that was given before: the shortest of some."""
    found = []
    for _ in range(4):
        began = time.thread_time()
        assert (await made.get(path, **headers))[0] == 200
        found.append(time.thread_time() - began)
    return min(found[1:])


@pytest.mark.parametrize("tenant", [{}, {"Tenant": "ns other"}], ids=["everything", "tenant"])
async def test_one_undecodable_vm_does_not_make_answers_slow(tenant: dict[str, str]) -> None:
    async with served(0, checks=_CHECKS, guard=by_header) as made:
        for number in range(_VMS):
            made.evaluation.seen(vm(number))
        made.evaluation.evaluate()
        paths = ("/", "/api/v1/findings")
        before = [await seconds(made, path, **tenant) for path in paths]
        made.evaluation.seen(vm(_VMS, undecodable=True))
        made.evaluation.evaluate()
        for path, once in zip(paths, before, strict=True):
            assert await seconds(made, path, **tenant) < 2.5 * once + 0.002, path


@pytest.mark.parametrize("seed", range(3))
def test_what_is_kept_is_what_a_fresh_look_finds(seed: int) -> None:
    """After any changes, also while objects can't be read and move between partitions."""
    draw, rows, kept = random.Random(seed), set[tuple[int, str]](), Evaluation(_CHECKS)
    version = kept.engine.unknown_version
    for step in range(40):
        name, namespace = draw.randrange(6), draw.choice(("ns", "other"))
        if (name, namespace) in rows and draw.random() < 0.3:
            rows.remove((name, namespace))
            kept.gone("VirtualMachine", namespace, f"vm-{name}")
        else:
            hidden = {"undecodable": True} if draw.random() < 0.25 else {}
            row = vm(name, namespace=namespace, **hidden)
            if not hidden:
                row = vm(name, namespace=namespace, uuid=f"{draw.randrange(3):032x}")
            rows.add((name, namespace))
            kept.seen(row)
        if step % 3:
            kept.evaluate()
        before, version = version, kept.engine.unknown_version
        assert version >= before
        said = kept.engine.unknowns(), list(kept.engine.unknown_namespaces())
        for work in kept.engine._work.values():
            work.unknowns.look_again()
        assert (kept.engine.unknowns(), list(kept.engine.unknown_namespaces())) == said
        assert kept.engine.unknown_version == version
