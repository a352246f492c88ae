"""Somebody else who takes each repair back: after the third time it is left alone, until a person resumes it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from reconcile.plan.annotations import PAUSED
from tests.cluster.client import ApiError, Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import FAULTS, Fault, settings
from tests.cluster.repair_ground import Ground, ground_of
from tests.cluster.resources import VMS
from tests.cluster.sidecar import Sidecar, steward
from tests.cluster.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

pytestmark = pytest.mark.long

RIVAL = "acme-operator"
BY_ID = {each.id: each for each in FAULTS}
Revert = Callable[[Object], Object | None]


@pytest.fixture(scope="module")
def ground(module_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(module_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


@contextmanager
def operator(client: Client, fault: Fault, stage: Stage, revert: Revert) -> Iterator[None]:
    """Looks at the object again and again, and writes what `revert` says it should be, as a merge patch."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.1):
            now = client.find(fault.resource, stage.namespace, fault.name(stage))
            if now is not None and (patch := revert(now)) is not None:
                path = fault.resource.path(stage.namespace, fault.name(stage))
                with contextlib.suppress(ApiError):  # somebody else wrote; it looks again
                    kind = "application/merge-patch+json"
                    client.connection.request("PATCH", path, patch, query={"fieldManager": RIVAL}, content_type=kind)

    thread = threading.Thread(target=work, name=RIVAL)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def no_finalizer(now: Object) -> Object | None:
    """With a label of its own, for who takes a field away owns nothing by it."""
    if not now["metadata"].get("finalizers"):
        return None
    count = str(int(now["metadata"]["labels"].get("acme.io/synced", "0")) + 1)
    return {"metadata": {"finalizers": None, "labels": {"acme.io/synced": count}}}


def uuid_of(client: Client, stage: Stage) -> Revert:
    """The UUID that the other VM has."""
    wanted = client.get(VMS, stage.namespace, "db")["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"]

    def revert(now: Object) -> Object | None:
        if now["spec"]["template"]["spec"]["domain"]["firmware"].get("uuid") == wanted:
            return None
        return {"spec": {"template": {"spec": {"domain": {"firmware": {"uuid": wanted}}}}}}

    return revert


def blocked(sidecar: Sidecar, fault: Fault) -> list[Object]:
    own = (each for each in sidecar.plans() if each["remediation"] == fault.remediation)
    return [gate for each in own for gate in each.get("blocked", ())]


@pytest.mark.parametrize("fault", [BY_ID["unprotected_claim"], BY_ID["twins"]], ids=str)
def test_three_returns_pause_it_for_good_and_a_person_resumes_it(ground: Ground, fault: Fault) -> None:
    stage = ground.stage()
    namespace = stage.namespace
    fault.seed(stage)
    name = fault.name(stage)
    ground.wait_found(namespace, fault.reason)
    auto = settings({(fault.remediation, namespace): "auto"}, verifyAfter="1s")
    rival = ground.server.client()
    revert = no_finalizer if fault.id == "unprotected_claim" else uuid_of(rival, stage)
    write = (fault.verb, fault.resource.plural, name)
    kind = (fault.target(stage) or {})["kind"]

    with operator(rival, fault, stage, revert):
        with ground.sidecar(namespace, auto) as sidecar:
            sidecar.wait_for("paused")
            sidecar.runs_again(3)
            assert sidecar.events() == [*(["intended", "done", "returned"] * 3), "paused"]
            paused = sidecar.entries()[-1]
            assert (paused.scope, paused.why) == (f"{kind} {namespace}/{name}", f"{RIVAL} reverted it")
            gates = {each["gate"]: each["why"] for each in blocked(sidecar, fault)}
            assert RIVAL in gates["edit_war"]
            assert sidecar.value("kubevirt_steward_repair_edit_wars") == 1
            wait_until(lambda: ground.writes(namespace) == [write] * 4, 10, "three repairs, and the pause")
            notes = (fault.target(stage) or {})["metadata"]["annotations"]
            assert RIVAL in notes[PAUSED]
        with ground.sidecar(namespace, auto) as sidecar:
            wait_until(lambda: blocked(sidecar, fault), 40, "it is held back after a restart as well")
            sidecar.runs_again(3)
            assert "edit_war" in {each["gate"] for each in blocked(sidecar, fault)}
            assert sidecar.events().count("intended") == 3

    with ground.sidecar(namespace, auto) as sidecar:
        own = ("--kubeconfig", str(ground.server.kubeconfig("admin")), "--config", str(sidecar.config))
        done = steward("reconcile", "resume", kind, f"{namespace}/{name}", *own)
        assert done.returncode == 0, done.stderr
        sidecar.wait_for("verified")
        assert sidecar.events()[-4:] == ["resumed", "intended", "done", "verified"]
        ground.wait_found(namespace, fault.reason, there=False)
        assert sidecar.value("kubevirt_steward_repair_edit_wars") == 0
