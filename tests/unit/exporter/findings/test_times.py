"""Times that are legal in an object and that no calendar can show everywhere."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from exporter.checks import all_checks
from exporter.facts.record import epoch
from exporter.questions.findings import take
from tests.evaluation import Evaluation
from tests.rows import full

ODD = ["0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59Z"]


@pytest.mark.parametrize("time", ODD)
def test_a_report_shows_an_object_of_any_time(time: str) -> None:
    claim = full({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/16"]})
    claim["metadata"] |= {"creationTimestamp": time, "deletionTimestamp": time}
    evaluation = Evaluation(all_checks())
    evaluation.now = datetime(9999, 12, 31, 12, tzinfo=UTC).timestamp()  # past every grace
    evaluation.seen(full({"kind": "NetworkAttachmentDefinition", "name": "blue"}))
    evaluation.seen(claim)
    evaluation.evaluate()
    found = [each for each in take(evaluation.engine).findings if each.subject.name == "db.blue"]
    assert [each.reason for each in found] == ["StuckTerminatingOwnerGone"]
    assert 1970 <= datetime.fromisoformat(found[0].since).year <= 9999
    json.dumps(found[0].evidence)


def test_an_ordinary_time_is_what_it_was() -> None:
    assert epoch("2026-06-01T10:30:00+02:00") == datetime(2026, 6, 1, 8, 30, tzinfo=UTC).timestamp()


TAKEN = {  # by the API server, as `format: date-time`, and what is made of them
    "2026-06-01T10:30:00z": "2026-06-01T10:30:00+00:00",
    "2026-06-01t10:30:00Z": "2026-06-01T10:30:00+00:00",
    "2026-06-01T10:30:00x5Z": "2026-06-01T10:30:00+00:00",
    "2026-06-01T10:30:00+99:99": "2026-06-01T10:30:00+00:00",
    "0000-01-01T00:00:00Z": "1970-01-01T00:00:00+00:00",
    "10000-01-01T11:59:59Z": "9999-12-30T00:00:00+00:00",  # of 9999-12-31T23:59:59-12:00
}


@pytest.mark.parametrize("time", [*TAKEN, ["2026-06-01T10:30:00Z"]], ids=str)
def test_no_time_that_the_api_server_takes_hides_an_object(time: Any) -> None:
    claim = full({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "ips": ["10.0.0.5/16"], "refused": "Any"})
    claim["status"]["conditions"][0] |= {"status": "True", "lastTransitionTime": time}
    vmi = full({"kind": "VirtualMachineInstance", "name": "db"})
    vmi["status"]["migrationState"] = {"startTimestamp": time, "endTimestamp": time}
    migration = full({"kind": "VirtualMachineInstanceMigration", "name": "move", "vmi": "db"})
    phase = migration.setdefault("status", {}).setdefault("phase", "Running")
    migration["status"]["phaseTransitionTimestamps"] = [{"phase": phase, "phaseTransitionTimestamp": time}]
    evaluation = Evaluation(all_checks())
    for thing in (claim, vmi, migration):
        evaluation.seen(thing)
    evaluation.evaluate()
    assert take(evaluation.engine).undecodable == []
    json.dumps(msgspec.to_builtins(take(evaluation.engine)))
    if isinstance(time, str):
        assert epoch(time) == datetime.fromisoformat(TAKEN[time]).timestamp()


@pytest.mark.parametrize("time", ["soon", "2026-06-01", "2026-13-01T00:00:00Z", "2026-06-01T10:30:00", " "])
def test_other_text_is_no_time(time: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        epoch(time)
