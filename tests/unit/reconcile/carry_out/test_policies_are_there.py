"""What the metrics say of the policy that holds the sidecar to its plans, by what the API server answered."""

from __future__ import annotations

import pytest
from prometheus_client import generate_latest

from reconcile.app import PolicyProof
from reconcile.carry_out.execute import IdleWriter
from reconcile.carry_out.metrics import Measures, ShownRepairs
from reconcile.plan.remediations import all_remediations


def shown(measures: Measures) -> str:
    lines = generate_latest(measures.registry).decode().splitlines()
    return next((line.rpartition(" ")[2] for line in lines if line.startswith("kubevirt_steward_repair_policy")), "")


async def test_it_says_what_was_answered_last_and_nothing_before_there_is_an_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    answers: list[tuple[bool | None, str]] = []
    measures = Measures(all_remediations(), {}, ShownRepairs())

    async def ask() -> tuple[bool | None, str]:
        return answers.pop(0)

    guarding, found = PolicyProof({"p": ask}, measures.standing), list[str]()
    for each in (
        (None, "no answer"),
        (False, "it was taken"),
        (False, "it was taken"),
        (True, ""),
        (None, "no answer"),
    ):
        answers.append(each)
        await guarding.look()
        found.append(shown(measures))
    assert found == ["", "0.0", "0.0", "1.0", "1.0"]
    assert sum('event="policy missing" policy=p' in line for line in caplog.messages) == 1
    assert sum('event="policy check failed" policy=p' in line for line in caplog.messages) == 2


async def test_where_nothing_may_write_it_is_not_asked() -> None:
    asked = IdleWriter(None)  # type: ignore[arg-type] # it has nothing to send with
    assert await asked.guarded("kv") == (None, "no remediation has permission to write")
