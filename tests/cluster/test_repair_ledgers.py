"""The sidecar and a ledger that is not the one that it left: nothing is written until a person accepts it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconcile.ledger import Event, Ledger
from reconcile.plan.annotations import PREFIX
from tests.cluster import fleet
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import FAULTS, settings
from tests.cluster.repair_ground import ACCOUNT, Ground, ground_of
from tests.cluster.resources import LEASES, NAMESPACES
from tests.cluster.sidecar import Sidecar, steward
from tests.cluster.stage import Stage
from tests.ledgers import rewrite
from tests.waiting import wait_until

pytestmark = pytest.mark.long

FAULT = next(each for each in FAULTS if each.id == "unprotected_claim")
WRITABLE = "kubevirt_steward_repair_ledger_writable"
LEADING = "kubevirt_steward_repair_leading"


@pytest.fixture(scope="module")
def ground(module_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(module_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


def sidecar_of(ground: Ground, namespace: str) -> Sidecar:
    return ground.sidecar(namespace, settings({(FAULT.remediation, namespace): "auto"}, verifyAfter="1s"))


def fault(stage: Stage, vm: str) -> None:
    """Another of the same kind, once the first was seeded."""
    owner = stage.client.create(fleet.vm(stage.namespace, vm, {"blue": "blue"}))
    claim = fleet.claim(owner, stage.network, f"10.0.0.{6 + len(vm)}/24")
    del claim["metadata"]["finalizers"]
    stage.client.make(claim)


def repaired(ground: Ground, stage: Stage, count: int = 1) -> Path:
    """The ledger of a sidecar that repaired so much, ended."""
    with sidecar_of(ground, stage.namespace) as sidecar:
        sidecar.wait_for("verified", count)
    return sidecar.directory


def logged(sidecar: Sidecar, pattern: str) -> str:
    def found() -> re.Match[str] | None:
        return re.search(pattern, sidecar.log.read_text("utf-8"))

    wait_until(lambda: found() is not None, 60, f"its log has {pattern}", every=0.1)
    return str(found()[0])  # type: ignore[index]


def person(ground: Ground, sidecar: Sidecar, *words: str) -> tuple[int, str]:
    at = ("--config", str(sidecar.config), "--kubeconfig", str(ground.server.kubeconfig("admin")))
    done = steward("reconcile", *words, *at)
    return done.returncode, done.stdout + done.stderr


def test_the_lease_has_what_is_intended_before_the_write_arrives(ground: Ground) -> None:
    stage = ground.stage()
    FAULT.seed(stage)
    directory = repaired(ground, stage)
    intended = next(Ledger.read(directory))
    heads: list[str] = []
    for each in ground.sent(stage.namespace):
        if each["objectRef"]["resource"] == "ipamclaims":
            break
        if each["objectRef"]["resource"] == "leases":
            heads.append(each["requestObject"]["metadata"].get("annotations", {}).get(f"{PREFIX}ledger", ""))
    with Ledger.open(directory, clock=lambda: 0.0) as ledger:
        assert heads[-1] == f"{ledger.whose.ledger} {intended.seq} {intended.sum}"
        assert ledger.whose.cluster == stage.client.get(NAMESPACES, None, "kube-system")["metadata"]["uid"]
        last = ledger.head
    annotations = stage.client.get(LEASES, stage.namespace, "steward")["metadata"]["annotations"]
    assert annotations[f"{PREFIX}ledger"] == f"{last.ledger} {last.seq} {last.sum}"  # once it was given up


def older(directory: Path, copy: Path) -> str:
    shutil.rmtree(directory)
    shutil.copytree(copy, directory)
    return "it is an older copy, or lost its end"


def rewritten(directory: Path, copy: Path) -> str:
    del copy
    rewrite(directory, lambda entry: entry.update(by="nobody") if entry["seq"] == 1 else None)
    return "was rewritten since"


def lost(directory: Path, copy: Path) -> str:
    del copy
    shutil.rmtree(directory)
    directory.mkdir()
    return "is empty, but the Lease was held with ledger"


@pytest.mark.parametrize("loss", [older, rewritten, lost], ids=lambda each: each.__name__)
def test_a_ledger_that_does_not_fit_the_lease_writes_nothing_until_it_is_accepted(
    ground: Ground, tmp_path: Path, loss: type
) -> None:
    stage = ground.stage()
    namespace = stage.namespace
    FAULT.seed(stage)
    directory = repaired(ground, stage)
    shutil.copytree(directory, tmp_path / "copy")
    fault(stage, "web")
    repaired(ground, stage, 2)
    why = loss(directory, tmp_path / "copy")
    fault(stage, "queue")
    with sidecar_of(ground, namespace) as sidecar:
        word = logged(sidecar, f"{why}.* steward reconcile ledger --accept [0-9a-f-]+").split()[-1]
        wait_until(lambda: sidecar.value(WRITABLE) == 0.0, 30, "it says that it can't be written")
        assert sidecar.value(LEADING) == 0.0
        before = sidecar.events()
        code, said = person(ground, sidecar, "ledger", "--verify")
        assert (code, why in said) == (1, True), said
        assert [name for _, _, name in ground.writes(namespace)] == ["db.blue", "web.blue"]

        code, said = person(ground, sidecar, "ledger", "--accept", word)
        assert code == 0, said
        sidecar.wait_for("verified", before.count("verified") + 1)
        accepted = sidecar.entries()[len(before)]
        assert accepted.event is Event.ACCEPTED
        assert accepted.by
        assert why in accepted.why
        assert [name for _, _, name in ground.writes(namespace)] == ["db.blue", "web.blue", "queue.blue"]
        assert sidecar.value(WRITABLE) == 1.0
        code, said = person(ground, sidecar, "ledger", "--verify")
        assert code == 0, said
        assert re.search(r"unbroken from entry 1 to entry \d+, of ledger \w+ of cluster .* It is of this cluster", said)
    assert f"{PREFIX}accept-ledger" not in stage.client.get(LEASES, namespace, "steward")["metadata"]["annotations"]


def test_a_ledger_of_another_cluster_is_refused_by_the_sidecar_and_by_a_person(ground: Ground) -> None:
    stage = ground.stage()
    namespace = stage.namespace
    FAULT.seed(stage)
    ground.wait_found(namespace, FAULT.reason)
    sidecar = sidecar_of(ground, namespace)
    with Ledger.open(sidecar.directory, clock=lambda: 0.0, cluster="another") as ledger:
        ledger.append(Event.PAUSED, scope="shop")
    refusal = "belongs to cluster another .UID of namespace kube-system., and this is cluster [0-9a-f-]+. Set"
    with sidecar:
        logged(sidecar, refusal)
        wait_until(lambda: sidecar.value(WRITABLE) == 0.0, 30, "it says that it can't be written")
        assert sidecar.value(LEADING) == 0.0
        assert sidecar.events() == ["paused"]
    found = ground.exporter.report(f"?namespace={namespace}")["findings"]
    fingerprint = next(each["fingerprint"] for each in found if each["reason"] == FAULT.reason)
    code, said = person(ground, sidecar, "apply", fingerprint, "--yes", "--exporter", ground.exporter.url)
    assert code == 2
    assert re.search(refusal, said), said
    assert ground.writes(namespace) == []
    assert ACCOUNT not in said
    assert sidecar.events() == ["paused"]
