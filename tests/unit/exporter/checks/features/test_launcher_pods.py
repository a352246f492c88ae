"""What feature_nodes says of random VMs, VMIs and nodes, held against a plain reading of what makes a launcher pod.

The reading is of pkg/virt-controller/services (template.go, nodeselectorrenderer.go) and watch/migration/migration.go
of kubevirt/kubevirt, and of the scheduler's rules for what stands in these pods; it shares nothing with the check.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

from exporter.checks.features import feature_nodes
from tests.amounts import drawn, rounds
from tests.evaluation import Evaluation
from tests.rows import full

Row = dict[str, Any]

SCENES = 40
VERSIONS = ("v1.5.0", "v1.5.3", "v1.6.3", "v1.6.4", "v1.7.0", "v1.7.4", "v1.8.4", "v1.9.0")
MODELS = {"Intel": ("Haswell", "Icelake"), "AMD": ("EPYC",)}
OWN = {"Intel": "vmx", "AMD": "svm"}
FEATURE, MODEL, MIGRATION = ("cpu-feature", "cpu-model", "cpu-model-migration")
TOLERATIONS: tuple[list[Row], ...] = (
    [],
    [{"key": "dedicated", "operator": "Exists"}],
    [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
    [{"key": "dedicated"}],
    [{"operator": "Exists", "effect": "NoExecute"}],
)
EXPRESSIONS: tuple[Row, ...] = (
    {"key": "zone", "operator": "In", "values": ["b", "c"]},
    {"key": "zone", "operator": "NotIn", "values": ["a"]},
    {"key": "cpu-feature.node.kubevirt.io/avx2", "operator": "Exists"},
    {"key": "zone", "operator": "DoesNotExist"},
)
POLICIES = ("require", "", None, "forbid", "optional", "force", "disable")


class Pod(NamedTuple):
    """The labels that it selects, those that must not be there, and the VM's own terms and tolerations."""

    selector: dict[str, str]
    absent: tuple[str, ...]
    terms: list[Row]
    tolerations: list[Row]


def label(kind: str, name: str) -> str:
    return f"{kind}.node.kubevirt.io/{name}"


# -- scenes


def a_node(dice: random.Random, number: int) -> Row:
    labels = {"kubernetes.io/arch": dice.choice(("amd64", "amd64", "arm64")), "zone": dice.choice("ab")}
    labels |= dice.choice(({}, *4 * ({"kubevirt.io/schedulable": "true"},), {"kubevirt.io/schedulable": "false"}))
    labels |= dice.choice(({}, {"kubevirt.io/cpumanager": "true", "cpumanager": "true"}))
    labels |= dice.choice(({}, {"kubevirt.io/realtime": "true"}))
    on = []
    if labels["kubernetes.io/arch"] == "amd64":
        vendor = dice.choice(("Intel", "AMD"))
        model = dice.choice(MODELS[vendor])
        on = [label("cpu-vendor", vendor), label(FEATURE, OWN[vendor]), label("host-model-cpu", model)]
        on += [label(MIGRATION, model), label(MODEL, model)]
        on += dice.choice(([], [label(FEATURE, "avx2")])) + dice.choice(([], [label(MIGRATION, "Haswell")]))
        on += dice.choice(([], [label("host-model-required-features", "avx2")]))
        on += dice.choice((*4 * ([],), ["node-labeller.kubevirt.io/obsolete-host-model"]))
    taints = dice.choice(([], [], ["dedicated:NoSchedule"], ["dedicated:NoExecute"], ["soft:PreferNoSchedule"]))
    state = {"cordoned": dice.random() < 0.15, "ready": dice.random() < 0.9, "taints": taints}
    return {"kind": "Node", "name": f"node{number}", "labels": labels | dict.fromkeys(on, "true")} | state


