"""The ValidatingAdmissionPolicy that is printed with the roles: what plans make is taken, and nothing else.

Every write is sent by the sidecar's ServiceAccount, with exactly the roles and the policy of a configuration. An API
server stores what a CRD's schema lets through, so each test is run with CRDs that let through anything.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exporter.checks import all_checks
from exporter.facts.drain_stop import STOPPED_FOR_DRAIN
from exporter.facts.record import Ref
from exporter.kube.transport import Transport
from reconcile.carry_out.execute import PlanWriter, event
from reconcile.config.loading import LoadedSidecar, load
from reconcile.config.settings import SidecarConfig
from reconcile.permissions.accounts import NAME, ServiceAccount
from reconcile.permissions.rbac import guarded, needed
from reconcile.plan.annotations import APPROVED_PLAN, PAUSED, RESUMED
from reconcile.plan.plan import Create, Patch, Plan
from reconcile.plan.plan import Test as Holds
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from reconcile.plan.requests import MANAGER, PROBE, Request, annotating, event_request, request
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer, Setup
from tests.cluster.client import ApiError, Client
from tests.cluster.conftest import Tools
from tests.cluster.custom_resources import install, loose, strict
from tests.cluster.resources import IPAM_CLAIMS, VMS
from tests.evaluation import NOW, api_kinds
from tests.manifests import Object
from tests.planned_writes import WRITING, Written, is_allowed, odd_writes, samples
from tests.remediation_cases import made
from tests.waiting import wait_until

SIDECAR = ServiceAccount("kv")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kv/leases"
MERGE = "application/merge-patch+json"
OURS = {"fieldManager": MANAGER}
REFUSED = "no remediation that is enabled there plans it"
# `off` is where stop_blocked_vmi is off, and `ns` the only one that has the labels for PDBs.
LABELS = {"tier": "test"}
SETTINGS: Object = {
    "mode": "auto",
    "lease": {"namespace": "kv"},
    "remediations": {
        "stop_blocked_vmi": {"namespaces": {"off": "off"}},
        "delete_orphan_pdb": {"mode": "plan", "namespaceSelectors": [{"matchLabels": LABELS, "mode": "auto"}]},
    },
}


@pytest.fixture(
    scope="module", params=[pytest.param(strict, id="strict", marks=pytest.mark.long), pytest.param(loose, id="loose")]
)
def cluster(request: pytest.FixtureRequest, binary: Tools) -> Iterator[ApiServer]:
    flags = ("--disable-admission-plugins", "ServiceAccount")
    server = ApiServer(
        binary("etcd"), binary("kube-apiserver"), Setup(flags=flags, accounts={SIDECAR.username: "", "alice": ""})
    )
    server.start()
    try:
        admin = server.client()
        install(admin, request.param())
        for name in ("kv", "ns", "off"):
            meta = {"name": name, "labels": LABELS if name == "ns" else {}}
            admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def admin(cluster: ApiServer) -> Client:
    return cluster.client()


@pytest.fixture(scope="module")
def own(cluster: ApiServer, admin: Client, tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The sidecar's ServiceAccount, with the roles and the policy of SETTINGS, in effect."""
    config = configured(tmp_path_factory.mktemp("reconcile"), SETTINGS)
    manifests = [
        # Of two policies that refuse, only one is told: that of approvals is for tests of its own.
        *(each for each in guarded(config, all_remediations(), SIDECAR) if each["metadata"]["name"] == NAME),
        *needed(config, all_remediations(), all_checks(), SIDECAR),
    ]
    for each in manifests:
        admin.apply(each)
    client = cluster.client(SIDECAR.username)
    vm = fleet.vm("kv", "probe")
    admin.create(vm)

    def works() -> bool:
        try:
            client.connection.request(
                "PATCH",
                VMS.path("kv", "probe"),
                {"metadata": {"labels": {"a": "b"}}},
                query={**OURS, "dryRun": "All"},
                content_type=MERGE,
            )
        except ApiError as error:
            return REFUSED in error.message
        return False

    wait_until(works, 60, "the policy is in effect", every=0.2)
    return client


def configured(folder: Path, settings: Object) -> SidecarConfig:
    file = folder / "reconcile.yaml"
    file.write_text(json.dumps(settings), encoding="utf-8")
    loaded = load(all_remediations(), file)
    assert isinstance(loaded, LoadedSidecar), str(loaded)
    return loaded.config


