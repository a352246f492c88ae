"""Writes on a real API server that are not answered, or late: what arrives afterwards is what the ledger has of it.

`REPAIRS=all` does each with a patch, a deletion and a creation; else with a patch.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import create_default_context
from typing import Any

import pytest

from ..waiting import wait_until
from . import fleet
from .apiserver import ApiServer
from .conftest import MakeApiServer
from .repair_faults import FAULTS, LATER, Fault, settings
from .repair_ground import ACCOUNT, Ground, ground_of
from .resources import EVENTS, IPAM_CLAIMS
from .sidecar import Sidecar, steward
from .stage import Stage

__all__ = ["Delaying", "Held"]

# A proxy before the API server that takes a whole request and passes it on when it is told to, whoever still waits.
#
# It serves plain HTTP on loopback, so that it can tell a write from a dry run of it, and asks the API server with the
# token that it is given.

_LONGEST = 120


class Held:
    """One request that the proxy has taken whole, and keeps until `pass_on`; `code` is what came of it then."""

    def __init__(self, method: str, path: str, lost: bool) -> None:
        self.method, self.path, self.lost = method, path, lost
        self.code: int | None = None
        self._taken, self._passed = threading.Event(), threading.Event()

    def wait_taken(self) -> None:
        assert self._taken.wait(90), f"no {self.method} of {self.path} came"

    def pass_on(self) -> int:
        """Lets it go on; the status that the API server answers with."""
        self._passed.set()
        wait_until(lambda: self.code is not None, 30, f"an answer to {self.method} {self.path}", every=0.05)
        assert self.code is not None
        return self.code

    def keep(self) -> None:
        """By the proxy: until it is passed on."""
        self._taken.set()
        if not self.lost:
            self._passed.wait(_LONGEST)


class Delaying:
    """`with` starts and ends it. `log` has the writes that came, dry runs too, in their order."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._tls = create_default_context(cafile=str(server.ca_file))
        self._wanted: list[Held] = []
        self._all: list[Held] = []
        self.log: list[tuple[str, str, float]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> Delaying:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._all:
            each._passed.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)

    def kubeconfig(self, account: str) -> Path:
        """The server's, with this proxy's address in it."""
        config = json.loads(self._server.kubeconfig(account).read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self._http.server_address[1]}"}
        path = self._server.folder / f"{account}.{id(self)}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def hold(self, method: str, part: str) -> Held:
        """The next write of this method whose path has this in it."""
        return self._expect(Held(method, part, lost=False))

    def lose_answer(self, method: str, part: str) -> Held:
        """It arrives at once, and whoever sent it hears nothing of it."""
        return self._expect(Held(method, part, lost=True))

    def _expect(self, held: Held) -> Held:
        self._wanted.append(held)
        self._all.append(held)
        return held

    def _matching(self, method: str, path: str, body: bytes) -> Held | None:
        if method == "GET":
            return None
        self.log.append((method, path, time.time()))
        if "dryRun" in path or b'"dryRun"' in body:
            return None
        found = next((each for each in self._wanted if each.method == method and each.path in path), None)
        if found is not None:
            self._wanted.remove(found)
        return found

    def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, str, str]:
        request = urllib.request.Request(self._server.url + path, body or None, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60, context=self._tls) as answer:
                return answer.status, answer.read(), answer.headers["Content-Type"], answer.headers["Date"]
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), error.headers["Content-Type"], error.headers["Date"]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                held = proxy._matching(self.command, self.path, body)
                if held is not None:
                    held.keep()
                kept = {name: text for name, text in self.headers.items() if name not in ("Host", "Connection")}
                code, content, kind, date = proxy._ask(self.command, self.path, kept, body)
                self.close_connection = True
                if held is not None:
                    held.code = code
                if held is not None and held.lost:
                    return
                with suppress(OSError):  # whoever sent it may have gone
                    self.send_response_only(code)
                    given = {"Date": date, "Content-Type": kind, "Content-Length": str(len(content))}
                    for name, text in {**given, "Connection": "close"}.items():
                        self.send_header(name, text)
                    self.end_headers()
                    self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass  # noqa: N815 # as the base class calls them

            def log_message(self, *_: object) -> None:
                pass

        return Handler