def a_spec(dice: random.Random) -> tuple[Row, Row]:
    """Of a VMI, and its domain."""
    spec: Row = {"tolerations": dice.choice(TOLERATIONS), "architecture": dice.choice(("amd64", "amd64", "arm64"))}
    if dice.random() < 0.3:
        spec["nodeSelector"] = {"zone": dice.choice("abc")}
    if dice.random() < 0.3:
        terms = [{"matchExpressions": dice.sample(EXPRESSIONS, dice.randint(1, 2))} for _ in range(dice.randint(1, 2))]
        if dice.random() < 0.3:
            terms[0]["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": ["node0", "node1"]}]
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        }
    cpu: Row = {"model": dice.choice(("host-model", "host-passthrough", "Haswell", "EPYC"))}
    if dice.random() < 0.5:
        names = dice.sample(("vmx", "svm", "avx2"), dice.randint(1, 2))
        policies = [(name, dice.choice(POLICIES)) for name in names]
        cpu["features"] = [{"name": name} | ({"policy": how} if how is not None else {}) for name, how in policies]
    cpu |= dice.choice(({}, {}, {}, {"dedicatedCpuPlacement": True}, {"dedicatedCpuPlacement": True, "realtime": {}}))
    return spec, {"cpu": cpu}


# -- the reading


def pod_of(spec: Row, domain: Row, version: tuple[int, ...], cluster: dict[str, str]) -> Pod:
    cpu = domain["cpu"]
    selector = {"kubernetes.io/arch": spec["architecture"]} | cluster | spec.get("nodeSelector", {})
    absent = [label(FEATURE, each["name"]) for each in cpu.get("features", ()) if each.get("policy") == "forbid"]
    on = [label(FEATURE, each["name"]) for each in cpu.get("features", ()) if each.get("policy", "") in ("", "require")]
    if cpu["model"] == "host-model":
        absent.append("node-labeller.kubevirt.io/obsolete-host-model")
    elif cpu["model"] != "host-passthrough":
        on.append(label(MODEL, cpu["model"]))
    if cpu.get("dedicatedCpuPlacement"):
        on.append("kubevirt.io/cpumanager" if version >= (1, 8) else "cpumanager")
    if "realtime" in cpu:
        on.append("kubevirt.io/realtime")
    required = (
        spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    )
    terms = required.get("nodeSelectorTerms", [])
    return Pod(selector | dict.fromkeys(on, "true"), tuple(absent), terms, spec["tolerations"])


def moved(pod: Pod, home: Row, domain: Row, version: tuple[int, ...]) -> Pod | None:
    """The pod that a live migration makes; None where KubeVirt fails to make one."""
    labels, more = home["labels"], {}
    fixed = any(key.startswith("cpu-feature.") for key in pod.selector)  # taken for a trace of an earlier migration
    if domain["cpu"]["model"] == "host-model" and not fixed:
        models = [key.partition("/")[2] for key in labels if key.startswith("host-model-cpu.")]
        if not models:
            return None
        required = [key.partition("/")[2] for key in labels if key.startswith("host-model-required-features.")]
        more = {label(MIGRATION, models[0]): "true"} | {label(FEATURE, each): "true" for each in required}
    if version >= (1, 7, 1) or (1, 6, 4) <= version < (1, 7):
        more |= {key: "true" for key in labels if key.startswith("cpu-vendor.")}
    # It may have a toleration that its spec does not show: it was let onto the node that it is on.
    let = [
        dict(zip(("key", "effect"), each.split(":"), strict=True)) | {"operator": "Exists"} for each in home["taints"]
    ]
    return pod._replace(selector=pod.selector | more, tolerations=[*pod.tolerations, *let])


def takes_any(node: Row) -> bool:
    return bool(node["labels"].get("kubevirt.io/schedulable") == "true" and node["ready"] and not node["cordoned"])


