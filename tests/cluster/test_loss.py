"""What the exporter says while it can't see, and that it sees again by itself."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..case_files import read_yaml
from ..manifests import Object
from ..waiting import wait_until
from .apiserver import ApiServer
from .client import Client
from .conftest import MakeApiServer
from .custom_resources import crds
from .exporter import ROLE, Exporter, grant, without
from .fleet import claimed_vm, delete_vm, nad, release
from .resources import CRDS, IPAM_CLAIMS, VMS

__all__ = ["Freezing"]

# A TCP proxy before the API server that can freeze what passes: connections stay open, and nothing arrives.


class Freezing:
    """`with` starts and ends it. After `freeze` no byte passes on any connection of then; `thaw` lets new ones pass."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._port = int(server.url.rpartition(":")[2])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._frozen = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._dead: set[int] = set()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Freezing:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._listener.close()
        with self._lock:
            for each in self._open:
                _close(each)
        for thread in self._threads:
            thread.join(10)

    def freeze(self) -> None:
        with self._lock:
            self._dead |= {id(each) for each in self._open}
        self._frozen.set()

    def thaw(self) -> None:
        self._frozen.clear()

    def kubeconfig(self, account: str) -> Path:
        """The server's, with this proxy's address in it."""
        config = json.loads(self._server.kubeconfig(account).read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        path = self._server.folder / f"{account}.frozen.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port))
            with self._lock:
                self._open += [near, far]
                if self._frozen.is_set():
                    self._dead |= {id(near), id(far)}
            for here, there in ((near, far), (far, near)):
                thread = threading.Thread(target=self._pass_on, args=(here, there), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pass_on(self, here: socket.socket, there: socket.socket) -> None:
        try:
            while data := here.recv(65536):
                if id(here) not in self._dead:
                    there.sendall(data)
        except OSError:
            pass
        _close(here)
        _close(there)


def _close(each: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it was closed from the other side
        each.shutdown(socket.SHUT_RDWR)
    each.close()


NS = "tenant"
FOUND = {"db.blue": "StuckTerminatingOwnerGone"}


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    started = module_api_server()
    client = started.client()
    grant(client)
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
    client.create(nad(NS, "blue", subnets="10.0.0.0/24"))
    claimed_vm(client, NS, "db")
    claimed_vm(client, NS, "web", ip="10.0.0.6/24")
    delete_vm(client, NS, "db")
    return started


@pytest.fixture
def exporter(server: ApiServer) -> Iterator[Exporter]:
    with Exporter(server.kubeconfig("steward-exporter"), graces=0.0) as running:
        running.wait_ready().wait_found(NS, FOUND)
        yield running


@pytest.fixture
def client(server: ApiServer) -> Client:
    return server.client()


def test_the_api_server_dies_and_comes_back(exporter: Exporter, server: ApiServer, client: Client) -> None:
    connected = 'kubevirt_steward_kind_last_connect_timestamp_seconds{kind="IPAMClaim"}'
    before = exporter.value(connected)

    server.kill()
    exporter.wait_state("IPAMClaim", "stale")
    assert exporter.found(NS) == FOUND
    assert any("IPAMClaim" in why for why in exporter.unknown())
    assert exporter.value('kubevirt_steward_check_up{check="ipam_claims"}') == 0
    assert exporter.value('kubevirt_steward_kind_synced{kind="IPAMClaim"}') == 0
    assert exporter.get("/readyz")[0] == 200  # what is known goes on being served

    server.start()
    exporter.wait_state("IPAMClaim", "live")
    wait_until(lambda: exporter.unknown() == [], 60, "every check has an answer")
    assert exporter.found(NS) == FOUND
    assert not [each for each in exporter.closed if each.subject.namespace == NS]  # not for a moment
    assert exporter.value(connected) > before
    assert_changes_arrive(exporter, client)


def test_the_api_server_is_rolled(exporter: Exporter, server: ApiServer, client: Client) -> None:
    server.restart()
    wait_until(lambda: exporter.unknown() == [], 60, "every check has an answer")
    assert not [each for each in exporter.closed if each.subject.namespace == NS]
    assert_changes_arrive(exporter, client)


def test_a_watch_is_frozen(server: ApiServer, client: Client) -> None:
    with Freezing(server) as proxy, Exporter(proxy.kubeconfig("steward-exporter"), graces=0.0) as exporter:
        exporter.wait_ready().wait_found(NS, FOUND)
        proxy.freeze()
        release(client, NS, "db")
        # Nothing tells that the stream is dead; what is known stays, until the watch has outlived its own timeout.
        exporter.wait_state("IPAMClaim", "behind", "stale")
        assert exporter.found(NS) == FOUND
        proxy.thaw()
        exporter.wait_found(NS, {}, seconds=60)
        assert exporter.unknown() == []
    claimed_vm(client, NS, "db")
    delete_vm(client, NS, "db")


def test_the_right_to_one_kind_is_taken_away_and_given_back(exporter: Exporter, client: Client) -> None:
    role = read_yaml(ROLE.read_text(encoding="utf-8"))
    client.apply(without(role, "virtualmachines"))
    exporter.wait_state("VirtualMachine", "forbidden")
    assert exporter.found(NS) == FOUND
    assert any("403" in why and "Grant" in why for why in exporter.unknown())
    forbidden = "?check=sources&reason=KindForbidden&name=VirtualMachine"
    wait_until(lambda: exporter.report(forbidden)["findings"], 30, "the kind that may not be seen is a finding")

    release(client, NS, "db")  # not evaluated while VMs can't be seen
    claimed_vm(client, NS, "new", ip="10.0.0.9/24")
    wait_until(lambda: "new.blue" in names(client), 30, "the new claim is there")
    assert "new.blue" not in exporter.found(NS)

    client.apply(role)
    exporter.wait_state("VirtualMachine", "live")
    exporter.wait_found(NS, {})
    client.remove(VMS, NS, "new")
    release(client, NS, "new")
    client.remove(IPAM_CLAIMS, NS, "new.blue")
    claimed_vm(client, NS, "db")
    delete_vm(client, NS, "db")
    exporter.wait_found(NS, FOUND)


def names(client: Client) -> set[str]:
    return {item["metadata"]["name"] for item in client.list(IPAM_CLAIMS, NS)["items"]}


def test_a_crd_is_deleted_and_made_again(exporter: Exporter, client: Client) -> None:
    nad = nad_of("virtualmachines.kubevirt.io")
    client.remove(CRDS, None, "virtualmachines.kubevirt.io", timeout=120)
    exporter.wait_state("VirtualMachine", "absent")
    assert FOUND.items() <= exporter.found(NS).items()
    assert any("does not serve virtualmachines.kubevirt.io" in why for why in exporter.unknown())

    client.apply(nad)
    exporter.wait_state("VirtualMachine", "live")
    wait_until(lambda: exporter.unknown() == [], 60, "every check has an answer")
    # The VMs went with their CRD, so what they owned is orphaned: that is the truth now.
    exporter.wait_found(NS, {**FOUND, "web.blue": "OrphanClaim"})


def nad_of(name: str) -> Object:
    return next(each for each in crds() if each["metadata"]["name"] == name)


def assert_changes_arrive(exporter: Exporter, client: Client) -> None:
    made = claimed_vm(client, NS, "late", ip="10.0.0.77/24")
    delete_vm(client, NS, "late")
    exporter.wait_found(NS, {**FOUND, "late.blue": "StuckTerminatingOwnerGone"})
    release(client, NS, "late")
    exporter.wait_found(NS, FOUND)
    assert made["metadata"]["uid"]
