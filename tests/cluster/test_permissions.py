"""The exporter with exactly the role that is generated for it: every check answers, and nothing else is permitted.

Then with one kind after another taken out of the role: just the checks, states and views that read the kind have no
answer, and say what to grant; whatever else is served stays as it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.counts import all_states
from exporter.findings.check import PER_FLEET
from exporter.questions import all_views
from exporter.store.kind import ApiKind
from exporter.store.kinds import node, pod, storage
from exporter.store.reader import watched
from tests.case_files import read_yaml
from tests.cluster import fleet, nodes
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import ApiError, Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import ACCOUNT, QUICK, ROLE, Exporter, grant, without
from tests.cluster.resources import CLUSTER_ROLES, CONFIG_MAPS, IPAM_CLAIMS, NODES, PODS, SECRETS, VMS, Resource
from tests.cluster.test_repairs import KUBEVIRT
from tests.manifests import Object, load_all
from tests.waiting import wait_until

NS = "tenant"
UUID = "5b4e28ba-2fa1-41d2-883f-0016d3cca427"
# A watch that has begun goes on without its permission: they end soon here, and what is taken away is noticed then.
SHORT = replace(QUICK, watch=1.3, catch_up=0.05, look_again=0.2)
CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]
STATES = [state for state in all_states() if not state.option]
KINDS = [kind for kind in watched((*CHECKS, *STATES, *all_views())) if isinstance(kind, ApiKind)]
VIEWS = {view.id: view for view in all_views()}
QUERIES = {"drain": "?node=node01"}
# Each by its name, but for what answers by evaluating checks, a change and one VM: what those lack, it lacks.
ASKED = {view: f"/api/v1/{view}{QUERIES.get(view, '')}" for view in VIEWS if view not in ("impact", "vm")}
UNSAID = {
    ("features", storage.STORAGE_CLASS.name),  # said of each feature that is about storage
    ("drain", node.MAINTENANCE.name),  # says who drains a node, and nothing of what a drain would do
    ("drain", "PersistentVolume"),  # said where a VM that leaves has a PersistentVolumeClaim
    ("networks", "UserDefinedNetwork"),  # said of the state of each network
    ("networks", "ClusterUserDefinedNetwork"),
}
DEPLOYED = "system:serviceaccount:default:steward-exporter"
# What it creates is a question to the API server, and is kept nowhere.
REVIEWS = {"tokenreviews.authentication.k8s.io": {"create"}, "subjectaccessreviews.authorization.k8s.io": {"create"}}
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    """With something to find for some checks, and something to count for some states."""
    started = module_api_server()
    admin = started.client()
    grant(admin)
    for name in (NS, "kubevirt"):
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    admin.make(KUBEVIRT)
    nodes.node(admin, "node01")
    admin.create(fleet.nad(NS, "blue", subnets="10.0.0.0/24"))
    fleet.claimed_vm(admin, NS, "db")
    fleet.claimed_vm(admin, NS, "web", ip="10.0.0.6/24")
    fleet.delete_vm(admin, NS, "db")
    for name in ("one", "other"):
        made = admin.create(fleet.vm(NS, name, firmware={"uuid": UUID}))
        admin.make(fleet.vmi(made))
    lost = fleet.vm(NS, "lost")
    lost["spec"]["instancetype"] = {"kind": "virtualmachineclusterinstancetype", "name": "gone"}
    admin.create(lost)
    return started


@pytest.fixture
def admin(server: ApiServer) -> Client:
    return server.client()


@pytest.fixture
def role(admin: Client) -> Iterator[Object]:
    """The generated one; it is as generated again afterwards."""
    generated: Object = read_yaml(ROLE.read_text(encoding="utf-8"))
    yield generated
    admin.apply(generated)


@pytest.fixture(scope="module")
def exporter(server: ApiServer) -> Iterator[Exporter]:
    with Exporter(server.kubeconfig(ACCOUNT), SHORT, graces=0.0) as running:
        yield running.wait_ready()


@dataclass(frozen=True)
class Answers:
    """All that the exporter says of the cluster, at one time."""

    states: dict[str, str]  # of the kinds
    findings: dict[str, frozenset[tuple[str, str]]]  # by check
    unknown: dict[str, str]  # by check, why
    families: dict[str, frozenset[str]]  # the samples of the states
    unseen: dict[str, frozenset[str]]  # by view, the kinds

    @classmethod
    def of(cls, exporter: Exporter) -> Answers:
        report = exporter.report()
        found: dict[str, set[tuple[str, str]]] = {}
        for each in report["findings"]:
            found.setdefault(each["check"], set()).add((each["reason"], each["subject"]["name"]))
        lines = exporter.get("/metrics")[1].splitlines()
        names = [gauge.name for state in STATES for gauge in state.gauges]
        return cls(
            {each["kind"]: each["state"] for each in report["sources"]},
            {check: frozenset(each) for check, each in found.items()},
            {each["check"]: each["why"] for each in report["unknown"]},
            {name: frozenset(line for line in lines if line.startswith(f"{name}{{")) for name in names},
            {view: frozenset(_kinds(exporter, path)) for view, path in ASKED.items()},
        )


def _kinds(exporter: Exporter, path: str) -> Iterator[str]:
    status, body = exporter.get(path)
    assert status == 200, body
    for each in json.loads(body)["unseen"]:
        yield each["kind"] if isinstance(each, dict) else each


def test_with_the_generated_role_every_kind_is_seen_and_every_check_answers(exporter: Exporter) -> None:
    wait_until(lambda: not exporter.report()["unknown"], 30, "every check has an answer")
    answers = Answers.of(exporter)
    assert answers.states.keys() == {kind.name for kind in KINDS}
    assert not set(answers.states.values()) & {"forbidden", "absent", "failing", "starting"}
    assert answers.unknown == {}
    assert answers.findings.keys() >= {"ipam_claims", "firmware_duplicates", "instancetype_vms"}
    assert sum(bool(samples) for samples in answers.families.values()) > 5
    assert set().union(*answers.unseen.values()) == set()
    assert exporter.report()["notApplicable"] == []


def test_without_one_kind_just_what_reads_it_has_no_answer_and_says_what_to_grant(
    exporter: Exporter, admin: Client, role: Object
) -> None:
    wait_until(lambda: not exporter.report()["unknown"], 30, "every check has an answer")
    before = Answers.of(exporter)
    assert {resource for rule in role["rules"] for resource in rule["resources"]} == {kind.plural for kind in KINDS}
    for kind in KINDS:
        admin.apply(without(role, kind.plural))
        reading = {check.id for check in CHECKS if kind in check.reads}

        def settled(kind: ApiKind[Any] = kind, reading: set[str] = reading) -> bool:
            report = exporter.report("?check=sources")
            forbidden = {each["kind"] for each in report["sources"] if each["state"] == "forbidden"}
            found = {each["subject"]["name"] for each in report["findings"]}
            return forbidden == found == {kind.name} and {each["check"] for each in report["unknown"]} == reading

        wait_until(settled, 30, f"without {kind.resource} just {reading} have no answer", every=0.02)
        assert_only_unseen(kind, Answers.of(exporter), before)


def assert_only_unseen(kind: ApiKind[Any], now: Answers, before: Answers) -> None:
    for why in now.unknown.values():
        assert why.startswith(f"{kind.name}: can't list {kind.resource} in all namespaces: 403 ")
        assert re.search(f'cannot (list|watch) resource "{kind.plural}"', why)
        assert f'Grant "list" and "watch" on {kind.resource}' in why
    assert now.findings.pop("sources") == {("KindForbidden", kind.name)}
    assert now.findings == before.findings  # those of the checks without an answer are kept
    silent = {gauge.name for state in STATES if kind in state.reads for gauge in state.gauges}
    assert now.families == {name: set() if name in silent else found for name, found in before.families.items()}
    for view, unseen in now.unseen.items():
        reads = kind in VIEWS[view].reads and (view, kind.name) not in UNSAID
        assert unseen == ({kind.name} if reads else set()), view


@pytest.mark.parametrize(("verb", "lacks"), [("list", "watch"), ("watch", "list")])
def test_a_kind_is_seen_only_with_both_verbs(
    verb: str, lacks: str, exporter: Exporter, admin: Client, role: Object
) -> None:
    """A streaming list takes the permission to watch alone; the next watch asks first how far the server is: a list."""
    exporter.wait_state("Pod", "live")
    admin.apply(with_verbs(role, pod.KIND, [verb]))
    says = re.compile(f'^Pod: .*cannot {lacks} resource "pods".*. Grant "list" and "watch" on pods$')
    wait_until(lambda: any(map(says.match, exporter.unknown())), 30, f"it says that it may not {lacks}")


def with_verbs(role: Object, kind: ApiKind[Any], verbs: list[str]) -> Object:
    """The role with just these verbs for one kind."""
    rest = without(role, kind.plural)
    rule = {"apiGroups": [kind.group], "resources": [kind.plural], "verbs": verbs}
    return {**rest, "rules": [*rest["rules"], rule]}


@pytest.fixture
def shipped(admin: Client) -> set[str]:
    """The exporter's roles and bindings as they are deployed, applied; the names of the roles."""
    objects = [obj for path in sorted(ROLE.parent.glob("*.yaml")) for obj in load_all(path)]
    found = [obj for obj in objects if obj["kind"] in ("ClusterRole", "ClusterRoleBinding", "ServiceAccount")]
    for obj in found:
        admin.apply(obj)
    return {obj["metadata"]["name"] for obj in found if obj["kind"] == "ClusterRole"}


