"""What real objects ask for is what somebody read in them by hand, and no real object makes a rule raise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.domain.features.configuration import Effective, understood
from exporter.facts.rule import Ground, Request
from exporter.facts.rules import BY_ID, RULES
from exporter.kube.watch.listing import Decoder
from exporter.store.kinds.storage import StorageClass
from tests.all_of import all_of, named, whole
from tests.case_files import read_yaml
from tests.corpus import objects
from tests.evaluation import Evaluation, api_kinds
from tests.shared import REPO, data, reference

pytestmark = reference("what real objects ask for is what somebody read in them, and is answered for each release")

TABLE: dict[str, dict[str, list[list[str]]]] = read_yaml(
    (REPO / "tests/checks/corpus_requests.yaml").read_text(encoding="utf-8")
)
EXAMPLES = "corpus/kubevirt/examples/"
ASKING = ("VirtualMachine", "VirtualMachineInstance", "VirtualMachineInstanceReplicaSet", "VirtualMachinePool")
NO_RULES = {"cpu_model_default", "ext_net_inject"}
"""What the table has beside the rules of specs: the first no request can be refused of, the second is in the NAD."""
BY_CONFIGURATION = {"grace_io", "vgpu_migration"}
"""Asked for by every device's name; the configuration says which of them it is about."""
VERSIONS = ("v0.59.2", "v1.0.0", "v1.3.1", "v1.4.0", "v1.5.2", "v1.6.3", "v1.7.0", "v1.8.4", "v1.9.0")


def decoded(thing: dict[str, Any]) -> Any:
    seen = Decoder(api_kinds()[thing["kind"]]).object(json.dumps(thing, default=str).encode())
    assert not seen.why
    return seen.record


def ours(thing: dict[str, Any]) -> set[Request]:
    """Without what everybody asks for who says nothing."""
    asks: tuple[Request, ...] = decoded(thing).asks
    return {each for each in asks if each[0] not in BY_CONFIGURATION and each != ("emulated_machines", "")}


def read(file: str, thing: dict[str, Any]) -> set[Request]:
    pairs = TABLE[file].get(f"{thing['kind']}/{thing['metadata']['name']}", [])
    return {(rule, parameter) for rule, parameter in pairs if rule not in NO_RULES}


def of_kinds(kinds: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    return [(path, each) for path, each in objects() if each["kind"] in kinds and each["metadata"].get("name")]


def test_the_table_has_every_example_and_each_of_its_objects() -> None:
    files: dict[str, set[str]] = {path.name: set() for path in (data() / EXAMPLES).iterdir()}
    for path, thing in of_kinds(ASKING):
        if path.startswith(EXAMPLES):
            files[path.removeprefix(EXAMPLES)].add(f"{thing['kind']}/{thing['metadata']['name']}")

    assert len(files) == 47
    assert {file: set(of) for file, of in TABLE.items()} == files
    rules = {rule for of in TABLE.values() for pairs in of.values() for rule, _ in pairs}
    specs = {rule.id for rule in RULES}
    assert rules - specs == NO_RULES
    assert len(rules & specs) >= 10


@all_of(named(sorted(TABLE), str), whole)
def test_the_examples_ask_for_what_was_read_in_them(file: str) -> None:
    for path, thing in of_kinds(ASKING):
        if path == EXAMPLES + file:
            assert ours(thing) == read(file, thing)


def configurations() -> list[Effective]:
    """Of every KubeVirt object under every release."""
    made = []
    for path, thing in of_kinds(("KubeVirt",)):
        record = decoded(thing)
        for version in VERSIONS:
            known = understood(record, version)
            assert isinstance(known, Effective), f"{path}: {known}"
            made.append(known)
    return made


def requests() -> set[Request]:
    return {request for _, thing in of_kinds(ASKING) for request in decoded(thing).asks}


def test_the_configuration_of_every_kubevirt_object_is_understood_and_no_rule_raises_on_what_anything_asks_for() -> (
    None
):
    named_one = Decoder(StorageClass.KIND).object(b'{"kind": "StorageClass", "metadata": {"name": "fast"}}').record
    assert isinstance(named_one, StorageClass)
    asked = requests()
    refused: set[str] = set()
    allowed: set[str] = set()
    known = list(dict.fromkeys(configurations()))
    for configuration in known:
        for storage in (None, (), (named_one,)):
            ground = Ground(configuration, storage)
            for rule_id, parameter in asked:
                rule = BY_ID[rule_id]
                rule.bites(configuration)
                if rule.on(configuration):
                    assert all(each.startswith(("label ", "resource ")) for each in rule.nodes(parameter))
                (refused if rule.why(ground, parameter) else allowed).add(rule_id)

    assert len(known) > 100
    assert len({rule for rule, _ in asked}) > 30
    assert len(refused) > 25
    assert len(allowed) > 25


def test_the_configuration_that_hco_makes_is_known_by_its_gates() -> None:
    made = [thing for path, thing in of_kinds(("KubeVirt",)) if path.endswith("kubevirt-cr-made-by-hco.yaml")]
    record = decoded(made[0])
    known = Effective.of(record, "v1.9.0")

    assert len(made) == 1
    assert record.managed_by_hco
    assert isinstance(known, Effective)
    assert known.gates.enabled
    assert known.gates.disabled
    assert known.default_interface == "masquerade"
    assert all(known.on(gate) for gate in known.gates.enabled)
    assert not any(known.on(gate) for gate in known.gates.disabled)


@pytest.mark.parametrize(("version", "target"), [("v1.7.0", ""), ("v1.8.4", "v1.9.0"), ("v1.9.0", "")])
def test_everything_there_is_has_an_answer_under_the_configuration_that_hco_makes(version: str, target: str) -> None:
    evaluation = Evaluation(check for check in all_checks() if check.id.startswith("feature_"))
    for path, thing in objects():
        known = thing["kind"] in evaluation.kinds and thing["metadata"].get("name")
        if known and (thing["kind"] != "KubeVirt" or path.endswith("kubevirt-cr-made-by-hco.yaml")):
            status = {
                "phase": "Deployed",
                "observedKubeVirtVersion": version,
                "targetKubeVirtVersion": target or version,
            }
            more = {"status": status} if thing["kind"] == "KubeVirt" else {}
            evaluation.seen(json.loads(json.dumps(thing | more, default=str)))

    found = {reason for _, _, reason, _ in evaluation.found()}
    assert [each.why for each in evaluation.engine.unknowns()] == []
    assert {"StartBlocked", "PendingStartedBefore", "StoppedRequestsDisabled", "RunningStartedBefore"} <= found
    assert ("BreaksAtUpgrade" in found) == bool(target)
