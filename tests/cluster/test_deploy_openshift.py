"""What OpenShift's published rules say of what is for OpenShift: its SCC of the pods, its monitoring of the rest."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from tests.artifacts import artifact
from tests.cluster.conftest import Tools
from tests.cluster.deployed import NAMESPACE, VARIANTS, charted, kustomized
from tests.cluster.openshift.admission import RANGE, refused
from tests.cluster.openshift.monitoring import skipped
from tests.manifests import Object, load_all
from tests.shared import REPO

OPENSHIFT = [each for each in VARIANTS if "openshift" in each]
CSV = artifact("olm") / "manifests/kubevirt-steward.clusterserviceversion.yaml"
MAKE_PODS = ("Deployment", "Job")


def pods(objects: list[Object]) -> dict[str, Object]:
    return {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in objects if each["kind"] in MAKE_PODS}


@pytest.fixture(params=["kustomize", "helm", "olm"])
def everything(request: pytest.FixtureRequest, binary: Tools, tmp_path: Path) -> dict[str, list[Object]]:
    """All objects by their variant."""
    if request.param == "olm":
        (csv,) = load_all(CSV)
        (made,) = csv["spec"]["install"]["spec"]["deployments"]
        applied = [each for file in CSV.parent.iterdir() for each in load_all(file)]
        return {"olm": [{"kind": "Deployment", "metadata": {"name": made["name"]}, "spec": made["spec"]}, *applied]}
    if request.param == "helm":
        return {each: charted(binary("helm"), VARIANTS[each], tmp_path) for each in OPENSHIFT}
    return {each: kustomized(binary("kubectl"), REPO / "deploy" / each) for each in OPENSHIFT}


def test_every_pod_is_admitted_by_restricted_v2(everything: dict[str, list[Object]]) -> None:
    for variant, objects in everything.items():
        made = pods(objects)
        assert set(made) >= {"steward-exporter"}
        assert ("steward-reconcile" in made) is ("repairs" in variant)
        for name, pod in made.items():
            assert refused(pod) == [], f"{variant}: {name}"


def test_no_file_of_prometheus_is_named_and_its_ca_is_injected(everything: dict[str, list[Object]]) -> None:
    plain: Object = {"metadata": {"labels": {}}}
    for variant, objects in everything.items():
        (monitor,) = (each for each in objects if each["kind"] == "ServiceMonitor")
        assert skipped(monitor, plain) == [], variant
        maps = {each["metadata"]["name"]: each for each in objects if each["kind"] == "ConfigMap"}
        for endpoint in monitor["spec"]["endpoints"]:
            ca = maps[endpoint["tlsConfig"]["ca"]["configMap"]["name"]]
            assert ca["metadata"]["annotations"] == {"service.beta.openshift.io/inject-cabundle": "true"}
            assert "data" not in ca  # which the service CA's operator fills, and an apply would take away
            assert endpoint["tlsConfig"]["ca"]["configMap"]["key"] == "service-ca.crt"
            assert endpoint["tlsConfig"]["serverName"].endswith(f".{NAMESPACE}.svc")


def test_one_prometheus_takes_it_and_reaches_it(binary: Tools) -> None:
    for variant in OPENSHIFT:
        objects = kustomized(binary("kubectl"), REPO / "deploy" / variant)
        users = variant.endswith("-user")
        (namespace,) = (each for each in objects if each["kind"] == "Namespace")
        taken = [each for each in objects if each["kind"] in ("ServiceMonitor", "PrometheusRule")]
        assert len(taken) > 5
        for each in taken:
            assert bool(skipped(each, namespace)) is not users
        where = "openshift-user-workload-monitoring" if users else "openshift-monitoring"
        for policy in (each for each in objects if each["kind"] == "NetworkPolicy"):
            first = policy["spec"]["ingress"][0]["from"][0]["namespaceSelector"]["matchLabels"]
            assert first == {"kubernetes.io/metadata.name": where}


def test_rules_of_users_keep_the_namespace_of_an_object_where_theirs_is_set(binary: Tools) -> None:
    objects = kustomized(binary("kubectl"), REPO / "deploy/overlays/openshift-user")
    files = [each for each in objects if each["kind"] == "PrometheusRule"]
    rules = [rule for each in files for group in each["spec"]["groups"] for rule in group["rules"]]
    assert rules
    assert [
        each for each in rules if "namespace" in each.get("labels", {})
    ] == []  # it would be another than the enforced
    held = [each["expr"] for each in rules if "_since_timestamp_seconds" in each["expr"] and "record" in each]
    assert len(held) > 20
    assert all("exported_namespace" in each for each in held)


BREAKS: dict[str, Object] = {
    "runs as user 65532": {"securityContext": {"runAsUser": 65532}},
    "fsGroup 65532": {"securityContext": {"fsGroup": 65532}},
    "hostNetwork": {"hostNetwork": True},
    "is a hostPath": {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]},
    "seccomp profile Unconfined": {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
    "sysctls": {"securityContext": {"sysctls": [{"name": "a", "value": "b"}]}},
}
CONTAINER_BREAKS: dict[str, Object] = {
    "is privileged": {"privileged": True},
    "allows privilege escalation": {"allowPrivilegeEscalation": True},
    "adds SYS_ADMIN": {"capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}},
    "runs as user 0": {"runAsUser": 0},
}


@pytest.mark.parametrize("why", [*BREAKS, *CONTAINER_BREAKS])
def test_what_the_rules_forbid_is_refused(why: str) -> None:
    pod: Object = {"containers": [{"name": "a", "securityContext": {"runAsUser": RANGE.start}}]}
    assert refused(pod) == []
    lax = deepcopy(pod) | BREAKS.get(why, {})
    lax["containers"][0]["securityContext"] |= CONTAINER_BREAKS.get(why, {})
    assert [each for each in refused(lax) if why in each]


def test_the_pods_of_other_clusters_are_refused_on_openshift(binary: Tools) -> None:
    """As they set users of their own: what is for OpenShift leaves them out, and this would see it if it did not."""
    for name, pod in pods(kustomized(binary("kubectl"), REPO / "deploy/overlays/prometheus-operator")).items():
        assert [each for each in refused(pod) if "runs as user 65532" in each], name


@pytest.mark.parametrize("field", ["bearerTokenFile", "caFile"])
def test_a_file_of_prometheus_is_refused_by_user_workload_monitoring(field: str, binary: Tools) -> None:
    objects = kustomized(binary("kubectl"), REPO / "deploy/overlays/openshift-user")
    (monitor,) = (each for each in objects if each["kind"] == "ServiceMonitor")
    endpoint = monitor["spec"]["endpoints"][0]
    (endpoint["tlsConfig"] if field == "caFile" else endpoint)[field] = "/etc/prometheus/x"
    assert skipped(monitor, {"metadata": {}}) == [f"https: {'tlsConfig.' if field == 'caFile' else ''}{field}"]