def test_the_deployed_account_may_write_nothing_and_read_no_secret(admin: Client, shipped: set[str]) -> None:
    """By what the API server says of each resource that it serves, each subresource, and each verb."""
    allowed: dict[str, set[str]] = {}
    for resource in served(admin):
        for verb in VERBS:
            if may(admin, verb, resource):
                allowed.setdefault(str(resource), set()).add(verb)
    reviews = REVIEWS if "steward-access" in shipped else {}
    assert allowed == {kind.resource: {"list", "watch"} for kind in KINDS} | reviews


def served(admin: Client) -> Iterator[Resource]:
    """All that discovery has, subresources included."""
    groups = admin.connection.request("GET", "/apis")["groups"]
    versions = [("", "v1"), *((each["name"], row["version"]) for each in groups for row in each["versions"])]
    found = {
        (group, each["name"]): Resource(group, version, each["name"])
        for group, version in versions
        for each in admin.connection.request("GET", Resource(group, version, "").root)["resources"]
    }
    return iter(found.values())


def may(admin: Client, verb: str, resource: Resource) -> bool:
    """Whether the exporter's ServiceAccount may do so in all namespaces."""
    plural, _, subresource = resource.plural.partition("/")
    asked = {"verb": verb, "group": resource.group, "resource": plural, "subresource": subresource}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": DEPLOYED, "resourceAttributes": asked},
    }
    answer: Object = admin.connection.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