def sent(client: Client, wanted: Request) -> Object:
    answer: Object = client.connection.request(
        wanted.method,
        wanted.path,
        wanted.body,
        query=dict(wanted.query),
        content_type=wanted.headers.get("Content-Type"),
    )
    return answer


def of_case(admin: Client, whole: Mapping[str, Any]) -> Object:
    """The object of a case as the API server has it: in deletion where that is so."""
    meta = deepcopy(dict(whole["metadata"]))
    deleting = meta.pop("deletionTimestamp", None)
    for name in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"):
        meta.pop(name, None)
    obj = {**deepcopy(dict(whole)), "metadata": meta}
    if obj["kind"] == "IPAMClaim":
        for name, needed in (("spec", {"network": "net", "interface": "net1"}), ("status", {"ips": []})):
            if isinstance(obj.get(name, {}), dict):
                obj[name] = needed | obj.get(name, {})  # not in cases
    found = admin.make(obj)
    if deleting is None:
        return found
    path = path_of(Ref(found["kind"], meta.get("namespace", ""), meta["name"]), found)
    admin.connection.request("DELETE", path)
    answer: Object = admin.connection.request("GET", path)
    return answer


def path_of(ref: Ref, whole: Object) -> str:
    """Where an object is that is served in the version of `whole`."""
    kind, version = api_kinds()[ref.kind], whole["apiVersion"].rpartition("/")[2]
    within = f"/namespaces/{ref.namespace}" if kind.namespaced else ""
    return f"{kind.base(version)}{within}/{kind.plural}/{ref.name}"


def removed(admin: Client, path: str) -> None:
    for method, body in (("PATCH", {"metadata": {"finalizers": None}}), ("DELETE", None)):
        try:
            admin.connection.request(method, path, body, content_type=MERGE)
        except ApiError as error:
            if error.code != 404:
                raise


@pytest.mark.parametrize("remediation", WRITING, ids=[each.id for each in WRITING])
def test_what_is_planned_is_taken(remediation: Remediation, admin: Client, own: Client) -> None:
    taken, impossible = {}, 0
    for name, each in made(remediation):
        plan = each.plan
        try:
            whole = of_case(admin, each.whole)
        except ApiError as error:
            assert error.code in (400, 422), error  # noqa: PT017 # an object that no API server has
            impossible += 1
            removed(admin, path_of(plan.bound_to, dict(each.whole)))
            continue
        try:
            taken[name] = answer(own, plan, whole)
        finally:
            removed(admin, path_of(plan.bound_to, whole))
            if isinstance(plan.step, Create):
                removed(admin, path_of(plan.target, whole | {"apiVersion": plan.step.manifest["apiVersion"]}))
    assert taken == dict.fromkeys(taken, "")
    assert len(taken) > impossible


def answer(own: Client, plan: Plan, whole: Object) -> str:
    """Why the write of a plan was refused, as a dry run and then for good; empty where it was not."""
    step = plan.step
    if isinstance(step, Patch):  # what it found is of another moment, and without null
        ops = tuple(each for each in step.ops if not isinstance(each, Holds))
        step = msgspec.structs.replace(step, ops=ops)
    kind = api_kinds()[step.target.kind]
    version = whole["apiVersion"].rpartition("/")[2] if not isinstance(step, Create) else kind.versions[0]
    try:
        for dry in (True, False):
            sent(own, request(step, kind, version, whole, dry=dry))
        for outcome, undoes in (("done", ""), ("done", "a0"), ("failed", ""), ("in_use", "")):
            of, attempt = msgspec.structs.replace(plan, undoes=undoes), "a1" + uuid.uuid4().hex[:10]
            sent(own, event_request(*event(of, attempt, outcome, NOW, whole["apiVersion"])))
        if isinstance(step, Create):
            return ""
        if isinstance(step, Patch) and any(write.verbs == ("patch",) for write in remediation_of(plan).writes):
            now = own.connection.request("GET", path_of(plan.bound_to, whole))
            sent(own, annotating(path_of(plan.bound_to, whole), now, {PAUSED: "edit war"}))
    except ApiError as error:
        return "" if isinstance(step, Patch) and error.code == 404 else error.message  # its last finalizer went
    return ""


