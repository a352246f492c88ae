"""What is wrong with addresses in the sample fleet: one function per case."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from ..apiserver.resources import Obj
from .networks import BILLING, LAB, LEGACY, NODES, SHOP, TELECOM, SampleNetwork, addresses
from .samples import SampleVM, claim, complete, disk, plain_pod, virtual_machine, while_running
from .trouble import Case, deleting, minutes, trouble


def faulty(now: datetime) -> list[Case]:
    return [case(now) for case in CASES]


def orphaned(now: datetime, network: SampleNetwork, name: str, host: int) -> Case:
    left = claim(_sample(now, network, name, host, age=timedelta(days=9)))
    wrong = "its VM was deleted, but the claim keeps the address"
    return Case([left], [trouble(left, wrong)])


def stuck(now: datetime, network: SampleNetwork, name: str, host: int, ago: timedelta) -> Case:
    left = deleting(claim(_sample(now, network, name, host)), now - ago)
    wrong = f"deleted {minutes(ago)} ago, but its finalizer remains"
    return Case([left], [trouble(left, wrong)])


def blocks_its_vm(now: datetime) -> Case:
    sample = _sample(now, TELECOM, "sip-proxy-old", 110)
    since = now - timedelta(minutes=40)
    vm = deleting(virtual_machine(sample), since, ["foregroundDeletion"])
    vm["status"]["printableStatus"] = "Terminating"
    left = deleting(claim(sample), since)
    wrong = "blocks the deletion of its VM: its finalizer remains"
    return Case([vm, disk(sample), left], [trouble(left, wrong)])


def vmi_still_there(now: datetime) -> Case:
    sample = _sample(now, LAB, "trainer-9", 111, node=NODES[1])
    since = now - timedelta(minutes=14)
    vm, volume, left, vmi, *rest = complete(sample)
    vm = deleting(vm, since, [*vm["metadata"]["finalizers"], "foregroundDeletion"])
    vm["status"]["printableStatus"] = "Terminating"
    vmi, left = deleting(vmi, since), deleting(left, since)
    wrong = "in deletion with its VM, which still waits for its VMI"
    return Case([vm, volume, left, vmi, *rest], [trouble(left, wrong)])


def recreated(now: datetime, name: str, host: int, node: str) -> Case:
    old = _sample(now, BILLING, name, host)
    new = replace(old, node=node, generation="again", age=timedelta(hours=3), up=timedelta(hours=2))
    left = deleting(claim(old), now - timedelta(hours=3, minutes=10))
    objects = [virtual_machine(new), disk(new), left, *(while_running(new) if new.running else ())]
    use = "the new one uses it" if new.running else "the new one gets none"
    wrong = f"belongs to a deleted VM of its name; {use}"
    return Case(objects, [trouble(left, wrong)])


def ownerless_and_left(now: datetime) -> Case:
    left = claim(_sample(now, LAB, "import-5", 113))
    del left["metadata"]["ownerReferences"]
    wrong = "has no owner for garbage collection, and its VM was deleted"
    return Case([left], [trouble(left, wrong)])


def ownerless_in_use(now: datetime) -> Case:
    sample = _sample(now, SHOP, "search-9", 114, node=NODES[2])
    objects, left = _with_claim(sample)
    del left["metadata"]["ownerReferences"]
    wrong = "lost its owner; the address will outlive its running VM"
    return Case(objects, [trouble(left, wrong)])


def cloned(now: datetime) -> Case:
    first = _sample(now, TELECOM, "hlr-1", 115, node=NODES[3])
    objects, original = _with_claim(first)
    others, copy = _with_claim(replace(first, name="hlr-1-clone", node="", age=timedelta(days=2)))
    wrong = "has the addresses of {}"
    troubles = [
        trouble(original, wrong.format("hlr-1-clone.sig, whose VM is stopped")),
        trouble(copy, wrong.format("hlr-1.sig, whose VM runs")),
    ]
    return Case([*objects, *others], troubles)


def held_by_a_pod(now: datetime) -> Case:
    sample = _sample(now, SHOP, "promo-9", 116)
    objects, left = _with_claim(sample)
    wrong = "its VM is stopped, but pod debug-shell holds its address"
    return Case([*objects, plain_pod(sample, "debug-shell", NODES[0])], [trouble(left, wrong)])


def of_an_earlier_network(now: datetime) -> Case:
    objects, left = _with_claim(_sample(now, LAB, "archive-2", 118))
    left["status"]["ips"] = ["10.99.0.18/24"]
    wrong = "is outside of the network: ovnkube-control-plane fails at startup"
    return Case(objects, [trouble(left, wrong)])


def unprotected(now: datetime) -> Case:
    objects, bare = _with_claim(_sample(now, SHOP, "cache-7", 119))
    del bare["metadata"]["finalizers"]
    wrong = "lost its finalizer: if it is deleted, the VM loses its address"
    return Case(objects, [trouble(bare, wrong)])


def misshapen(now: datetime) -> Case:
    objects, left = _with_claim(sample := _sample(now, LEGACY, "old-import", 10))
    left["status"] = {"ips": sample.addresses[0]}
    wrong = "its status.ips is text: the claims of legacy can't be evaluated"
    return Case(objects, [trouble(left, wrong)])


CASES: tuple[Callable[[datetime], Case], ...] = (
    partial(orphaned, network=SHOP, name="checkout-canary", host=100),
    partial(orphaned, network=LAB, name="scratch-7", host=101),
    partial(stuck, network=BILLING, name="invoice-batch-3", host=102, ago=timedelta(minutes=25)),
    partial(stuck, network=LAB, name="load-gen-2", host=103, ago=timedelta(hours=2)),
    blocks_its_vm,
    vmi_still_there,
    partial(recreated, name="ledger-db", host=112, node=NODES[0]),
    partial(recreated, name="report-writer", host=117, node=""),
    ownerless_and_left,
    ownerless_in_use,
    cloned,
    held_by_a_pod,
    of_an_earlier_network,
    unprotected,
    misshapen,
)


def _with_claim(sample: SampleVM) -> tuple[list[Obj], Obj]:
    """All of a VM, and its claim among that."""
    objects = complete(sample)
    return objects, objects[2]


def _sample(
    now: datetime, network: SampleNetwork, name: str, host: int, *, node: str = "", age: timedelta = timedelta(days=30)
) -> SampleVM:
    return SampleVM(
        namespace=network.namespace,
        name=name,
        now=now,
        node=node,
        number=host,
        network=network,
        addresses=addresses(network, host),
        age=age,
    )