@pytest.mark.usefixtures("shipped")
def test_what_the_deployed_account_tries_is_refused(server: ApiServer, admin: Client) -> None:
    own = server.client("admin", **{"Impersonate-User": DEPLOYED})
    assert own.list(PODS)["items"] == []
    note = {"metadata": {"annotations": {"note": "x"}}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": NS, "name": "secret"}}
    admin.create(secret)
    before = admin.get(VMS, NS, "web")
    acts: dict[str, Callable[[], Any]] = {
        "list Secrets": lambda: own.list(SECRETS),
        "get a Secret": lambda: own.get(SECRETS, NS, "secret"),
        "create a Secret": lambda: own.create(secret),
        "list ConfigMaps": lambda: own.list(CONFIG_MAPS),
        "patch a VM": lambda: own.patch(VMS, NS, "web", note),
        "delete a VM": lambda: own.delete(VMS, NS, "web"),
        "take the finalizer off a claim": lambda: fleet.release(own, NS, "web"),
        "patch a node": lambda: own.patch(NODES, None, "node01", note),
        "delete all pods": lambda: own.connection.request("DELETE", PODS.path(NS)),
        "widen its role": lambda: own.patch(CLUSTER_ROLES, None, "steward-exporter", {"rules": []}),
    }
    codes = {}
    for what, act in acts.items():
        with pytest.raises(ApiError) as raised:
            act()
        codes[what] = raised.value.code
    assert codes == dict.fromkeys(acts, 403)
    assert admin.get(VMS, NS, "web") == before
    assert admin.get(IPAM_CLAIMS, NS, "web.blue")["metadata"]["finalizers"]
