"""The Lease has how far the ledger goes: one that does not fit it is refused, and nothing is recorded in it."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.server import kubeconfig
from exporter.kube.errors import UnreachableError
from reconcile.carry_out.lease_record import PREFIX, NotLeadingError, WithheldError
from reconcile.carry_out.ledger_in_lease import LedgerInLease
from reconcile.ledger import Event, Ledger, LedgerError

from ....electing import Replicas, electing
from ....fakeapi.apiserver import FakeApiServer
from ....ledgers import of_an_older_version, opened, plan, rewrite

CLUSTER = "u1"


class System:
    """Answers for the namespace kube-system."""

    def __init__(self, *answers: str | Exception | None) -> None:
        self.answers = list(answers)

    async def served(self, _: Any) -> str:
        return "v1"

    async def get(self, _: Any, __: str, namespace: str, name: str) -> bytes | None:
        assert (namespace, name) == ("", "kube-system")
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer.encode() if answer is not None else None

    async def listed(self, *_: Any) -> list[Any]:
        raise AssertionError


def system(uid: str = CLUSTER) -> System:
    return System(f'{{"metadata": {{"uid": "{uid}"}}}}')


async def witnessing(ledger: Ledger) -> LedgerInLease:
    witness = LedgerInLease(ledger)
    await witness.identify(system())
    return witness


def repaired(ledger: Ledger, count: int = 1, mode: str = "auto") -> None:
    for at in range(count):
        attempt = ledger.append(Event.INTENDED, plan=plan(f"c{at}"), mode=mode, whole={"at": at}).attempt
        ledger.append(Event.DONE, attempt=attempt)


async def held(directory: Path, count: int = 3) -> dict[str, str]:
    """What the Lease has after so many repairs."""
    with opened(directory, max_bytes=2500) as ledger:
        witness = await witnessing(ledger)
        witness.travelling({})
        repaired(ledger, count)
        return travelled({}, witness)


def travelled(seen: dict[str, str], witness: LedgerInLease) -> dict[str, str]:
    """The Lease after one write of it."""
    found = {**seen, **witness.travelling(seen)}
    return {name: text for name, text in found.items() if text is not None}


@contextmanager
def refusing(directory: Path, witness: LedgerInLease, ledger: Ledger, seen: dict[str, str], why: str) -> Iterator[str]:
    before = {path.name: path.read_bytes() for path in directory.glob("*.jsonl")}
    with pytest.raises(WithheldError, match=why) as refused:
        witness.travelling(seen)
    with pytest.raises(LedgerError, match=why):
        ledger.append(Event.PAUSED)
    assert re.search(why, ledger.probe())
    assert {path.name: path.read_bytes() for path in directory.glob("*.jsonl")} == before
    yield str(refused.value)


async def test_a_first_start_is_normal_and_each_write_of_the_lease_has_the_last_entry(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        witness = await witnessing(ledger)
        lease = travelled({}, witness)
        assert lease == {"ledger": f"{ledger.whose.ledger} 0 -"}
        repaired(ledger)
        lease = travelled(lease, witness)
        name, seq, total = lease["ledger"].split()
        assert (name, int(seq), total) == (ledger.whose.ledger, 2, list(ledger.entries())[-1].sum)
        repaired(ledger)
        assert travelled(lease, witness)["ledger"].split()[1] == "4"
    with opened(tmp_path) as ledger:
        witness = await witnessing(ledger)
        assert travelled(lease, witness)["ledger"].split()[1] == "4"  # what the Lease has is one of ours


async def test_whoever_is_killed_with_the_first_attempt_in_the_ledger_goes_on(tmp_path: Path) -> None:
    """Its Lease was taken before, and says that the ledger had no entry."""
    with opened(tmp_path) as ledger:
        lease = travelled({}, await witnessing(ledger))
        ledger.append(Event.INTENDED, plan=plan(), mode="auto")
    with opened(tmp_path) as ledger:
        assert travelled(lease, await witnessing(ledger))["ledger"].split()[1] == "1"


async def test_an_empty_ledger_may_be_replaced_by_another_one(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as ledger:
        lease = travelled({}, await witnessing(ledger))
    with opened(tmp_path / "two") as ledger:
        witness = await witnessing(ledger)
        repaired(ledger)
        with refusing(tmp_path / "two", witness, ledger, lease, "but the Lease was held with ledger"):
            pass
    with opened(tmp_path / "three") as ledger:
        assert travelled(lease, await witnessing(ledger))["ledger"] == f"{ledger.whose.ledger} 0 -"


def older(directory: Path, lease: dict[str, str]) -> str:
    del lease
    for path in sorted(directory.glob("*.jsonl"))[1:]:
        path.unlink()
    (directory / "ledger.json").unlink()
    return "it is an older copy, or lost its end"


def without_its_end(directory: Path, lease: dict[str, str]) -> str:
    *_, last = sorted(directory.glob("*.jsonl"))
    *lines, _ = last.read_bytes().splitlines(keepends=True)
    assert lines
    last.write_bytes(b"".join(lines))
    seq = int(lease["ledger"].split()[1])
    return f"ends with entry {seq - 1}, but the Lease was held with it up to entry {seq}"


def rewritten(directory: Path, lease: dict[str, str]) -> str:
    """By somebody who makes all checksums anew."""
    rewrite(directory, lambda entry: entry.update(by="nobody") if entry["seq"] == 2 else None)
    return f"entry {lease['ledger'].split()[1]} of the ledger in .* was rewritten since"


def stripped(directory: Path, lease: dict[str, str]) -> str:
    """It claims to be of a version that stated nothing."""
    of_an_older_version(directory)
    return f"but the Lease was held with ledger {lease['ledger'].split()[0]}"


def begun_anew(directory: Path, lease: dict[str, str]) -> str:
    for path in directory.glob("ledger*"):
        path.unlink()
    return f"is empty, but the Lease was held with ledger {lease['ledger'].split()[0]} up to entry"


def of_somebody_else(directory: Path, lease: dict[str, str]) -> str:
    begun_anew(directory, lease)
    with opened(directory, cluster=CLUSTER) as ledger:
        repaired(ledger, 20)
    return f"but the Lease was held with ledger {lease['ledger'].split()[0]}"


def lease_deleted(directory: Path, lease: dict[str, str]) -> str:
    del directory
    lease.clear()
    return "the Lease no longer names a ledger: entries might be missing"


def lease_edited(directory: Path, lease: dict[str, str]) -> str:
    del directory
    lease["ledger"] = "what somebody typed"
    return "annotation steward.kubevirt-steward.io/ledger of the Lease can't be read"


FAULTS = [older, without_its_end, rewritten, stripped, begun_anew, of_somebody_else, lease_deleted, lease_edited]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.__name__)
async def test_a_ledger_that_does_not_fit_is_refused_until_a_person_accepts_it(tmp_path: Path, fault: Any) -> None:
    lease = await held(tmp_path)
    why = fault(tmp_path, lease)
    with opened(tmp_path, max_bytes=2500) as ledger:
        witness = await witnessing(ledger)
        count = len(list(ledger.entries()))
        with refusing(tmp_path, witness, ledger, lease, why) as sentence:
            (word,) = re.findall(r"accept this one as it is: steward reconcile ledger --accept (\S+)$", sentence)
        other = f"{word[:-1]}{'0' if word[-1] != '0' else '1'}"
        for mistaken in ("yes", other, f"9{word}"):
            with refusing(tmp_path, witness, ledger, {**lease, "accept-ledger": mistaken}, why):
                pass

        lease = travelled({**lease, "accept-ledger": f"{word} by ann"}, witness)
        assert set(lease) == {"ledger"}
        accepted = list(ledger.entries())[count]
        assert (accepted.event, accepted.by) == (Event.ACCEPTED, "ann")
        assert re.search(why, accepted.why)
        assert lease["ledger"].split()[1:] == [str(accepted.seq), accepted.sum]
        repaired(ledger)
        lease = travelled(lease, witness)
        assert ledger.verify() == []
    with opened(tmp_path) as ledger:
        travelled(lease, await witnessing(ledger))


async def test_what_was_accepted_and_not_yet_in_the_lease_is_accepted_again(tmp_path: Path) -> None:
    """It may have been killed in between, or somebody else wrote to the Lease."""
    lease = await held(tmp_path)
    without_its_end(tmp_path, lease)
    with opened(tmp_path) as ledger:
        witness = await witnessing(ledger)
        with pytest.raises(WithheldError) as refused:
            witness.travelling(lease)
        lease["accept-ledger"] = str(refused.value).split()[-1]
        witness.travelling(lease)
        witness.travelling(lease)
    with opened(tmp_path) as ledger:
        assert set(travelled(lease, await witnessing(ledger))) == {"ledger"}


async def test_a_lease_that_is_deleted_under_a_leader_gets_it_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        witness = await witnessing(ledger)
        travelled({}, witness)
        repaired(ledger)
        assert travelled({}, witness)["ledger"].split()[1] == "2"


async def test_what_a_person_wrote_by_hand_needs_no_lease(tmp_path: Path) -> None:
    with opened(tmp_path, cluster=CLUSTER) as ledger:
        repaired(ledger, mode="apply")
    with opened(tmp_path) as ledger:
        assert travelled({}, await witnessing(ledger))["ledger"].split()[1] == "2"


async def test_nothing_is_recorded_before_the_cluster_is_known(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        witness = LedgerInLease(ledger)
        reads = System(UnreachableError("no connection"), None, '{"metadata": {"uid": "u1"}}')
        for why in ("no connection", "namespace kube-system.* does not exist"):
            with refusing(tmp_path, witness, ledger, {}, "the UID of the cluster"):
                pass
            await witness.identify(reads, once=True)
            assert re.search(why, ledger.probe())
        await witness.identify(reads, once=True)
        repaired(ledger)
        assert ledger.whose.cluster == "u1"


async def test_a_ledger_of_another_cluster_is_refused_whatever_the_lease_says(tmp_path: Path) -> None:
    lease = await held(tmp_path)
    with opened(tmp_path) as ledger:
        witness = LedgerInLease(ledger)
        await witness.identify(system("u2"), once=True)
        for seen in (lease, {}, {**lease, "accept-ledger": "1-0"}):
            with refusing(tmp_path, witness, ledger, seen, "belongs to cluster u1 .UID of namespace"):
                pass


# With an election.


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    server = FakeApiServer()
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "steward"}})
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def replicas(server: FakeApiServer, tmp_path: Path) -> AsyncIterator[Replicas]:
    async with electing(kubeconfig(tmp_path, server.url), duration=15.0, renew=1.0, margin=2.0) as replicas:
        yield replicas


def published(server: FakeApiServer) -> int:
    return int(server.get("leases", "steward", "steward")["metadata"]["annotations"][f"{PREFIX}ledger"].split()[1])


async def test_the_lease_has_what_is_intended_before_the_fence_lets_it_through(
    server: FakeApiServer, replicas: Replicas, tmp_path: Path
) -> None:
    with opened(tmp_path / "ledger") as ledger:
        replica = replicas.start("a", carry=(await witnessing(ledger)).travelling)
        await replicas.one_leads()
        for at in range(3):
            attempt = ledger.append(Event.INTENDED, plan=plan(f"c{at}"), mode="auto").attempt
            await replica.election.assure(5.0)
            assert published(server) == ledger.head.seq
            ledger.append(Event.DONE, attempt=attempt)
        await replica.end()
        assert published(server) == ledger.head.seq


async def test_a_copy_of_the_ledger_that_went_on_elsewhere_ends_the_writes_of_this_one(
    server: FakeApiServer, replicas: Replicas, tmp_path: Path
) -> None:
    with opened(tmp_path / "ledger", cluster=CLUSTER) as ledger:
        repaired(ledger, mode="apply")
    shutil.copytree(tmp_path / "ledger", tmp_path / "copy")
    with opened(tmp_path / "ledger") as ledger, opened(tmp_path / "copy") as copy:
        first = replicas.start("a", carry=(await witnessing(ledger)).travelling)
        await replicas.one_leads()
        repaired(ledger)
        await first.election.assure(5.0)
        await first.end()
        repaired(copy, 5, mode="approve")
        second = replicas.start("b", carry=(await witnessing(copy)).travelling)
        await second.until(lambda election: "was rewritten since" in election.problem, "it is refused")
        with pytest.raises(NotLeadingError, match="was rewritten since"):
            await second.election.assure(5.0)
        assert not second.election.leading
        assert published(server) == 4
