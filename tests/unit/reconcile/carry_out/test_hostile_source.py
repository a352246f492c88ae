"""Findings that are wrong, and bodies that are none: each is one sentence, and no other object is written for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from exporter.facts.record import Ref
from exporter.kube.get_json import JSONServer
from reconcile.carry_out.execute import event
from reconcile.carry_out.finding_source import ExporterSource, SourceError
from reconcile.carry_out.loop import Loop
from reconcile.decide.repair import Found
from reconcile.plan.plan import Refused
from reconcile.plan.remediations import all_remediations

from ....all_of import each_of
from ....confirming import MemoryReads, confirmed, hint_of
from ....evaluation import NOW
from ....remediation_cases import cases_of
from ....rows import full
from ....sidecar_runs import auto, on, orphan

FINDING = {
    "check": "ipam_claims",
    "reason": "OrphanClaim",
    "severity": "warning",
    "subject": {"kind": "IPAMClaim", "namespace": "ns", "name": "db.blue", "uid": "u"},
    "message": "",
    "fingerprint": "f" * 16,
}
REPORT: dict[str, Any] = {"generation": 1, "findings": [], "unknown": [], "ready": True, "fleet": {}}


def report(**changed: Any) -> bytes:
    return json.dumps(REPORT | changed).encode()


@each_of(
    "body",
    [
        report(findings=[FINDING | {"since": "yesterday"}]),
        report(fleet={"outOfDateSince": "soon"}),
        report(findings=[FINDING | {"since": 7}]),
        report(findings=[FINDING | {"subject": None}]),
        b'{"generation": 1, "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        report(findings=[FINDING]).replace(b"warning", b"\xff"),
        report()[:-5],
    ],
)
async def test_what_cannot_be_read_is_no_answer(body: bytes) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body)

    app = web.Application()
    app.router.add_get("/api/v1/findings", answer)
    async with TestServer(app) as server:
        source = ExporterSource(JSONServer(str(server.make_url("")).rstrip("/")), lambda: NOW)
        with pytest.raises(SourceError, match="the findings at"):
            await source.observed()


def test_a_fingerprint_of_another_object_is_not_followed_to_it() -> None:
    """Modes, pauses and budgets are those of the object that the finding names."""
    remediation = next(each for each in all_remediations() if each.id == "reassign_firmware_uuid")
    case = cases_of(remediation)["twin_of_one_that_runs"]
    objects = [full(row) for row in case["given"]]
    twin = hint_of(case["about"], objects)
    assert not isinstance(confirmed(remediation, twin, MemoryReads(objects)), Refused)
    answer = confirmed(
        remediation, replace(twin, subject=Ref("VirtualMachine", "ns", "db", "u1")), MemoryReads(objects)
    )
    assert isinstance(answer, Refused)
    assert answer.precondition == "finding_holds"


def test_an_event_names_nothing_of_another_namespace() -> None:
    remediation = next(each for each in all_remediations() if each.id == "reassign_firmware_uuid")
    case = cases_of(remediation)["unseen_twin_is_in_another_namespace"]
    objects = [full(row) for row in case["given"]]
    made = confirmed(remediation, hint_of(case["about"], objects), MemoryReads(objects))
    assert not isinstance(made, Refused)
    assert "other/b" in made.plan.why
    _, manifest = event(made.plan, "a1", "done", NOW, "kubevirt.io/v1")
    assert "other" not in manifest["message"].replace("another", "")
    assert "firmware_duplicates reports LatentDuplicate" in manifest["message"]


async def test_one_finding_that_raises_keeps_no_other_from_being_repaired(tmp_path: Path) -> None:
    async with on(tmp_path, auto(), orphan("a"), orphan("db")) as running:

        def labels(found: Found) -> Any:
            if found.hint.subject.name == "a.blue":
                raise IndexError("nobody thought of it")
            return {}

        running.sidecar._loop = Loop(replace(running.sidecar._context, labels=labels))
        await running.run()
        assert running.writes() == [("DELETE", "db.blue")]
        refused = running.repair("a").refused
        assert refused is not None
        assert "raised IndexError: nobody thought of it" in refused.why
