"""The API server of this process: discovery, lists, selectors and writes, as a real one answers them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.fakeapi.client import CLAIMS, IN_SHOP, JSON_PATCH, MERGE, Client, claim, pod, running

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}, "status": {"phase": "Active"}}
VMS = "/apis/kubevirt.io/v1/namespaces/shop/virtualmachines"


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Client]:
    async with running() as client:
        client.server.load([NAMESPACE])
        yield client


async def test_discovery(api: Client) -> None:
    assert (await api.get("/version"))["gitVersion"].startswith("v1.")
    assert (await api.get("/api"))["versions"] == ["v1"]
    groups = {group["name"] for group in (await api.get("/apis"))["groups"]}
    assert {"kubevirt.io", "k8s.cni.cncf.io", "apps", "policy"} <= groups
    network = await api.get("/apis/k8s.cni.cncf.io")
    assert [version["version"] for version in network["versions"]] == ["v1", "v1alpha1"]
    kubevirt = await api.get("/apis/kubevirt.io/v1")
    listed = {resource["name"] for resource in kubevirt["resources"]}
    assert {"virtualmachines", "virtualmachines/status", "virtualmachineinstances"} <= listed
    assert "virtualmachineinstances/status" not in listed


@pytest.mark.parametrize("path", ["/", "/nonsense", "/apis/nope.io", "/apis/nope.io/v1/things", "/api/v1/things"])
async def test_a_path_that_leads_nowhere_is_reported_in_plain_text(api: Client, path: str) -> None:
    assert await api.call("GET", path) == (404, "404 page not found\n")


async def test_objects_and_their_absence(api: Client) -> None:
    api.server.create(claim("a"))

    got = await api.get(f"{IN_SHOP}/a")

    assert (got["apiVersion"], got["kind"]) == ("k8s.cni.cncf.io/v1alpha1", "IPAMClaim")
    assert {"uid", "creationTimestamp", "resourceVersion"} <= set(got["metadata"])
    assert got["metadata"]["generation"] == 1
    status, missing = await api.call("GET", f"{IN_SHOP}/b")
    assert (status, missing["reason"]) == (404, "NotFound")
    assert missing["message"] == 'ipamclaims.k8s.cni.cncf.io "b" not found'


async def test_a_paged_list_is_one_instant(api: Client) -> None:
    for name in "abcde":
        api.server.create(claim(name))

    first = await api.get(CLAIMS, limit=2)
    api.server.create(claim("bb"))
    api.server.delete("ipamclaims", "shop", "d")
    api.server.patch("ipamclaims", "shop", "c", {"spec": {"network": "other"}})
    second = await api.get(CLAIMS, limit=2, **{"continue": first["metadata"]["continue"]})
    last = await api.get(CLAIMS, limit=2, **{"continue": second["metadata"]["continue"]})

    pages = [first, second, last]
    assert [[i["metadata"]["name"] for i in page["items"]] for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
    assert second["items"][0]["spec"]["network"] == "shopnet"
    assert [page["metadata"].get("remainingItemCount") for page in pages] == [3, 1, None]
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1
    assert last["metadata"]["continue"] == ""
    assert await api.names(CLAIMS) == ["a", "b", "bb", "c", "e"]


async def test_a_page_asked_for_too_late_is_gone_and_offers_to_go_on_anyway(api: Client) -> None:
    for name in "abc":
        api.server.create(claim(name))
    token = (await api.get(CLAIMS, limit=1))["metadata"]["continue"]
    api.server.delete("ipamclaims", "shop", "b")
    api.server.compact()

    status, answer = await api.call("GET", CLAIMS, limit=1, **{"continue": token})

    assert (status, answer["reason"]) == (410, "Expired")
    assert await api.names(CLAIMS, **{"continue": answer["metadata"]["continue"]}) == ["c"]


async def test_bad_list_parameters(api: Client) -> None:
    assert (await api.call("GET", CLAIMS, **{"continue": "rubbish"}))[0] == 400
    assert (await api.call("GET", CLAIMS, limit="x"))[0] == 400
    status, future = await api.call("GET", CLAIMS, resourceVersion=10_000)
    assert (status, future["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")
    at = api.server.version
    api.server.create(claim("a"))
    assert await api.names(CLAIMS, resourceVersion=at, resourceVersionMatch="Exact") == []
    api.server.compact()
    assert (await api.call("GET", CLAIMS, resourceVersion=at, resourceVersionMatch="Exact"))[0] == 410


async def test_items_of_built_in_lists_carry_no_kind(api: Client) -> None:
    api.server.load([pod("a"), claim("a")])

    assert "kind" not in (await api.get("/api/v1/pods"))["items"][0]
    assert (await api.get("/api/v1/pods"))["items"][0]["metadata"]["name"] == "a"
    assert (await api.get(CLAIMS))["items"][0]["kind"] == "IPAMClaim"


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("vm=web", ["a"]),
        ("vm==web", ["a"]),
        ("vm!=web", ["b", "c"]),
        ("vm", ["a", "b"]),
        ("!vm", ["c"]),
        ("vm in (web,db)", ["a", "b"]),
        ("vm notin (web, db)", ["c"]),
        ("vm in (web,db),tier=back", ["b"]),
    ],
)
async def test_label_selectors(api: Client, selector: str, names: list[str]) -> None:
    api.server.create(claim("a", labels={"vm": "web"}))
    api.server.create(claim("b", labels={"vm": "db", "tier": "back"}))
    api.server.create(claim("c"))

    assert await api.names(CLAIMS, labelSelector=selector) == names


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("status.phase=Running", ["a"]),
        ("status.phase!=Succeeded,status.phase!=Failed", ["a"]),
        ("spec.nodeName=node02", ["b"]),
        ("metadata.name=c", ["c"]),
        ("metadata.namespace=lab", ["c"]),
    ],
)
async def test_field_selectors(api: Client, selector: str, names: list[str]) -> None:
    pods = [pod("a"), pod("b", node="node02", phase="Succeeded"), pod("c", "lab", phase="Failed")]
    api.server.load(pods)

    assert await api.names("/api/v1/pods", fieldSelector=selector) == names


async def test_custom_resources_select_by_name_only(api: Client) -> None:
    status, answer = await api.call("GET", VMS, fieldSelector="status.phase=Running")
    assert (status, answer["message"]) == (400, "field label not supported: status.phase")
    assert (await api.call("GET", VMS, labelSelector="a b c"))[0] == 400


async def test_create(api: Client) -> None:
    sent = claim("a", uid="mine") | {"status": {"ips": ["10.0.0.1/24"]}}

    status, made = await api.call("POST", IN_SHOP, sent)

    assert status == 201
    assert made["metadata"]["uid"] != "mine"
    assert "status" not in made
    assert (await api.call("POST", IN_SHOP, sent))[1]["reason"] == "AlreadyExists"
    status, answer = await api.call("POST", IN_SHOP.replace("shop", "nowhere"), claim("a", "nowhere"))
    assert (status, answer["message"]) == (404, 'namespaces "nowhere" not found')
    assert (await api.call("POST", IN_SHOP, claim("b"), dryRun="All"))[0] == 201
    assert (await api.call("GET", f"{IN_SHOP}/b"))[0] == 404
    generated = claim("") | {"metadata": {"generateName": "x-"}}
    assert (await api.call("POST", IN_SHOP, generated))[1]["metadata"]["name"].startswith("x-")
    assert (await api.call("POST", IN_SHOP, {"metadata": {}}))[0] == 422
    assert (await api.call("POST", IN_SHOP, pod("a")))[0] == 400


async def test_put_needs_the_latest_version(api: Client) -> None:
    made = api.server.create(claim("a"))
    path = f"{IN_SHOP}/a"

    status, answer = await api.call("PUT", path, claim("a"))
    assert (status, answer["message"].partition(": ")[2]) == (
        422,
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
    )
    assert answer["details"]["causes"][0]["reason"] == "FieldValueInvalid"
    made["spec"]["network"] = "other"
    status, written = await api.call("PUT", path, made)
    assert (status, written["metadata"]["generation"]) == (200, 2)
    status, answer = await api.call("PUT", path, made)
    assert (status, answer["reason"]) == (409, "Conflict")
    assert answer["message"].endswith("please apply your changes to the latest version and try again")


async def test_a_merge_patch(api: Client) -> None:
    made = api.server.create(claim("a", labels={"x": "1", "y": "2"}))
    path = f"{IN_SHOP}/a"

    status, got = await api.call("PATCH", path, {"metadata": {"labels": {"x": None, "z": "3"}}}, sent_as=MERGE)
    assert (status, got["metadata"]["labels"]) == (200, {"y": "2", "z": "3"})
    assert got["metadata"]["generation"] == 1
    stale = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    assert (await api.call("PATCH", path, stale, sent_as=MERGE))[0] == 409
    status, answer = await api.call("PATCH", path, {"metadata": {"uid": "other"}}, sent_as=MERGE)
    assert (status, answer["message"].endswith("field is immutable")) == (422, True)
    same = (await api.call("PATCH", path, {}, sent_as=MERGE))[1]
    assert same["metadata"]["resourceVersion"] == got["metadata"]["resourceVersion"]
    assert (await api.call("PATCH", path, {}, sent_as="application/json"))[0] == 415
    status, answer = await api.call("PATCH", path, {}, sent_as=MERGE, dryRun="true")
    assert (status, answer["message"].partition(": ")[2]) == (
        422,
        'dryRun: Unsupported value: ["true"]: supported values: "All"',
    )


async def test_a_json_patch_says_nothing_about_why_it_failed(api: Client) -> None:
    made = api.server.create(claim("a", finalizers=["other", "kubevirt.io/persistent-ipam"]))
    path = f"{IN_SHOP}/a"
    take_off = [
        {"op": "test", "path": "/metadata/uid", "value": made["metadata"]["uid"]},
        {"op": "test", "path": "/metadata/finalizers/1", "value": "kubevirt.io/persistent-ipam"},
        {"op": "remove", "path": "/metadata/finalizers/1"},
    ]

    status, got = await api.call("PATCH", path, take_off, sent_as=JSON_PATCH, dryRun="All")
    assert (status, got["metadata"]["finalizers"]) == (200, ["other"])
    status, got = await api.call("PATCH", path, take_off, sent_as=JSON_PATCH)
    assert (status, got["metadata"]["finalizers"]) == (200, ["other"])
    for failing in (take_off, [{"op": "remove", "path": "/metadata/finalizers/9"}], [{"op": "test", "path": "/x/y"}]):
        status, answer = await api.call("PATCH", path, failing, sent_as=JSON_PATCH)
        assert (status, answer["reason"], answer["details"]) == (422, "Invalid", {})
        assert answer["message"] == "the server rejected our request due to an error in our request"
    edits = [
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/a~1b", "value": "1"},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "last"},
        {"op": "replace", "path": "/spec/network", "value": "other"},
    ]
    _, got = await api.call("PATCH", path, edits, sent_as=JSON_PATCH)
    assert got["metadata"]["annotations"] == {"a/b": "1"}
    assert got["metadata"]["finalizers"] == ["other", "last"]
    assert got["spec"]["network"] == "other"


async def test_status_is_written_apart_and_silently_ignored_elsewhere(api: Client) -> None:
    api.server.create(claim("a"))
    ips = {"status": {"ips": ["10.0.0.1/24"]}}

    status, got = await api.call("PATCH", f"{IN_SHOP}/a", ips, sent_as=MERGE)
    assert (status, "status" in got) == (200, False)
    both = ips | {"metadata": {"annotations": {"a": "b"}}}
    status, got = await api.call("PATCH", f"{IN_SHOP}/a/status", both, sent_as=MERGE)
    assert (status, got["status"], "annotations" in got["metadata"]) == (200, ips["status"], False)
    assert got["metadata"]["generation"] == 1
    stale = ips | {"metadata": {"resourceVersion": "1"}}
    assert (await api.call("PATCH", f"{IN_SHOP}/a/status", stale, sent_as=MERGE))[0] == 409
    assert (await api.call("GET", "/apis/kubevirt.io/v1/namespaces/shop/virtualmachineinstances/a/status"))[0] == 404


async def test_an_object_with_finalizers_goes_with_the_last_one(api: Client) -> None:
    api.server.create(claim("a", finalizers=["x", "y"]))
    path = f"{IN_SHOP}/a"

    status, requested = await api.call("DELETE", path)
    assert (status, "deletionTimestamp" in requested["metadata"], requested["metadata"]["generation"]) == (200, True, 2)
    _, again = await api.call("DELETE", path)
    assert again["metadata"]["resourceVersion"] == requested["metadata"]["resourceVersion"]
    status, answer = await api.call("PATCH", path, {"metadata": {"finalizers": ["x", "y", "z"]}}, sent_as=MERGE)
    assert (status, "no new finalizers can be added" in answer["message"]) == (422, True)
    assert (await api.call("PATCH", path, {"metadata": {"finalizers": ["x"]}}, sent_as=MERGE))[0] == 200
    last = [{"op": "remove", "path": "/metadata/finalizers/0"}]
    assert (await api.call("PATCH", path, last, sent_as=JSON_PATCH, dryRun="All"))[0] == 200
    status, gone = await api.call("PATCH", path, last, sent_as=JSON_PATCH)
    assert (status, gone["metadata"].get("finalizers"), gone["kind"]) == (200, None, "IPAMClaim")
    assert (await api.call("GET", path))[0] == 404
    assert (await api.call("DELETE", path))[0] == 404


async def test_foreground_deletion_leaves_a_finalizer_behind(api: Client) -> None:
    api.server.create(claim("a"))
    _, requested = await api.call("DELETE", f"{IN_SHOP}/a", {"propagationPolicy": "Foreground"})
    assert requested["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_preconditions_of_a_delete(api: Client) -> None:
    made = api.server.create(claim("a"))["metadata"]
    path = f"{IN_SHOP}/a"

    status, answer = await api.call("DELETE", path, {"preconditions": {"uid": "zzz"}})
    assert (status, answer["reason"]) == (409, "Conflict")
    assert (
        f"the UID in the precondition (zzz) does not match the UID in record ({made['uid']}). "
        "The object might have been deleted and then recreated"
    ) in answer["message"]
    status, answer = await api.call("DELETE", path, {"preconditions": {"uid": made["uid"], "resourceVersion": "1"}})
    assert (status, "the ResourceVersion in the precondition (1) does not match" in answer["message"]) == (409, True)
    right = {"preconditions": {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}}
    status, answer = await api.call("DELETE", path, right)
    assert (status, answer["status"], answer["details"]["name"]) == (200, "Success", "a")


@pytest.mark.parametrize(
    ("query", "body", "kept"),
    [
        ({"dryRun": "All"}, None, True),
        ({}, {"dryRun": ["All"]}, True),
        ({"dryRun": "All"}, {"dryRun": ["All"]}, True),
        ({"dryRun": "All"}, {"propagationPolicy": "Background"}, False),  # the query is ignored: really deleted
        ({"preconditions.uid": "zzz"}, None, False),
    ],
)
async def test_dry_run_of_a_delete(api: Client, query: dict[str, str], body: Any, kept: bool) -> None:
    api.server.create(claim("a"))

    assert (await api.call("DELETE", f"{IN_SHOP}/a", body, **query))[0] == 200

    assert (await api.call("GET", f"{IN_SHOP}/a"))[0] == (200 if kept else 404)


async def test_a_deleted_pod_is_sent_back_whole(api: Client) -> None:
    api.server.create(pod("a"))
    _, gone = await api.call("DELETE", "/api/v1/namespaces/shop/pods/a")
    assert gone["kind"] == "Pod"
    assert (await api.call("DELETE", "/api/v1/namespaces/shop/pods"))[0] == 405


async def test_a_crd_vanishes_and_comes_back(api: Client) -> None:
    api.server.create(claim("a"))

    api.server.unserve("ipamclaims")
    assert await api.call("GET", CLAIMS) == (404, "404 page not found\n")
    assert await api.call("GET", "/apis/k8s.cni.cncf.io/v1alpha1") == (404, "404 page not found\n")
    api.server.serve("ipamclaims")
    assert await api.names(CLAIMS) == []


async def test_what_callers_do_with_objects_stays_theirs(api: Client) -> None:
    mine = claim("a", labels={"x": "1"})
    api.server.create(mine)["metadata"]["labels"]["x"] = "2"
    mine["metadata"]["labels"]["x"] = "3"
    api.server.get("ipamclaims", "shop", "a")["metadata"]["labels"]["x"] = "4"

    assert (await api.get(f"{IN_SHOP}/a"))["metadata"]["labels"]["x"] == "1"


async def test_requests_are_kept_for_inspection(api: Client) -> None:
    await api.call("DELETE", f"{IN_SHOP}/a", {"dryRun": ["All"]}, fieldManager="me")

    last = api.server.requests[-1]
    assert (last.method, last.path, last.query) == ("DELETE", f"{IN_SHOP}/a", {"fieldManager": "me"})
    assert json.loads(last.body) == {"dryRun": ["All"]}
    assert last.headers["Content-Type"] == "application/json"