def test_nothing_that_may_be_stored_keeps_the_policy_from_an_answer(admin: Client, own: Client) -> None:
    """What is taken with odd values in it is what some form takes, and no other write; the answer is never an error."""
    found = {each.name: outcome(admin, own, each, f"-{at}") for at, each in enumerate((*samples(), *odd_writes()))}
    wrong = {name: what for name, what in found.items() if what not in ("taken", "refused", "impossible")}
    assert wrong == {}
    counts = Counter(found.values())
    assert counts["taken"] > 100
    assert counts["refused"] > 100


def test_thousands_of_annotations_are_within_what_an_expression_may_cost(admin: Client, own: Client) -> None:
    made_of = fleet.vm("ns", "noted")
    made_of["metadata"]["annotations"] = {f"example.org/{at}": "x" for at in range(3000)}
    admin.create(made_of)
    vm = VMS.path("ns", "noted")
    dry = OURS | {"dryRun": "All"}
    assert write(own, "PATCH", vm, guest(domain={"firmware": {"uuid": "1d5b5c8e-0b3c-4d3a-9b1e-0a6d1f2c3b4a"}}), dry)()
    assert said(write(own, "PATCH", vm, annotated(a="b"), dry)) == f"403: {REFUSED}"


def outcome(admin: Client, own: Client, write: Written, suffix: str) -> str:
    """What the API server says to a dry run of a write; a sentence where it is not what the forms say."""
    step, kind, version, said = write.step, api_kinds()[write.step.target.kind], "", ""
    meta = write.before["metadata"]
    try:
        if isinstance(step, Create):
            stored = {**write.before, "metadata": {**meta, "uid": "u", "resourceVersion": "1"}}
            version = kind.versions[0]
        else:
            name = f"{meta['name']}{suffix}"
            stored = of_case(admin, {**write.before, "metadata": {**meta, "name": name}})
            step = msgspec.structs.replace(step, target=msgspec.structs.replace(step.target, name=name))
            version = stored["apiVersion"].rpartition("/")[2]
        sent(own, request(step, kind, version, stored, dry=True))
    except ApiError as error:
        if "ValidatingAdmissionPolicy" not in error.message:  # whose errors are not always a 403
            return "impossible"  # no object that this API server has, or a patch that fails there
        said = error.message
    fits = is_allowed(step, stored)
    if fits is (said == "") and (fits or REFUSED in said):
        return "taken" if fits else "refused"
    return f"{'fits' if fits else 'fits no form'}, and was {said or 'taken'}"


def remediation_of(plan: Plan) -> Remediation:
    return next(each for each in all_remediations() if each.id == plan.remediation)


def write(client: Client, method: str, path: str, body: Any, query: Mapping[str, str] = OURS) -> Callable[[], Object]:
    """One write of the sidecar's ServiceAccount, to be sent later."""
    content = {"PATCH": MERGE}.get(method, "application/json")
    return lambda: client.connection.request(method, path, body, query=query, content_type=content)


def annotated(**annotations: str | None) -> Object:
    return {"metadata": {"annotations": annotations}}


def spec(**fields: Any) -> Object:
    return {"spec": fields}


def guest(**fields: Any) -> Object:
    return spec(template={"spec": fields})


def interfaces(client: Client, *changed: Object) -> Callable[[], Object]:
    """VM `wired` with its interfaces changed, and with others; without any it has the first alone."""
    own: list[Object] = [
        {"name": "blue", "bridge": {}, "macAddress": "02:00:00:00:00:02"},
        {"name": "red", "bridge": {}},
    ]
    for at, each in enumerate(changed):
        merged = (own[at] if at < len(own) else {}) | each
        own[at : at + 1] = [{key: value for key, value in merged.items() if value is not None}]
    made = guest(domain={"devices": {"interfaces": own if changed else own[:1]}})
    return write(client, "PATCH", VMS.path("ns", "wired"), made)


