"""Every real object of a kind that we read can be decoded, the fully populated ones of each release among them."""

from __future__ import annotations

import json

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET
from exporter.kube.watch.listing import Decoder
from exporter.store.kinds.instancetypes import RESOURCES
from tests.all_of import each_of
from tests.corpus import objects
from tests.evaluation import Evaluation, api_kinds
from tests.shared import reference

SIZES = tuple(RESOURCES)
MISSING = ("Namespace", "Node", "NodeMaintenance", "KubevirtMachine")  # of these it has none


@reference("every real object of a kind that is read can be decoded")
@each_of("name", [name for name in api_kinds() if name not in MISSING])
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


@reference("the identities that real controllers made are no finding")
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


@reference("the common instancetypes and preferences are no finding")
def test_the_common_instancetypes_and_preferences_are_no_finding() -> None:
    evaluation = Evaluation(check for check in all_checks() if check.scope is not PER_FLEET)
    common = [thing for path, thing in objects() if "common-instancetypes" in path and thing["kind"] in SIZES]
    for thing in common:
        evaluation.seen(json.loads(json.dumps(thing, default=str)))

    assert len(common) == 244
    assert sum(evaluation.engine.cluster.count(api_kinds()[name].record) for name in SIZES) == 244
    assert evaluation.found() == []
    assert evaluation.engine.unknowns() == []


@reference("no check raises on a real object")
def test_no_check_raises_on_anything_that_there_is() -> None:
    evaluation = Evaluation(check for check in all_checks() if check.scope is not PER_FLEET)
    for _, thing in objects():
        if thing["kind"] in evaluation.kinds and thing["metadata"].get("name"):
            evaluation.seen(json.loads(json.dumps(thing, default=str)))

    evaluation.evaluate()
    assert [each.why for each in evaluation.engine.unknowns() if "raised" in each.why] == []
    assert sum(work.errors for work in evaluation.engine.evaluated.values()) == 0
    assert list(evaluation.engine.findings())
