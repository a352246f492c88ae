"""Every real object of a kind that we read can be decoded, the fully populated ones of each release among them."""

from __future__ import annotations

import json

import pytest

from exporter.checks import all_checks
from exporter.kube.decode import Decoder
from tests.corpus import objects
from tests.evaluation import Evaluation, api_kinds
from tests.shared import SHARED

MISSING = ("Namespace", "Node", "NodeMaintenance", "KubevirtMachine")  # of these it has none


@pytest.mark.skipif(SHARED is None, reason="the reference data (../shared) is not here")
@pytest.mark.parametrize("name", [name for name in api_kinds() if name not in MISSING])
def test_every_object_of_the_kind_decodes(name: str) -> None:
    kind = api_kinds()[name]
    decoder = Decoder(kind)
    decoded = 0
    for path, thing in objects():
        if thing["kind"] == name and str(thing["apiVersion"]).partition("/")[0] in (kind.group, "v1"):
            if not thing["metadata"].get("name"):
                continue  # made by a generateName: never listed like this
            seen = decoder.object(json.dumps(thing, default=str).encode())
            assert not seen.why, f"{path}: {seen.why}"
            decoded += 1
    assert decoded


@pytest.mark.skipif(SHARED is None, reason="the reference data (../shared) is not here")
def test_nothing_is_said_against_the_identities_that_real_controllers_made() -> None:
    evaluation = Evaluation(check for check in all_checks() if check.id.startswith("firmware_"))
    made = [thing for path, thing in objects() if "controller-made" in path and thing["kind"] in evaluation.kinds]
    for thing in made:
        evaluation.seen(json.loads(json.dumps(thing, default=str)))

    assert {"VirtualMachine", "VirtualMachinePool", "VirtualMachineInstanceReplicaSet"} <= {
        each["kind"] for each in made
    }
    assert evaluation.found() == []
    assert evaluation.engine.unknowns() == []