pytestmark = pytest.mark.long

BY_ID = {each.id: each for each in FAULTS}
METHODS = {"patch": "PATCH", "delete": "DELETE", "create": "POST"}
ALL = [BY_ID[each] for each in ("unprotected_claim", "orphan_claim", "lost_copy")]  # a patch, a deletion, a creation
KINDS = ALL if os.environ.get("REPAIRS") == "all" else ALL[:1]
SKEW = "kubevirt_steward_repair_clock_skew_seconds"


@pytest.fixture(scope="module")
def ground(module_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(module_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


@pytest.fixture(scope="module")
def proxy(ground: Ground) -> Iterator[Delaying]:
    with Delaying(ground.server) as made:
        yield made


class Scene:
    """A fault in a namespace of its own, and a sidecar that repairs it through the proxy."""

    def __init__(self, ground: Ground, proxy: Delaying, fault: Fault) -> None:
        self.ground, self.proxy, self.fault, self.stage = ground, proxy, fault, ground.stage()
        self.namespace = self.stage.namespace
        fault.seed(self.stage)
        self.name = fault.name(self.stage)
        ground.wait_found(self.namespace, fault.reason)

    def sidecar(self, **how: Any) -> Sidecar:
        auto = settings({(self.fault.remediation, self.namespace): "auto"}, verifyAfter="1s")
        given = {"ahead": LATER if self.fault.aged else 0.0, **how}
        return self.ground.sidecar(self.namespace, auto, through=self.proxy.kubeconfig(ACCOUNT), **given)

    def hold(self) -> Held:
        return self.proxy.hold(METHODS[self.fault.verb], self._path())

    def lose_answer(self) -> Held:
        return self.proxy.lose_answer(METHODS[self.fault.verb], self._path())

    def _path(self) -> str:
        collection = f"/namespaces/{self.namespace}/{self.fault.resource.plural}"
        return collection if self.fault.verb == "create" else f"{collection}/{self.name}"

    def assert_written_once(self) -> None:
        written = [(self.fault.verb, self.fault.resource.plural)]
        assert [(verb, of.partition("/")[0]) for verb, of, _ in self.ground.writes(self.namespace)] == written
        (event,) = self.ground.events(self.namespace)
        assert (event["reason"], event["count"]) == ("Repaired", 1)


def ends(sidecar: Sidecar) -> list[tuple[str, bool | None]]:
    return [(each.event.value, each.happened) for each in sidecar.entries()]


def state(sidecar: Sidecar, fault: Fault) -> str:
    (found,) = [each["state"] for each in sidecar.plans() if each["remediation"] == fault.remediation]
    return str(found)


@pytest.mark.parametrize("fault", KINDS, ids=str)
def test_one_that_arrives_after_its_sender_gave_up_is_settled_when_it_has(
    ground: Ground, proxy: Delaying, fault: Fault
) -> None:
    scene = Scene(ground, proxy, fault)
    held = scene.hold()
    with scene.sidecar() as sidecar:
        held.wait_taken()
        sidecar.wait_for("unclear")
        sidecar.runs_again(3)
        assert ends(sidecar) == [("intended", None), ("unclear", None)]
        assert state(sidecar, fault) == "unclear"
        assert sidecar.value("kubevirt_steward_repair_unfinished") == 1.0
        assert ground.writes(scene.namespace) == []

        assert held.pass_on() < 300

        sidecar.wait_for("verified")
        assert ends(sidecar) == [("intended", None), ("unclear", None), ("resolved", True), ("verified", None)]
    scene.assert_written_once()


@pytest.mark.parametrize("fault", KINDS, ids=str)
def test_one_that_is_late_and_answered_is_done(ground: Ground, proxy: Delaying, fault: Fault) -> None:
    scene = Scene(ground, proxy, fault)
    held = scene.hold()
    with scene.sidecar() as sidecar:
        held.wait_taken()
        assert held.pass_on() < 300
        sidecar.wait_for("verified")
        assert sidecar.events() == ["intended", "done", "verified"]
    scene.assert_written_once()


@pytest.mark.parametrize("fault", KINDS, ids=str)
def test_an_answer_that_is_lost_is_read_from_the_object(ground: Ground, proxy: Delaying, fault: Fault) -> None:
    scene = Scene(ground, proxy, fault)
    scene.lose_answer()
    with scene.sidecar() as sidecar:
        sidecar.wait_for("verified")
        assert sidecar.events() == ["intended", "done", "verified"]
    scene.assert_written_once()


@pytest.mark.parametrize("fault", KINDS, ids=str)
def test_one_that_arrives_after_all_time_is_over_does_nothing(ground: Ground, proxy: Delaying, fault: Fault) -> None:
    """Its time was too short, and it was tried anew: what it is bound to is not there any more."""
    scene = Scene(ground, proxy, fault)
    held = scene.hold()
    with scene.sidecar(arrives=3.0) as sidecar:
        sidecar.wait_for("verified")
        happened = None if fault.verb == "create" else False  # what is not there may have been, and is deleted again
        assert ends(sidecar)[:3] == [("intended", None), ("unclear", None), ("resolved", happened)]
        assert [each[0] for each in ends(sidecar)[3:]] == ["intended", "done", "verified"]
        assert held.pass_on() in (404, 409, 422)
    scene.assert_written_once()


@pytest.mark.parametrize("fault", KINDS, ids=str)
def test_one_of_a_process_that_was_killed_right_after_it_sent_it(ground: Ground, proxy: Delaying, fault: Fault) -> None:
    scene = Scene(ground, proxy, fault)
    held = scene.hold()
    first = scene.sidecar()
    first.fork.start(lambda: True)
    held.wait_taken()
    first.fork.kill()
    ground.free_lease(scene.namespace)
    with scene.sidecar() as sidecar:
        sidecar.runs_again(2)
        assert ends(sidecar) == [("intended", None)]
        assert state(sidecar, fault) == "unclear"
        assert held.pass_on() < 300
        sidecar.wait_for("verified")
        assert ends(sidecar) == [("intended", None), ("resolved", True), ("verified", None)]
    scene.assert_written_once()


@pytest.mark.parametrize("fault", KINDS, ids=str)
def test_a_process_that_stands_still_right_before_it_sends_does_not_send_it_any_more(
    ground: Ground, proxy: Delaying, fault: Fault
) -> None:
    scene = Scene(ground, proxy, fault)
    sidecar = scene.sidecar(stop_at="fenced")
    sidecar.fork.start(lambda: sidecar.fork.stopped)
    try:
        (intended,) = sidecar.entries()
        came = len(proxy.log)
        wait_until(lambda: _age(sidecar, intended.at, fault) > 6, 30, "it is too late to send it", every=0.2)
        sidecar.fork.proceed()
        sidecar.wait_for("failed")
        failed = sidecar.entries()[1]
        assert failed.why.startswith("not written: ")
        sidecar.wait_for("verified")  # it is tried anew, on fresh reads
        assert sidecar.events() == ["intended", "failed", "intended", "done", "verified"]
        sent = [path for method, path, _ in proxy.log[came:] if method == METHODS[fault.verb] and scene.name in path]
        assert len(sent) <= 2  # a dry run and the write of the second attempt
    finally:
        sidecar.fork.kill()
    scene.assert_written_once()


def _age(sidecar: Sidecar, at: float, fault: Fault) -> float:
    return time.time() + (LATER if fault.aged else 0.0) - at


@pytest.mark.parametrize("fault", KINDS, ids=str)
def test_a_process_that_stands_still_right_after_it_sent_it(ground: Ground, proxy: Delaying, fault: Fault) -> None:
    scene = Scene(ground, proxy, fault)
    held = scene.hold()
    with scene.sidecar() as sidecar:
        held.wait_taken()
        assert sidecar.fork.pid is not None
        os.kill(sidecar.fork.pid, signal.SIGSTOP)
        assert held.pass_on() < 300
        sidecar.fork.proceed()
        sidecar.wait_for("verified")
        assert ends(sidecar)[-2] in [("done", None), ("resolved", True)]
    scene.assert_written_once()


def test_a_person_writes_nothing_to_an_object_of_which_an_attempt_is_unclear(ground: Ground, proxy: Delaying) -> None:
    scene = Scene(ground, proxy, BY_ID["unprotected_claim"])
    held = scene.hold()
    with scene.sidecar() as sidecar:
        sidecar.wait_for("unclear")
        (repair,) = [each for each in sidecar.plans() if each["namespace"] == scene.namespace]
        got = steward(
            *("reconcile", "apply", repair["fingerprint"], "--remediation", repair["remediation"], "--yes"),
            *("--exporter", ground.exporter.url, "--ledger", str(sidecar.directory)),
            *("--config", str(sidecar.config), "--kubeconfig", str(ground.server.kubeconfig(ACCOUNT))),
        )
        assert got.returncode == 1, got.stderr
        assert "refused, unclear: the outcome of attempt" in got.stderr
        listed = steward("reconcile", "ledger", "--ledger", str(sidecar.directory))
        assert "unclear" in listed.stdout
        assert held.pass_on() == 200
        sidecar.wait_for("verified")
    scene.assert_written_once()


def test_a_clock_that_is_ahead_voids_no_waiting_time(ground: Ground, proxy: Delaying) -> None:
    """The IPAMClaim has been in deletion for seconds, and by this clock for 15 minutes: 10 would be enough."""
    scene = Scene(ground, proxy, BY_ID["stuck_claim"])
    with scene.sidecar(ahead=0.0, skewed=900.0) as sidecar:
        sidecar.runs_again(3)
        assert sidecar.entries() == []
        assert ground.client.find(IPAM_CLAIMS, scene.namespace, scene.name) is not None
        assert sidecar.value(SKEW) == pytest.approx(900, abs=2)
        (repair,) = [each for each in sidecar.plans() if each["namespace"] == scene.namespace]
        assert repair["state"] == "blocked"
        why = {each["gate"]: each["why"] for each in repair["blocked"]}["clock"]
        assert "s ahead of the API server's, and the limit is 30 s" in why
    assert ground.writes(scene.namespace) == []


def test_who_comes_while_an_address_is_released_is_reported(ground: Ground, proxy: Delaying) -> None:
    scene = Scene(ground, proxy, BY_ID["stuck_claim"])
    held = scene.hold()
    with scene.sidecar() as sidecar:
        held.wait_taken()
        _comes(scene.stage)
        assert held.pass_on() == 200
        sidecar.wait_for("verified")
        assert sidecar.events() == ["intended", "in_use", "done", "verified"]
        why = sidecar.entries()[1].why
        assert f"was released while in use: Pod {scene.namespace}/came refers to it" in why
        wait_until(lambda: sidecar.value("kubevirt_steward_repair_in_use") == 1.0, 20, "the metric has it")
        assert 'event="released address in use"' in sidecar.log.read_text("utf-8")
    found = [each for each in ground.client.list(EVENTS, scene.namespace)["items"] if each["reason"] == "ReleasedInUse"]
    assert [(each["type"], "The released address is in use" in each["message"]) for each in found] == [
        ("Warning", True)
    ]
    assert ground.client.find(IPAM_CLAIMS, scene.namespace, scene.name) is None


def _comes(stage: Stage) -> None:
    networks = '[{"name": "blue", "ipam-claim-reference": "db.blue"}]'
    meta = {"namespace": stage.namespace, "name": "came", "annotations": {"k8s.v1.cni.cncf.io/networks": networks}}
    spec = {"containers": [{"name": "c", "image": "c"}], "automountServiceAccountToken": False}
    stage.client.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def test_an_address_is_released_among_many_networks_that_have_it_too(ground: Ground, proxy: Delaying) -> None:
    """As user-defined networks are made: each its own, of one subnet."""
    scene = Scene(ground, proxy, BY_ID["stuck_claim"])
    for number in range(14):
        space = f"{scene.namespace}-{number}"
        scene.stage.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        scene.stage.nad("red", space, network=f"red-{space}")
        scene.stage.client.make(fleet.launcher_pod(space, "web", {f"{space}/red": "web.red"}, ("10.0.0.5/24",)))
    with scene.sidecar() as sidecar:
        sidecar.wait_for("verified")
        assert sidecar.events() == ["intended", "done", "verified"]
        assert sidecar.value("kubevirt_steward_repair_in_use") == sidecar.value("kubevirt_steward_repair_unseen") == 0.0
    scene.assert_written_once()
    assert ground.client.find(IPAM_CLAIMS, scene.namespace, scene.name) is None