def takes(node: Row, pod: Pod) -> bool:
    labels, name = {"kubernetes.io/hostname": node["name"], **node["labels"]}, {"metadata.name": node["name"]}
    selected = all(labels.get(key) == value for key, value in pod.selector.items())
    hard = [each for each in node["taints"] if not each.endswith(":PreferNoSchedule")]
    met = [
        all(holds(labels, each) for each in term.get("matchExpressions", ()))
        and all(holds(name, each) for each in term.get("matchFields", ()))
        for term in pod.terms
    ]
    tolerated = all(any(tolerates(each, taint) for each in pod.tolerations) for taint in hard)
    return takes_any(node) and selected and tolerated and not labels.keys() & {*pod.absent} and (any(met) or not met)


def holds(labels: dict[str, str], expression: Row) -> bool:
    there, value = expression["key"] in labels, labels.get(expression["key"])
    answers = {"Exists": there, "DoesNotExist": not there, "In": value in expression.get("values", ())}
    return answers.get(expression["operator"], value not in expression.get("values", ()))


def tolerates(toleration: Row, taint: str) -> bool:
    key, _, effect = taint.partition(":")
    if toleration.get("operator") == "Exists":
        keyed = toleration.get("key", key) == key
    else:
        keyed = (toleration.get("key"), toleration.get("value", "")) == (key, "")
    return keyed and bool(toleration.get("effect", effect) == effect)


# -- held against each other


def found(version: str, cluster: dict[str, str], rows: Iterable[Row]) -> list[str]:
    developer = {"featureGates": ["CPUManager"], "nodeSelectors": cluster}
    own = {"spec": {"configuration": {"developerConfiguration": developer}}, "status": {"defaultArchitecture": "amd64"}}
    evaluation = Evaluation([feature_nodes.CHECK])
    evaluation.seen(full({"kind": "KubeVirt", "name": "kubevirt", "version": version, "over": own}))
    for each in rows:
        evaluation.seen(full(each))
    evaluation.evaluate()
    assert not evaluation.engine.unknowns()
    return [each.reason for each in evaluation.engine.findings()]


@drawn
@pytest.mark.parametrize("seed", range(rounds(2, 10)))
def test_a_start_is_foretold_to_fail_where_no_node_takes_the_pod(seed: int) -> None:
    dice, seen = random.Random(seed), set()
    for scene in range(SCENES):
        version, cluster = dice.choice(VERSIONS), dice.choice(({}, {}, {}, {"zone": "a"}))
        nodes, (spec, domain) = [a_node(dice, number) for number in range(dice.randint(1, 5))], a_spec(dice)
        vm = {"kind": "VirtualMachine", "name": "db", "runStrategy": "Always", "template": spec, "domain": domain}
        pod = pod_of(spec, domain, numbers(version), cluster)
        fails = any(map(takes_any, nodes)) and not any(takes(node, pod) for node in nodes)
        assert bool(found(version, cluster, (*nodes, vm))) == fails, (scene, version, cluster, nodes, vm)
        seen.add(fails)
    assert seen == {True, False}


@drawn
@pytest.mark.parametrize("seed", range(rounds(2, 10)))
def test_a_migration_is_foretold_to_fail_where_no_other_node_takes_the_pod(seed: int) -> None:
    dice, seen = random.Random(seed), set()
    for scene in range(SCENES):
        version, cluster = dice.choice(VERSIONS), dice.choice(({}, {}, {}, {"zone": "a"}))
        nodes, (spec, domain) = [a_node(dice, number) for number in range(dice.randint(2, 6))], a_spec(dice)
        home, *others = nodes
        vmi = {"kind": "VirtualMachineInstance", "name": "db", "node": home["name"], "migratable": True}
        vmi |= {"spec": spec, "domain": domain}
        pod = moved(pod_of(spec, domain, numbers(version), cluster), home, domain, numbers(version))
        if pod is None or not any(map(takes_any, others)):
            continue
        fails = not any(takes(node, pod) for node in others)
        assert bool(found(version, cluster, (*nodes, vmi))) == fails, (scene, version, cluster, nodes, vmi)
        seen.add(fails)
    assert seen == {True, False}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.removeprefix("v").split(".")))
