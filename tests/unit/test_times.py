"""Times that are legal in an object and that no calendar can show everywhere."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from exporter.checks import all_checks
from exporter.model.record import epoch
from exporter.views.findings import take
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
