"""A real API server that holds every real object it accepts: all are read, and nothing healthy is found fault with."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator

import pytest

from tests.cluster.apiserver import ApiServer
from tests.cluster.client import ApiError, Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import Exporter, grant
from tests.cluster.resources import IPAM_CLAIMS, NADS, NAMESPACES, PODS, VMIS, VMS, Resource
from tests.corpus import objects
from tests.manifests import Object
from tests.shared import reference
from tests.waiting import wait_until

pytestmark = reference("each real object that an API server takes is read from it, and healthy ones are no finding")

COUNTED = {"VirtualMachine": VMS, "VirtualMachineInstance": VMIS, "IPAMClaim": IPAM_CLAIMS, "Namespace": NAMESPACES}
# They would have the API server call servers that are not here, at every write.
SERVERLESS = (
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "APIService",
    "CustomResourceDefinition",
)
SERVED = ("uid", "resourceVersion", "generation", "managedFields", "selfLink")


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    started = module_api_server()
    grant(started.client())
    return started


@pytest.fixture(scope="module")
def accepted(server: ApiServer) -> list[Object]:
    """What the server took, owners before what they own, and owner references with the uids that owners have here."""
    client, uids, taken = server.client(), dict[str, str](), list[Object]()
    waiting = [thing for _, thing in objects() if thing["metadata"].get("name") and thing["kind"] not in SERVERLESS]
    for namespace in {str(thing["metadata"].get("namespace", "default")) for thing in waiting}:
        if client.find(NAMESPACES, None, namespace) is None:
            with contextlib.suppress(ApiError):  # fillers have names that no namespace can have
                client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    known = {str(thing["metadata"]["uid"]) for thing in waiting if thing["metadata"].get("uid")}
    while waiting:
        later = [thing for thing in waiting if owners(thing) & known - uids.keys()]
        for thing in waiting:
            if thing not in later:
                taken += filter(None, [_make(client, thing, uids)])
        if len(later) == len(waiting):
            break
        waiting = later
    return taken


def owners(thing: Object) -> set[str]:
    return {str(owner.get("uid")) for owner in thing["metadata"].get("ownerReferences") or ()}


def _make(client: Client, thing: Object, uids: dict[str, str]) -> Object | None:
    old, fresh = thing["metadata"].get("uid"), copy.deepcopy(thing)
    for field in SERVED:
        fresh["metadata"].pop(field, None)
    fresh["metadata"].setdefault("namespace", "default")
    for owner in fresh["metadata"].get("ownerReferences") or ():
        owner["uid"] = uids.get(str(owner.get("uid")), owner.get("uid"))
    made = None
    try:
        made = client.make(json.loads(json.dumps(fresh, default=str)))
    except (ApiError, LookupError):
        pass  # not a kind of this server, or not an object that it accepts
    finally:
        if old:
            uids[str(old)] = made["metadata"]["uid"] if made else str(old)
    return made


@pytest.fixture(scope="module")
def exporter(server: ApiServer, accepted: list[Object]) -> Iterator[Exporter]:
    with Exporter(server.kubeconfig("steward-exporter")) as running:
        yield running.wait_ready()


def test_every_accepted_object_is_read(exporter: Exporter, server: ApiServer, accepted: list[Object]) -> None:
    kinds = [thing["kind"] for thing in accepted]
    assert kinds.count("VirtualMachine") > 50
    assert kinds.count("VirtualMachineInstance") > 30
    assert kinds.count("IPAMClaim") >= 2

    assert exporter.report()["undecodable"] == []
    for kind, resource in COUNTED.items():
        wait_until(lambda: _held(exporter, kind) == _stored(server, resource), 30, f"as many {kind}s as on the server")  # noqa: B023
    for check in ("ipam_claims", "sources"):
        assert exporter.value(f'kubevirt_steward_check_errors_total{{check="{check}"}}') == 0
    assert exporter.unknown() == []


def _held(exporter: Exporter, kind: str) -> int:
    return next(int(source["objects"]) for source in exporter.report()["sources"] if source["kind"] == kind)


def _stored(server: ApiServer, resource: Resource) -> int:
    return len(server.client().list(resource)["items"])


def test_healthy_claims_give_no_finding(exporter: Exporter, server: ApiServer) -> None:
    client = server.client()
    claims = client.list(IPAM_CLAIMS, "ipam")["items"]
    assert len(claims) >= 2
    assert client.list(NADS, "ipam")["items"]
    assert client.list(PODS, "ipam")["items"]
    whole = exporter.report()["findings"]
    assert [f for f in whole if f["check"] in ("ipam_claims", "ipam_vms")] == []
    # Some examples of the projects' own documents are broken, or use one network's name with different settings.
    broken = {f["reason"] for f in whole if f["subject"]["kind"] == "NetworkAttachmentDefinition"}
    assert broken == {"BadJson", "NetworkConfigConflict"}