def test_everything_else_is_refused(admin: Client, own: Client) -> None:
    allowed = {"annotations": {"steward.kubevirt-steward.io/stop-allowed": "true"}}
    noted = {STOPPED_FOR_DRAIN: "Always"}
    for within, name, strategy, notes in (
        ("ns", "may", "Always", allowed),
        ("off", "may", "Always", allowed),
        ("ns", "may-not", "Always", {}),
        ("ns", "halted", "Halted", allowed),
        ("ns", "drained", "Halted", {"annotations": allowed["annotations"] | noted}),
    ):
        made_of = fleet.vm(within, name)
        made_of["metadata"] |= notes
        made_of["spec"]["runStrategy"] = strategy
        admin.create(made_of)
    wired = fleet.vm("ns", "wired", {"blue": "blue", "red": "red"})
    wired["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0]["macAddress"] = "02:00:00:00:00:01"
    admin.create(wired)
    claim = admin.make(fleet.claim(admin.get(VMS, "ns", "may"), "net", "10.0.0.5/24"))
    resumed = {"annotations": {RESUMED: "2026-07-01T18:00:00Z"}}
    bare = admin.make({**deepcopy(claim), "metadata": {"name": "bare", "namespace": "ns", **resumed}})
    vm, owned = VMS.path("ns", "may"), IPAM_CLAIMS.path("ns", claim["metadata"]["name"])
    admin.create(fleet.vm("ns", "plain", firmware={}))
    firm = fleet.vm("ns", "numbered")
    firm["spec"]["template"]["spec"]["domain"]["firmware"] = {"serial": "s", "bootloader": {"efi": {}}}
    admin.create(firm)
    numbered = VMS.path("ns", "numbered")
    alone = IPAM_CLAIMS.path("ns", bare["metadata"]["name"])
    revisions = "/apis/apps/v1/namespaces/ns/controllerrevisions"
    bound = {"preconditions": {"uid": claim["metadata"]["uid"]}, "kind": "DeleteOptions", "apiVersion": "v1"}
    halted = spec(runStrategy="Halted", running=None)
    stopped = annotated(**noted) | halted
    started = annotated(**{PAUSED: "by alice"}) | spec(runStrategy="Always")

    taken = {
        "stop a VM that allows it": write(own, "PATCH", vm, stopped, OURS | {"dryRun": "All"}),
        "take that back": write(own, "PATCH", VMS.path("ns", "drained"), started, OURS | {"dryRun": "All"}),
        "another VM of the owner's name": write(
            own,
            "PATCH",
            owned,
            {"metadata": {"ownerReferences": [{**owner("VirtualMachine")[0], "name": "may"}]}},
            OURS | {"dryRun": "All"},
        ),
        "a firmware where there is none": write(
            own,
            "PATCH",
            VMS.path("ns", "plain"),
            guest(domain={"firmware": {"uuid": "u", "serial": "s", "bootloader": {"efi": {"persistent": True}}}}),
            OURS | {"dryRun": "All"},
        ),
        "another MAC address": interfaces(own, {"macAddress": "02:00:00:00:00:02"}),
        "what KubeMacPool notes with it": write(
            own, "PATCH", VMS.path("ns", "wired"), annotated(**{"kubemacpool.io/transaction-timestamp": "t"})
        ),
        "pause an object": write(own, "PATCH", alone, annotated(**{PAUSED: "edit war", RESUMED: None})),
        "renew": write(own, "POST", LEASE, lease("kubevirt-steward-reconcile")),
    }
    for what, act in taken.items():
        assert act(), what
    bare = admin.get(IPAM_CLAIMS, "ns", "bare")
    renewed = f"{LEASE}/kubevirt-steward-reconcile"
    admin.connection.request("PATCH", renewed, annotated(**{PAUSED: "by alice"}), content_type=MERGE)
    found = admin.connection.request("GET", renewed)
    assert write(own, "PUT", renewed, found | spec(holderIdentity="a"), {})()
    found = admin.connection.request("GET", renewed)

    refused = {
        "cloud-init": write(own, "PATCH", vm, guest(volumes=[{"name": "c", "cloudInitNoCloud": {"userData": "x"}}])),
        "the image": write(own, "PATCH", vm, spec(dataVolumeTemplates=[])),
        "where it runs": write(own, "PATCH", vm, guest(nodeSelector={"a": "b"})),
        "the CPU beside the firmware": write(
            own, "PATCH", vm, guest(domain={"cpu": {"cores": 64}, "firmware": {"uuid": "u"}})
        ),
        "the kernel it boots, to no UUID": write(
            own, "PATCH", vm, guest(domain={"firmware": {"kernelBoot": {"kernelArgs": "x"}, "uuid": None}})
        ),
        "a kernel to boot, with a UUID": write(
            own, "PATCH", vm, guest(domain={"firmware": {"kernelBoot": {"kernelArgs": "x"}, "uuid": "u"}})
        ),
        "an ACPI table, with a UUID": write(
            own, "PATCH", vm, guest(domain={"firmware": {"acpi": {"slicNameRef": "x"}, "uuid": "u"}})
        ),
        "another bootloader": write(
            own, "PATCH", numbered, guest(domain={"firmware": {"bootloader": {"efi": None, "bios": {}}}})
        ),
        "no MAC address": interfaces(own, {"macAddress": ""}),
        "a MAC address where there was none": interfaces(own, {}, {"macAddress": "02:00:00:00:00:02"}),
        "another binding": interfaces(own, {"bridge": None, "masquerade": {}}),
        "an interface more": interfaces(own, {}, {}, {"name": "green", "bridge": {}}),
        "an interface less": interfaces(own),
        "an annotation": write(own, "PATCH", vm, annotated(a="b")),
        "an approval": write(own, "PATCH", vm, annotated(**{APPROVED_PLAN: "0"})),
        "an opt-in": write(own, "PATCH", VMS.path("ns", "may-not"), annotated(**allowed["annotations"])),
        "a resumption": write(own, "PATCH", vm, annotated(**{RESUMED: "2026-07-01T18:00:00Z"})),
        "the end of a pause": write(own, "PATCH", alone, annotated(**{PAUSED: None})),
        "a label": write(own, "PATCH", vm, {"metadata": {"labels": {"a": "b"}}}),
        "a finalizer of a VM": write(own, "PATCH", vm, {"metadata": {"finalizers": ["steward.kubevirt-steward.io/x"]}}),
        "the end of a VM": write(own, "PATCH", vm, {"metadata": {"ownerReferences": owner("ConfigMap", "v1")}}),
        "a VM that does not allow its stop": write(own, "PATCH", VMS.path("ns", "may-not"), stopped),
        "a VM where it is off": write(own, "PATCH", VMS.path("off", "may"), stopped),
        "a stop that says nothing of how it comes back": write(own, "PATCH", vm, halted),
        "a start": write(own, "PATCH", VMS.path("ns", "halted"), spec(runStrategy="Always")),
        "a start that is not done with": write(own, "PATCH", VMS.path("ns", "drained"), spec(runStrategy="Always")),
        "a start of what was not stopped for a drain": write(own, "PATCH", VMS.path("ns", "halted"), started),
        "RerunOnFailure": write(own, "PATCH", vm, spec(runStrategy="RerunOnFailure", running=None)),
        "a start of the status": write(
            own, "PATCH", f"{vm}/status", {"status": {"stateChangeRequests": [{"action": "Start"}]}}
        ),
        "a reference to nothing in the status": write(
            own, "PATCH", f"{vm}/status", {"status": {"instancetypeRef": {}}}
        ),
        "another field of the status": write(own, "PATCH", f"{vm}/status", {"status": {"ready": True}}),
        "another finalizer": write(own, "PATCH", alone, {"metadata": {"finalizers": ["a"]}}),
        "KubeVirt's of an IPAMClaim that lives": write(own, "PATCH", owned, {"metadata": {"finalizers": None}}),
        "another label": write(own, "PATCH", alone, {"metadata": {"labels": {"a": "b"}}}),
        "an owner that is no VM": write(
            own, "PATCH", alone, {"metadata": {"ownerReferences": owner("ConfigMap", "v1")}}
        ),
        "another owner": write(own, "PATCH", owned, {"metadata": {"ownerReferences": owner("VirtualMachine")}}),
        "the network of an IPAMClaim": write(own, "PATCH", alone, spec(network="other")),
        "the deletion of an IPAMClaim that nothing holds": write(
            own, "DELETE", alone, bound | {"preconditions": preconditions(bare)}, {}
        ),
        "a revision of another owner": write(own, "POST", revisions, revision("ConfigMap", "v1")),
        "a revision of something else": write(own, "POST", revisions, revision("VirtualMachine") | {"data": {"a": 1}}),
        "an Event elsewhere": write(own, "POST", "/api/v1/namespaces/ns/events", note("ns") | {"reason": "Killed"}),
        "an Event of another component": write(
            own, "POST", "/api/v1/namespaces/ns/events", note("ns") | {"source": {"component": "kubelet"}}
        ),
        "another Lease": write(own, "POST", LEASE, lease("another")),
        "the end of everything's pause": write(
            own, "PUT", renewed, found | {"metadata": found["metadata"] | {"annotations": {}}}, {}
        ),
        "a migration by selector": write(
            own,
            "POST",
            "/apis/kubevirt.io/v1/namespaces/ns/virtualmachineinstancemigrations",
            migration(addedNodeSelector={"a": "b"}),
        ),
        "a migration of another name": write(
            own,
            "POST",
            "/apis/kubevirt.io/v1/namespaces/ns/virtualmachineinstancemigrations",
            migration() | {"metadata": {"name": "other"}},
        ),
    }
    assert {what: said(act) for what, act in refused.items()} == dict.fromkeys(refused, f"403: {REFUSED}")

    unbound = "403: a deletion needs a UID and a resourceVersion"
    other = {"fieldManager": "kubectl"}
    assert said(write(own, "DELETE", owned, None, {})) == unbound
    assert said(write(own, "DELETE", owned, bound, {})) == unbound
    assert said(write(own, "PATCH", vm, stopped, other)) == unbound
    assert said(write(own, "PATCH", vm, stopped, {})) == unbound
    assert said(write(own, "DELETE", vm, bound, {})).startswith("403: ")  # RBAC has no such verb


async def test_the_sidecar_finds_out_whether_the_policy_is_there(
    cluster: ApiServer, admin: Client, own: Client
) -> None:
    """`own` has seen it refuse; a server takes a moment to notice that it went or came."""
    assert own

    async def proven(account: str = SIDECAR.username) -> tuple[bool | None, str]:
        transport = Transport.from_environment(str(cluster.kubeconfig(account)))
        try:
            await transport.load()
            return await PlanWriter(transport).guarded("kv")
        finally:
            await transport.close()

    def guarded_now() -> bool | None:
        return asyncio.run(proven())[0]

    assert await proven() == (True, "")
    by_rbac, why = await proven("alice")
    assert by_rbac is None  # what the policy would say is not known
    assert 'User "alice" cannot create resource "leases"' in why

    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/steward-reconcile"
    binding = admin.connection.request("GET", path)
    admin.connection.request("DELETE", path)
    try:
        await asyncio.to_thread(wait_until, lambda: guarded_now() is False, 60, "it is gone", every=0.2)
    finally:
        kept = {key: binding["metadata"][key] for key in ("name", "labels")}
        admin.create({**binding, "metadata": kept})
    await asyncio.to_thread(wait_until, lambda: guarded_now() is True, 60, "it is back", every=0.2)
    names = [each["metadata"]["name"] for each in admin.connection.request("GET", LEASE)["items"]]
    assert PROBE not in names


def said(act: Callable[[], Object]) -> str:
    """Code and reason of a refusal."""
    try:
        act()
    except ApiError as error:
        found = error.message.partition("may not make this write: ")[2] or error.message
        return f"{error.code}: {found.partition(',')[0].partition(': ')[0]}"
    return "taken"


def preconditions(whole: Object) -> Object:
    return {name: whole["metadata"][name] for name in ("uid", "resourceVersion")}


def owner(kind: str, version: str = "kubevirt.io/v1") -> list[Object]:
    return [
        {"apiVersion": version, "kind": kind, "name": "x", "uid": "u", "controller": True, "blockOwnerDeletion": True}
    ]


def revision(kind: str, version: str = "kubevirt.io/v1") -> Object:
    names = ("generation", "kind", "name", "uid", "version")
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": "x",
            "labels": {f"instancetype.kubevirt.io/object-{each}": "1" for each in names},
            "ownerReferences": owner(kind, version),
        },
        "data": {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineInstancetype"},
        "revision": 0,
    }


def migration(**fields: Any) -> Object:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "steward-evacuation-1", "labels": {"app.kubernetes.io/managed-by": MANAGER}},
        "spec": {"vmiName": "db", **fields},
    }


def note(namespace: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": uuid.uuid4().hex, "namespace": namespace},
        "involvedObject": {"kind": "VirtualMachine", "namespace": namespace, "name": "may"},
        "reason": "Repaired",
        "type": "Normal",
        "source": {"component": MANAGER},
        "reportingComponent": MANAGER,
    }


def lease(name: str) -> Object:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": "kv", "name": name},
        "spec": {},
    }
