"""OVN-Kubernetes in an interleaving: the addresses of a network, and which pods have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from demo.apiserver.errors import ApiError
from demo.fleet.pods import attached

from .world import Change, Obj, World, meta_of, with_meta

__all__ = ["LINK", "NAD", "Network"]

LINK = 2.0  # seconds
NAD = "ns/blue"


@dataclass
class Network:
    """`pool` are the addresses that it has given out, `held` those of pods by their UIDs.

    With `writes_owner` it writes the pod into the IPAMClaim's status whenever one starts to use it, as its newest
    version does; the others write nothing to an IPAMClaim that has its addresses. `released` is called with each
    address that goes back to the pool and what has removed its IPAMClaim.
    """

    world: World
    writes_owner: bool = False
    pool: set[str] = field(default_factory=set)
    held: dict[str, str] = field(default_factory=dict)
    released: Callable[[str, Change], None] = lambda *_: None
    _removed: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world.watches.append(self._watch_network)

    def _watch_network(self, change: Change) -> None:
        if change.key[0] == "IPAMClaim" and change.after is None:
            self._removed.append(change)
        if change.key[0] == "Pod" and change.after is None and change.before is not None:
            self._pod_gone(change.before)
        if change.key[0] == "Pod" and change.after is not None and change.after["status"]["phase"] == "Succeeded":
            self._pod_gone(change.after)

    def ripe(self, thing: Obj) -> bool:
        """Whether a link of the chain has had its time."""
        return self.world.age(thing) > LINK

    def _pod_gone(self, pod: Obj) -> None:
        address = self.held.pop(meta_of(pod)["uid"], None)
        reference = meta_of(pod).get("labels", {}).get("reference")
        claim = self.world.get("IPAMClaim", reference) if reference else None
        if address and (claim is None or not claim["status"].get("ips")) and address not in self.held.values():
            self.pool.discard(address)

    def ovn_kubernetes(self) -> Iterator[None]:
        while True:
            if self._removed:
                change = self._removed.pop(0)
                for ip in (change.before or {}).get("status", {}).get("ips") or ():
                    self.pool.discard(ip)
                    self.released(ip, change)
                yield
                continue
            moment = self.world.version, self.world.now
            for pod in self.world.all("Pod"):
                if self._waits(pod):
                    yield from self._give(pod)
                    break
            else:
                yield
                while moment == (self.world.version, self.world.now):
                    yield

    def _waits(self, pod: Obj) -> bool:
        live = pod["status"]["phase"] in ("Pending", "Running")
        return live and meta_of(pod)["uid"] not in self.held and self.ripe(pod)

    def _give(self, pod: Obj) -> Iterator[None]:
        name, reference = meta_of(pod)["name"], meta_of(pod)["labels"].get("reference")
        claim = self.world.get("IPAMClaim", reference) if reference else None
        yield
        if reference and claim is None:
            return
        ips = list((claim or {}).get("status", {}).get("ips") or ()) or [self._free()]
        if claim is not None and (self.writes_owner or not claim["status"].get("ips")):
            status = {**claim["status"], "ips": ips, "ownerPod": {"name": name}}
            try:
                self.world.change(claim, "ovn-kubernetes", lambda now: now | {"status": status})
            except ApiError:
                return
        self.pool.update(ips)
        yield
        now = self.world.get("Pod", name)
        if now is None or meta_of(now)["uid"] != meta_of(pod)["uid"]:
            return
        notes = attached([(NAD, reference)], {NAD: ips}, "10.244.0.9/24")
        self.held[meta_of(now)["uid"]] = ips[0]
        running = with_meta(now, annotations=meta_of(now)["annotations"] | notes)
        running["status"] = now["status"] | {"phase": "Running"}
        self.world.change(now, "ovn-kubernetes", lambda _: running)

    def _free(self) -> str:
        return next(ip for number in range(5, 250) if (ip := f"10.0.0.{number}/16") not in self.pool)
