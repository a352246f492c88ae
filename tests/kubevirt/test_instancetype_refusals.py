"""What is found of VMs that do not fit their instancetype or preference, held against what KubeVirt refuses of them.

KubeVirt takes a VM whose instancetype does not exist yet, and refuses every later change of it if the two conflict:
a dry run of a patch that changes nothing shows that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.client import ApiError
from tests.cluster.exporter import Exporter
from tests.cluster.resources import VMS
from tests.kubevirt import releases
from tests.kubevirt.sizes import INSTANCETYPE, PREFERENCE, Sizes, sized
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

pytestmark = releases.needs(releases.MISSING_SIZE_TAKEN)

REFUSED = {
    "conflicts with selected instance type": "FieldConflict",
    "failure checking preference requirements": "RequirementsUnmet",
    "are not divisible": "RequirementsUnmet",
}
GPU = [{"name": "gpu", "deviceName": "example.com/gpu"}]
GIVEN: Object = {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}}
MEMORY: Object = {"memory": {"guest": "1Gi"}}


def requests(**resources: str) -> Object:
    return {"resources": {"requests": resources}}


def limits(**resources: str) -> Object:
    return {"resources": {"limits": resources}}


def cpu(**of_vm: Any) -> Object:
    return {"cpu": of_vm, **MEMORY}


def with_cpu(**more: Any) -> Object:
    return {"cpu": {"guest": 2, **more}}


# What a VM says itself of its domain, and what its instancetype gives besides 2 CPUs and 1 GiB, or instead.
CONFLICTS: dict[str, tuple[Object, Object]] = {
    "nothing": ({}, {}),
    "requests-cpu": (requests(cpu="1"), {}),
    "limits-cpu": (limits(cpu="1"), {}),
    "sockets": ({"cpu": {"sockets": 1}}, {}),
    "cores": ({"cpu": {"cores": 1}}, {}),
    "threads": ({"cpu": {"threads": 1}}, {}),
    "max-sockets": ({"cpu": {"maxSockets": 4}}, with_cpu(maxSockets=8)),
    "guest-memory": (MEMORY, {}),
    "requests-memory": (requests(memory="1Gi"), {}),
    "limits-memory": (limits(memory="1Gi"), {}),
    "model-alone": ({"cpu": {"model": "host-model"}}, {}),
    "model": ({"cpu": {"model": "host-model"}}, with_cpu(model="host-model")),
    "numa": ({"cpu": {"numa": {}}}, with_cpu(numa={})),
    "hugepages-alone": ({"memory": {"hugepages": {"pageSize": "2Mi"}}}, {}),
    "hugepages": (
        {"memory": {"hugepages": {"pageSize": "2Mi"}}},
        {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}},
    ),
    "overcommit": ({}, {"memory": {"guest": "1Gi", "overcommitPercent": 10}}),
    "gpus-alone": ({"devices": {"gpus": GPU}}, {}),
    "gpus": ({"devices": {"gpus": GPU}}, {"gpus": GPU}),
    "no-gpus": ({"devices": {"gpus": []}}, {"gpus": GPU}),
    "threads-policy-alone": ({"ioThreadsPolicy": "auto"}, {}),
    "threads-policy": ({"ioThreadsPolicy": "auto"}, {"ioThreadsPolicy": "shared"}),
    "pool-of-threads-alone": ({"ioThreads": {"supplementalPoolThreadCount": 2}}, {"ioThreads": {}}),
    "pool-of-threads": (
        {"ioThreads": {"supplementalPoolThreadCount": 2}},
        {"ioThreads": {"supplementalPoolThreadCount": 2}},
    ),
}
# The same beside the domain.
BESIDE: dict[str, tuple[Object, Object]] = {
    "nodes-alone": ({"nodeSelector": {"a": "b"}}, {}),
    "nodes": ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"c": "d"}}),
    "nodes-equal": ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "b"}}),
    "nodes-empty-in-vm": ({"nodeSelector": {}}, {"nodeSelector": {"c": "d"}}),
    "scheduler-alone": ({"schedulerName": "other"}, {}),
    "scheduler": ({"schedulerName": "other"}, {"schedulerName": "other"}),
}
# What a VM says of its annotations, and what its instancetype does.
ANNOTATIONS: dict[str, tuple[Object, Object]] = {
    "annotation-equal": ({"a": "b"}, {"a": "b"}),
    "annotations-of-both": ({"a": "b"}, {"c": "d"}),
    "annotation": ({"a": "b"}, {"a": "c"}),
}


def needs(cpus: int | None = None, memory: str | None = None, topology: str | None = None, **more: Any) -> Object:
    sizes = {"cpu": cpus, "memory": memory}
    required = {key: {"guest": value} for key, value in sizes.items() if value is not None}
    preferred = {"cpu": {"preferredCPUTopology": topology}} if topology else {}
    return {"requirements": {**required, **more}, **preferred}


def spread(across: str | None = None, ratio: int | None = None, cpus: int | None = None) -> Object:
    options = {key: value for key, value in {"across": across, "ratio": ratio}.items() if value is not None}
    of_cpus = {"preferredCPUTopology": "spread", **({"spreadOptions": options} if options else {})}
    return {**needs(cpus), "cpu": of_cpus}


def given(cpus: int) -> Object:
    return {**GIVEN, "cpu": {"guest": cpus}}


# What a VM says itself of its domain, what it has for an instancetype, and for a preference.
REQUIREMENTS: dict[str, tuple[Object, Object | None, Object]] = {
    "enough": ({}, GIVEN, needs(2, "1Gi")),
    "few-cpus": ({}, GIVEN, needs(4)),
    "little-memory": ({}, GIVEN, needs(memory="2Gi")),
    "architecture": ({}, GIVEN, needs(architecture="arm64")),
    "architecture-equal": ({}, GIVEN, needs(architecture="amd64")),
    "one-by-default": (MEMORY, None, needs(1)),
    "two-without-any": (MEMORY, None, needs(2)),
    "requested-cpus": ({**MEMORY, **requests(cpu="4")}, None, needs(2)),
    "requested-memory": (requests(memory="2Gi"), None, needs(memory="1Gi")),
    "no-memory": ({}, None, needs(memory="1Gi")),
    "own-memory": (MEMORY, None, needs(memory="1Gi")),
    "own-little-memory": (MEMORY, None, needs(memory="2Gi")),
    "as-sockets": (cpu(sockets=2), None, needs(2)),
    "as-cores": (cpu(cores=2), None, needs(2)),
    "cores-wanted": (cpu(cores=2), None, needs(2, topology="cores")),
    "cores-wanted-of-old": (cpu(cores=2), None, needs(2, topology="preferCores")),
    "cores-wanted-of-sockets": (cpu(sockets=2), None, needs(2, topology="cores")),
    "threads-wanted": (cpu(threads=2), None, needs(2, topology="threads")),
    "any-of-all": (cpu(cores=2, sockets=2, threads=1), None, needs(4, topology="any")),
    "any-without-threads": (cpu(cores=2, sockets=2), None, needs(4, topology="any")),
    "spread-of-two": (cpu(cores=2, sockets=2), None, spread(cpus=4)),
    "spread-of-few": (cpu(cores=2, sockets=1), None, spread(cpus=4)),
    "spread-over-threads": (cpu(cores=2, threads=2, sockets=3), None, spread("CoresThreads", cpus=4)),
    "spread-over-all": (cpu(cores=2, threads=2, sockets=3), None, spread("SocketsCoresThreads", cpus=12)),
    "spread-even": ({}, given(2), spread()),
    "spread-by-three": ({}, given(3), spread(ratio=3)),
    "spread-by-three-of-old": ({}, given(3), {**spread(), "preferSpreadSocketToCoreRatio": 3}),
    "spread-over-uneven-threads": ({}, given(3), spread("CoresThreads")),
    "spread-over-even-threads": ({}, given(2), spread("CoresThreads")),
    "spread-two-over-all": ({}, given(2), spread("SocketsCoresThreads")),
    "spread-four-over-all": ({}, given(4), spread("SocketsCoresThreads")),
    "spread-uneven-of-its-own": (cpu(sockets=3), None, spread()),
    "spread-uneven": ({}, given(3), spread()),
}


@pytest.fixture
def sizes(stage: Stage) -> Iterator[Sizes]:
    with sized(stage) as made:
        yield made


def refused(stage: Stage, name: str) -> str | None:
    """The reason that KubeVirt's refusal of a change of this VM is a finding with."""
    path, kind = VMS.path(stage.namespace, name), "application/json-patch+json"
    try:
        stage.client.connection.request("PATCH", path, [], query={"dryRun": "All"}, content_type=kind)
    except ApiError as error:
        return next(reason for words, reason in REFUSED.items() if words in error.message)
    return None


