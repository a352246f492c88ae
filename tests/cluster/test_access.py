"""Who sees what, as a real API server decides it by real tokens and RBAC."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import re
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from exporter.config.settings import Config as ExporterConfig
from exporter.kube.reviews import Reviews
from exporter.kube.transport import Transport
from exporter.serve.access.decisions import Times
from exporter.serve.server.rooms import most_connections
from reconcile.app import run
from reconcile.config.settings import SidecarConfig
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import ACCESS, Exporter, grant, grant_access
from tests.cluster.fleet import vm
from tests.cluster.resources import Resource
from tests.waiting import wait_until

from .client import VIEW_VMS, Account, account, view_vms

SHORT = Times(user=0.3, stranger=0.1, allowed=0.3, denied=0.1, namespaces=0.3, again=0.2)
HEALTH = {"/healthz", "/readyz"}
LOGIN = {"/login", "/style.css"}  # who has no token yet has to see the form
POSTED = {"/logout"}


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    admin = made.client()
    grant(admin)
    grant_access(admin)
    view_vms(admin)
    return made


@pytest.fixture(scope="module")
def admin(server: ApiServer) -> Client:
    return server.client()


@pytest.fixture(scope="module")
def exporter(server: ApiServer) -> Iterator[Exporter]:
    with Exporter(server.kubeconfig("steward-exporter"), graces=0.0, access=SHORT) as made:
        yield made.wait_ready()


@pytest.fixture(scope="module")
def viewer(admin: Client) -> Account:
    made = account(admin)
    made.grant("steward-viewer")
    return made


@pytest.fixture(scope="module")
def scraper(admin: Client) -> Account:
    made = account(admin)
    made.grant("steward-metrics-reader")
    return made


@pytest.fixture(scope="module")
def nobody(admin: Client) -> Account:
    return account(admin)


def new_namespace(admin: Client) -> str:
    name = f"test-{uuid.uuid4().hex[:10]}"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def twin(admin: Client, namespace: str, uuid_: str, name: str = "twin") -> None:
    """A VM with this firmware UUID."""
    admin.create(vm(namespace, f"{name}-of-{namespace}", firmware={"uuid": uuid_, "serial": str(uuid.uuid4())}))


def paths(body: str) -> list[str]:
    """All that a server serves, as its answer to a wrong path lists them."""
    found = re.search(r"Available: (.*)", body)
    assert found, body
    return found[1].strip().rstrip('"}').split(", ")


def wait_granted(exporter: Exporter, path: str, token: str, status: int = 200) -> None:
    wait_until(lambda: exporter.get(path, token)[0] == status, 20, f"{path} answers {status}")


def test_every_path_but_health_needs_a_token_and_the_role_for_it(
    exporter: Exporter, viewer: Account, scraper: Account, nobody: Account
) -> None:
    wait_granted(exporter, "/api/v1/findings", viewer.token)
    every = paths(exporter.get("/nothing", viewer.token)[1])
    assert {"/", "/metrics", "/api/v1/findings", "/api/v1/drain", *HEALTH} <= set(every)
    for path in every:
        asked = path.replace("{namespace}", "nowhere").replace("{name}", "StewardBlind").replace("{fingerprint}", "f")
        if path in POSTED:
            assert exporter.get(asked, "")[0] == 401
            continue
        if path in HEALTH | LOGIN:
            assert exporter.get(asked, "")[0] == 200
            continue
        seen = {
            who: exporter.get(asked, token)[0]
            for who, token in (
                ("", ""),
                ("wrong", "no.such.token"),
                ("nobody", nobody.token),
                ("scraper", scraper.token),
            )
        }
        assert seen == {"": 401, "wrong": 401, "nobody": 403, "scraper": 200 if path == "/metrics" else 403}, path
        by_viewer, body = exporter.get(asked, viewer.token)
        # Some of them ask for a parameter, and some for an object.
        answers = (200, 404) if "{" in path else (200, 400)
        assert by_viewer == 403 if path == "/metrics" else by_viewer in answers, (path, body[:200])
    assert exporter.get("/nothing", "")[0] == 401
    assert exporter.get("/nothing", nobody.token)[0] == 403


async def test_every_path_of_the_sidecar_too(
    server: ApiServer, exporter: Exporter, tmp_path: Path, viewer: Account, scraper: Account, nobody: Account
) -> None:
    settings = {
        "listen": "127.0.0.1:0",
        "insecure": True,  # without TLS; who is asked is given below
        "ledger": {"directory": str(tmp_path / "ledger")},
        "source": {"url": exporter.url},
    }
    (tmp_path / "ledger").mkdir()
    transport = Transport.from_environment(str(server.kubeconfig("steward-exporter")))
    running = run(
        SidecarConfig.model_validate(settings), transport, ExporterConfig(), reviews=Reviews(transport), times=SHORT
    )
    async with running as (url, _):

        async def asked(path: str, token: str) -> tuple[int, str]:
            return await asyncio.to_thread(get, url, path, f"Bearer {token}" if token else "")

        every = paths((await asked("/nothing", viewer.token))[1])
        assert {"/metrics", "/api/v1/plans", *HEALTH} == set(every)
        for path in every:
            if path in HEALTH:
                assert (await asked(path, ""))[0] in (200, 503)
                continue
            seen = [(await asked(path, token))[0] for token in ("", "wrong", nobody.token, scraper.token, viewer.token)]
            wanted = {"/metrics": [401, 401, 403, 200, 403], "/api/v1/plans": [401, 401, 403, 403, 200]}
            assert seen == wanted[path], path


def get(url: str, path: str, authorization: str = "") -> tuple[int, str]:
    split = urlsplit(url)
    connection = http.client.HTTPConnection(split.hostname or "", split.port, timeout=30)
    try:
        connection.request("GET", path, headers={"Authorization": authorization} if authorization else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def findings(exporter: Exporter, token: str, query: str = "") -> dict[str, Any]:
    status, body = exporter.get(f"/api/v1/findings{query}", token)
    assert status == 200, body
    answer: dict[str, Any] = json.loads(body)
    return answer


def test_a_tenant_sees_their_own_namespaces_and_nothing_of_others(exporter: Exporter, admin: Client) -> None:
    mine, theirs = new_namespace(admin), new_namespace(admin)
    shared = str(uuid.uuid4())
    for namespace in (mine, theirs):
        twin(admin, namespace, shared)
    tenant = account(admin, mine)
    tenant.grant(VIEW_VMS, mine)
    wait_until(
        lambda: (
            exporter.get("/api/v1/findings", tenant.token)[0] == 200
            and len(findings(exporter, tenant.token)["findings"]) == 1
        ),
        30,
        "the tenant sees their VM",
    )

    seen = findings(exporter, tenant.token)
    (found,) = seen["findings"]
    assert found["subject"]["name"] == f"twin-of-{mine}"
    assert found["evidence"] == {}
    assert found["commands"] == []
    for path in ("/api/v1/findings", "/", f"/?namespace={mine}", f"/api/v1/findings?namespace={mine},{theirs}"):
        status, body = exporter.get(path, tenant.token)
        assert status == 200
        assert theirs not in body, path
        assert mine in body
        assert shared not in body
    page = exporter.get("/", tenant.token)[1]
    assert "Networks" not in page.split("</nav>")[0]
    assert exporter.get(f"/api/v1/findings?namespace={theirs}", tenant.token)[0] == 403
    assert exporter.get("/api/v1/findings?namespace=no-such", tenant.token)[0] == 403
    others = ("/api/v1/networks", "/api/v1/features", "/api/v1/drain", "/api/v1/maintenance", "/api/v1/upgrade")
    pages = (
        "/drain",
        "/impact",
        "/repairs",
        "/nodes/",
        "/networks/",
        "/instancetypes/",
        "/features/",
        "/maintenance",
        "/upgrade",
    )
    for path in (*others, *pages, "/metrics"):
        assert exporter.get(path, tenant.token)[0] == 403, path
    for start in ("/vms", "/api/v1/vms"):
        assert exporter.get(f"{start}/{mine}/no-such", tenant.token)[0] == 404
        there, nowhere = (exporter.get(f"{start}/{each}/a", tenant.token) for each in (theirs, "no-such"))
        assert there[0] == nowhere[0] == 404  # whether it is there is not said


def test_a_change_elsewhere_is_nothing_to_a_tenant(exporter: Exporter, admin: Client, viewer: Account) -> None:
    mine, theirs = new_namespace(admin), new_namespace(admin)
    for name in ("a", "b"):
        twin(admin, mine, "0f2b8e5c-8b9d-4a51-9d6e-3f1f5a0c7d21", name)
    tenant = account(admin, mine)
    tenant.grant(VIEW_VMS, mine)
    wait_until(
        lambda: (
            exporter.get("/api/v1/findings", tenant.token)[0] == 200
            and len(findings(exporter, tenant.token)["findings"]) == 2
        ),
        30,
        "the tenant sees both",
    )
    before = findings(exporter, tenant.token)
    answers: list[dict[str, Any]] = []
    query = f"?wait=50&generation={before['generation']}"
    waiting = threading.Thread(target=lambda: answers.append(findings(exporter, tenant.token, query)))
    waiting.start()

    other = str(uuid.uuid4())
    for name in ("a", "b"):
        twin(admin, theirs, other, name)
    wait_until(
        lambda: len(findings(exporter, viewer.token, f"?namespace={theirs}")["findings"]) == 2,
        30,
        "others have two more",
    )
    assert findings(exporter, tenant.token) == before
    waiting.join(2.5)  # more than two looks
    assert waiting.is_alive()

    twin(admin, mine, "0f2b8e5c-8b9d-4a51-9d6e-3f1f5a0c7d21", "c")
    waiting.join(30)
    assert len(answers[0]["findings"]) == 3
    assert answers[0]["generation"] != before["generation"]


def test_what_is_revoked_ends_within_the_time_that_a_decision_holds(exporter: Exporter, admin: Client) -> None:
    someone = account(admin)
    binding = someone.grant("steward-viewer")
    wait_granted(exporter, "/api/v1/networks", someone.token)
    someone.revoke(binding)
    wait_granted(exporter, "/api/v1/networks", someone.token, 403)

    namespace = new_namespace(admin)
    binding = someone.grant(VIEW_VMS, namespace)
    wait_granted(exporter, "/api/v1/findings", someone.token)
    someone.revoke(binding, namespace)
    wait_granted(exporter, "/api/v1/findings", someone.token, 403)


def test_a_token_ends_with_its_account_and_the_next_of_its_name_is_another(exporter: Exporter, admin: Client) -> None:
    someone = account(admin)
    someone.grant("steward-viewer")
    wait_granted(exporter, "/api/v1/networks", someone.token)
    accounts = Resource("", "v1", "serviceaccounts")
    admin.delete(accounts, someone.namespace, someone.name)
    metadata = {"name": someone.name, "namespace": someone.namespace}
    admin.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    wait_granted(exporter, "/api/v1/networks", someone.token, 401)


def test_a_token_for_somebody_else_is_none_here(exporter: Exporter, admin: Client, viewer: Account) -> None:
    path = f"/api/v1/namespaces/{viewer.namespace}/serviceaccounts/{viewer.name}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["vault"]}}
    token = admin.connection.request("POST", path, request)["status"]["token"]
    wait_granted(exporter, "/api/v1/networks", viewer.token)
    assert exporter.get("/api/v1/networks", token)[0] == 401


def test_names_of_any_kind_in_a_token_or_filter_are_refused(
    exporter: Exporter, viewer: Account, nobody: Account
) -> None:
    wait_granted(exporter, "/api/v1/networks", viewer.token)
    for token in (
        f"{viewer.token},x",
        f"x,{viewer.token}",
        f"{viewer.token}.",
        viewer.token[:-1],
        viewer.token.upper(),
    ):
        assert exporter.get("/api/v1/networks", token)[0] == 401, token[-20:]
    for name in ("..", "%2e%2e%2f", "*", "a%00b", "default%0a", "%E2%80%AE", "A", "-a", "a" * 64, "kube-system%2fpods"):
        assert exporter.get(f"/api/v1/findings?namespace={name}", nobody.token)[0] == 403, name


def test_without_the_role_to_ask_nobody_is_let_in_and_the_log_says_so_once(
    own_api_server: MakeApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    server = own_api_server()
    admin = server.client()
    grant(admin)  # and not steward-access
    for each in yaml.safe_load_all(ACCESS.read_text("utf-8")):
        if each["kind"] == "ClusterRole":
            admin.apply(each)
    someone = account(admin)
    someone.grant("steward-viewer")
    with Exporter(server.kubeconfig("steward-exporter"), graces=0.0, access=SHORT) as exporter:
        wait_until(lambda: exporter.get("/healthz", "")[0] == 200, 30, "it serves")
        for path in ("/", "/metrics", "/api/v1/findings", "/nothing"):
            assert exporter.get(path, someone.token)[0] == 503, path
        said = [each.getMessage() for each in caplog.records if "review failed" in each.getMessage()]
        assert len(said) == 1
        assert "Grant the ClusterRole steward-access" in said[0]
        grant_access(admin)
        wait_granted(exporter, "/api/v1/findings", someone.token)


def test_a_browser_sends_the_token_as_password(exporter: Exporter, viewer: Account) -> None:
    wait_granted(exporter, "/", viewer.token)
    basic = base64.b64encode(f"any:{viewer.token}".encode()).decode()
    assert get(exporter.url, "/", f"Basic {basic}")[0] == 200
    assert get(exporter.url, "/", "Basic bm9ib2R5Onh4")[0] == 401


def test_while_the_api_server_is_away_earlier_decisions_hold_and_nobody_else_is_let_in(
    own_api_server: MakeApiServer,
) -> None:
    server = own_api_server()
    admin = server.client()
    grant(admin)
    grant_access(admin)
    known, new = account(admin), account(admin)
    for each in (known, new):
        each.grant("steward-viewer")
    with Exporter(server.kubeconfig("steward-exporter"), graces=0.0, access=SHORT) as exporter:
        exporter.wait_ready()
        wait_granted(exporter, "/api/v1/findings", known.token)
        server.kill()
        # Longer than it holds otherwise.
        wait_until(lambda: exporter.get("/api/v1/findings", new.token)[0] == 503, 20, "the newcomer waits")
        for _ in range(5):
            assert exporter.get("/api/v1/findings", known.token)[0] == 200
            assert exporter.get("/api/v1/findings", new.token)[0] == 503
        assert exporter.get("/metrics", known.token)[0] == 503  # that was never decided
        server.start()
        wait_granted(exporter, "/api/v1/findings", new.token)


def test_bodies_that_do_not_come_and_wrong_tokens_keep_no_new_scraper_out(exporter: Exporter, admin: Client) -> None:
    """Of the connections some are kept for health and the scrape, and in a full room the newest of a crowd goes."""
    scrapers = [account(admin) for _ in range(4)]
    for each in scrapers:
        each.grant("steward-metrics-reader")
    host, _, port = exporter.address.partition(":")
    head = f"POST /login HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n"
    silent = []
    for at in range(most_connections() + 50):
        client = socket.create_connection((host, int(port)), source_address=(f"127.0.0.{at % 2 + 2}", 0))
        client.sendall(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\n".encode())
        silent.append(client)
    over = threading.Event()

    def guess(address: str) -> None:
        while not over.is_set():
            connection = http.client.HTTPConnection(host, int(port), timeout=30, source_address=(address, 0))
            with suppress(OSError, http.client.HTTPException), closing(connection):
                connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {uuid.uuid4().hex}"})
                connection.getresponse().read()

    guessing = [threading.Thread(target=guess, args=(f"127.0.1.{at + 1}",)) for at in range(16)]
    for thread in guessing:
        thread.start()
    try:
        answers = {path: exporter.get(path, "")[0] for path in ("/healthz", "/readyz", "/login")}
        answers |= {f"scraper {at}": exporter.get("/metrics", each.token)[0] for at, each in enumerate(scrapers)}
    finally:
        over.set()
        for thread in guessing:
            thread.join()
        for client in silent:
            client.close()
    assert {what: status for what, status in answers.items() if status != 200} == {}
