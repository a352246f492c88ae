"""Several plans by one command, on a real API server: in their order, with the gates of one, until one fails."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconcile.plan.annotations import APPROVED_PLAN, PAUSED
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import STEADY, Exporter, grant
from tests.cluster.resources import EVENTS, IPAM_CLAIMS
from tests.cluster.sidecar import steward
from tests.cluster.stage import Stage
from tests.cluster.test_gated_commands import APPROVE, REPAIR, Desk
from tests.cluster.test_repairs import KUBEVIRT
from tests.manifests import Object
from tests.waiting import wait_until

from .shell import OnTerminal

pytestmark = pytest.mark.long

FINALIZER = "kubevirt.io/persistent-ipam"
NAMES = ("app", "db", "web")


@pytest.fixture(scope="module")
def cluster(module_api_server: MakeApiServer) -> ApiServer:
    server = module_api_server()
    admin = server.client()
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
    admin.make(KUBEVIRT)
    grant(admin)
    return server


@pytest.fixture(scope="module")
def exporter(cluster: ApiServer) -> Iterator[Exporter]:
    with Exporter(cluster.kubeconfig("steward-exporter"), STEADY, graces=0) as made:
        made.wait_ready()
        yield made


@pytest.fixture
def desk(cluster: ApiServer, exporter: Exporter, tmp_path: Path) -> Desk:
    """A namespace with three IPAMClaims that lost their finalizers."""
    admin, namespace = cluster.client(), f"several-{uuid.uuid4().hex[:8]}"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    stage = Stage(admin, namespace)
    stage.nad()
    for at, name in enumerate(NAMES):
        vm = admin.create(fleet.vm(namespace, name, {"blue": "blue"}))
        claim = fleet.claim(vm, stage.network, f"10.0.0.{5 + at}/24")
        claim["metadata"].pop("finalizers")
        admin.make(claim)
    wait_until(lambda: len(exporter.found(namespace)) >= len(NAMES), 30, "the findings are there")
    return Desk(admin, cluster.kubeconfig("admin"), exporter.url, namespace, tmp_path)


def apply(desk: Desk, *more: str, budgets: Object | None = None) -> tuple[int, str, str]:
    settings = {"budgets": {"fleetShare": 1, **(budgets or {})}}  # each VM may be touched
    done = desk.run("apply", "--remediation", REPAIR, "-n", desk.namespace, *more, settings=settings)
    return done.returncode, done.stdout, done.stderr


def asking(desk: Desk) -> OnTerminal:
    """`apply` on a terminal, which asks and waits."""
    file = desk.folder / "reconcile.yaml"
    settings = {"ledger": {"directory": str(desk.folder / "ledger")}, "budgets": {"fleetShare": 1}}
    file.write_text(json.dumps(settings), "utf-8")
    words = ["apply", "--remediation", REPAIR, "-n", desk.namespace, "--config", str(file), "--exporter", desk.url]
    return OnTerminal("reconcile", *words, "--kubeconfig", str(desk.kubeconfig))


def protected(desk: Desk) -> list[str]:
    """The VMs whose claims have their finalizer."""
    found = {name: desk.admin.get(IPAM_CLAIMS, desk.namespace, f"{name}.blue")["metadata"] for name in NAMES}
    return [name for name, meta in found.items() if FINALIZER in meta.get("finalizers", ())]


def events(desk: Desk) -> list[str]:
    items = desk.admin.list(EVENTS, desk.namespace)["items"]
    return sorted(each["involvedObject"]["name"] for each in items if each["reason"] == "Repaired")


def test_several_plans_are_shown_asked_for_once_and_carried_out_in_their_order(desk: Desk) -> None:
    code, out, err = apply(desk)
    assert (code, protected(desk)) == (1, [])  # nobody is there to say yes
    assert "stdin isn't a terminal" in err
    plans = re.findall(r"^  plan     ([0-9a-f]{16})$", out, re.MULTILINE)
    assert len(plans) == 3

    code, out, err = apply(desk, "--yes", "--limit", "2")
    assert (code, err) == (0, "")
    assert protected(desk) == ["app", "db"]
    assert "Not included: 1 not planned (--limit). To list them: steward reconcile plan" in out
    assert out.count("Done, attempt ") == 2
    assert out.endswith("2 of 2 plans were carried out.\n")
    assert events(desk) == ["app.blue", "db.blue"]
    listed = steward("reconcile", "ledger", "--ledger", str(desk.folder / "ledger")).stdout
    assert re.findall(rf"patch IPAMClaim {desk.namespace}/(\w+)", listed) == ["db", "app"]  # the newest first

    code, out, err = apply(desk, "--yes")
    assert (code, protected(desk)) == (0, list(NAMES))
    # The exporter sees the last write a moment later.
    wait_until(lambda: apply(desk, "--yes")[1] == "There is nothing to repair.\n", 30, "nothing is left")


@pytest.mark.parametrize(("budgets", "gate"), [({"run": 1}, "budget_run"), ({"namespaceHour": 1}, "budget_namespace")])
def test_a_used_budget_ends_it_and_what_was_not_done_is_named(desk: Desk, budgets: Object, gate: str) -> None:
    code, out, err = apply(desk, "--yes", budgets=budgets)
    assert (code, protected(desk)) == (1, ["app"])
    assert f"refused, {gate}: " in err
    assert "1 of 3 plans were carried out.\n" in out
    rest = out.partition("Not carried out:\n")[2]
    assert re.findall(rf"^  IPAMClaim {desk.namespace}/(\w+).blue, plan ", rest, re.MULTILINE) == ["db", "web"]


def test_what_is_paused_between_ends_it(desk: Desk) -> None:
    desk.admin.patch(IPAM_CLAIMS, desk.namespace, "db.blue", {"metadata": {"annotations": {PAUSED: "freeze"}}})
    code, out, err = apply(desk, "--yes")
    assert (code, protected(desk)) == (1, ["app"])
    assert "refused, object_paused: " in err
    assert out.count(", plan ") == 2


def test_what_changes_while_somebody_thinks_is_not_written(desk: Desk) -> None:
    """One that nothing is left to do for is passed over; one that is another object ends it."""
    claim = desk.admin.get(IPAM_CLAIMS, desk.namespace, "db.blue")
    with asking(desk) as command:
        command.read_until("until one fails? [y/N] ")
        desk.admin.patch(IPAM_CLAIMS, desk.namespace, "app.blue", {"metadata": {"finalizers": [FINALIZER]}})
        desk.admin.remove(IPAM_CLAIMS, desk.namespace, "db.blue")
        for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
            claim["metadata"].pop(field, None)
        desk.admin.create(claim)
        code, out, err = command.answered("y")
    assert (code, protected(desk)) == (1, ["app"])
    assert "nothing left to do: " in err
    assert "refused, same_object: " in err
    assert "0 of 3 plans were carried out.\n" in out
    rest = out.partition("Not carried out:\n")[2]
    assert re.findall(rf"^  IPAMClaim {desk.namespace}/(\w+).blue, plan ", rest, re.MULTILINE) == ["db", "web"]
    assert events(desk) == []


def test_a_lost_ledger_writes_nothing(desk: Desk) -> None:
    ledger = desk.folder / "ledger"
    assert apply(desk, "--yes", "--limit", "1")[0] == 0
    file = next(ledger.glob("*.jsonl"))
    file.write_bytes(file.read_bytes().replace(b'"mode":"apply"', b'"mode":"other"'))
    code, _, err = apply(desk, "--yes")
    assert code == 2
    assert "altered" in err
    assert protected(desk) == ["app"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--remediation", REPAIR), "and -n NAMESPACE or -A"),
        (("-A",), "name a FINGERPRINT. For several plans"),
        (("--remediation", "repair_ipam_claims_metadata", "-A"), f"Did you mean {REPAIR}?"),
        (("--remediation", REPAIR, "-n", ""), "the namespace is empty"),
        (("--remediation", REPAIR, "-A", "--plan", "x"), "--plan is for one finding"),
        (("abc", "-A"), "Omit FINGERPRINT"),
    ],
)
def test_what_is_asked_for_by_halves_is_a_mistake(desk: Desk, words: tuple[str, ...], says: str) -> None:
    done = desk.run("apply", *words, "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert protected(desk) == []


def cause_of(desk: Desk, exporter: Exporter) -> str:
    (cause,) = {each["cause"] for each in exporter.report(f"?namespace={desk.namespace}")["findings"]}
    return str(cause)


def approvals(desk: Desk) -> dict[str, str]:
    found = {name: desk.admin.get(IPAM_CLAIMS, desk.namespace, f"{name}.blue")["metadata"] for name in NAMES}
    return {
        name: meta["annotations"][APPROVED_PLAN]
        for name, meta in found.items()
        if APPROVED_PLAN in meta.get("annotations", {})
    }


def test_a_cause_is_approved_object_by_object_up_to_the_limit(desk: Desk, exporter: Exporter) -> None:
    cause = cause_of(desk, exporter)
    asked = desk.run("approve", cause, "--limit", "2", settings=APPROVE)
    assert (asked.returncode, approvals(desk)) == (1, {})
    assert "stdin isn't a terminal" in asked.stderr

    done = desk.run("approve", cause, "--limit", "2", "--yes", settings=APPROVE)
    assert (done.returncode, done.stderr) == (0, "")
    first = approvals(desk)
    assert list(first) == ["app", "db"]
    hashes = re.findall(r"^  plan     ([0-9a-f]{16})$", done.stdout, re.MULTILINE)
    assert [text.partition(" ")[0] for text in first.values()] == hashes
    assert hashes[0] != hashes[1]
    for name in first:
        assert f"IPAMClaim {desk.namespace}/{name}.blue has annotation {APPROVED_PLAN}: " in done.stdout
    assert "Not included: 1 not planned (--limit)." in done.stdout
    assert "2 of 2 are approved." in done.stdout

    rest = desk.run("approve", cause, "--limit", "2", "--yes", settings=APPROVE)
    assert rest.returncode == 0, rest.stderr
    assert "Not included: 2 approved already." in rest.stdout
    assert {name: approvals(desk)[name] for name in first} == first
    assert list(approvals(desk)) == list(NAMES)
    assert protected(desk) == []


def test_more_objects_than_anybody_looks_at_are_not_approved_at_once(desk: Desk, exporter: Exporter) -> None:
    for limit in ("0", "101", "all"):
        done = desk.run("approve", cause_of(desk, exporter), "--limit", limit, "--yes")
        assert done.returncode == 2
        assert f"{limit!r} isn't a number from 1 to 100" in done.stderr
    unknown = desk.run("approve", "f" * 16, "--limit", "2", "--yes")
    assert unknown.returncode == 2
    assert f"no cause has ID {'f' * 16}" in unknown.stderr
    assert approvals(desk) == {}


def test_of_a_cause_what_is_paused_is_not_approved_and_named(desk: Desk, exporter: Exporter) -> None:
    desk.admin.patch(IPAM_CLAIMS, desk.namespace, "db.blue", {"metadata": {"annotations": {PAUSED: "freeze"}}})
    done = desk.run("approve", cause_of(desk, exporter), "--yes", settings=APPROVE)
    assert (done.returncode, list(approvals(desk))) == (1, ["app", "web"])
    assert f"IPAMClaim {desk.namespace}/db.blue: refused, object_paused: " in done.stderr
    assert "2 of 3 are approved." in done.stdout