def found(exporter: Exporter, stage: Stage) -> dict[str, str]:
    report = exporter.report(f"?namespace={stage.namespace}&check=instancetype_vms")["findings"]
    return {each["subject"]["name"]: each["reason"] for each in report if each["reason"] in set(REFUSED.values())}


def wait_found(exporter: Exporter, stage: Stage, wanted: dict[str, str | None], reason: str) -> None:
    """The last one that was made is refused: when that is found, what was made before is evaluated."""
    bad = {name: why for name, why in wanted.items() if why is not None}
    assert set(bad.values()) == {reason}
    assert list(bad)[-1] == list(wanted)[-1]
    assert len(bad) < len(wanted)
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: found(exporter, stage) == bad, 30, "what is found")
    assert found(exporter, stage) == bad


def test_the_fields_that_conflict_are_those_that_kubevirt_refuses(
    exporter: Exporter, stage: Stage, sizes: Sizes
) -> None:
    for name, (domain, _) in CONFLICTS.items():
        make(stage, name, {"domain": {"devices": {}, **domain}})
    for name, (spec, _) in BESIDE.items():
        make(stage, name, spec)
    for name, (own, _) in ANNOTATIONS.items():
        make(stage, name, {}, annotations=own)
    more = {name: {"annotations": its} for name, (_, its) in ANNOTATIONS.items()}
    gives = {**{name: its for name, (_, its) in (*CONFLICTS.items(), *BESIDE.items())}, **more}
    for name, its in gives.items():
        sizes.make(name, INSTANCETYPE, {**GIVEN, **its})
    wait_found(exporter, stage, {name: refused(stage, name) for name in gives}, "FieldConflict")


def make(stage: Stage, name: str, spec: Object, **how: Any) -> None:
    stage.vm(name, strategy="Halted", instancetype={"name": name, "kind": INSTANCETYPE}, **spec, **how)


def test_requirements_are_unmet_where_kubevirt_refuses_the_vm(exporter: Exporter, stage: Stage, sizes: Sizes) -> None:
    for name, (domain, its, _) in REQUIREMENTS.items():
        instancetype = sizes.make(name, INSTANCETYPE, its) if its else None
        stage.vm(
            name,
            strategy="Halted",
            instancetype=instancetype,
            preference={"name": name, "kind": PREFERENCE},
            domain={"devices": {}, **domain},
        )
    for name, (_, _, preference) in REQUIREMENTS.items():
        sizes.make(name, PREFERENCE, preference)
    wait_found(exporter, stage, {name: refused(stage, name) for name in REQUIREMENTS}, "RequirementsUnmet")
